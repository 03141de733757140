"""Writes the model files of this protocol that later versions must read: run it once, at a release.

    python tests/model_file/write_released.py

`released/protocol-N-*.csid` are of protocol N, and the JSON beside each says what the version that wrote it said of
some rows. `released/0.1.0-*.csid` are older than that: the first files of protocol 1. Those of protocol 1 were written
by the last version with its names (commit 666a1ae).
"""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.fitted.schema import ColumnSchema, Schema
from csid.likelihoods.student_t import StudentT
from csid.model_file import PROTOCOL
from csid.priors.catalogue import CATALOGUE

FOLDER = Path(__file__).parent / "released"


def main() -> None:
    warnings.simplefilter("ignore")  # chains are as short as can be
    FOLDER.mkdir(exist_ok=True)
    for name, (model, table) in models().items():
        path = FOLDER / f"protocol-{PROTOCOL}-{name}.csid"
        model.save(path)
        path.with_suffix(".json").write_text(json.dumps(said_by(model, table[:12]), allow_nan=False))


def rows(n: int, seed: int = 0, missing: float = 0.1) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Numbers, numbers that are categories, words and truth values, with gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n).round(2),
            "grade": rng.integers(1, 4, n).astype(float),
            "word": rng.choice(["low", "high"], n),
            "flag": rng.choice([True, False], n),
        }
    ).astype(object)
    y = np.array(X["x"] * X["grade"] + (X["word"] == "high"), float) + 0.1 * rng.standard_normal(n)
    return X.mask(rng.random(X.shape) < missing, None), y.round(3)


def few(X: pd.DataFrame) -> pd.DataFrame:
    return X[["x", "word"]]


def als(**options: Any) -> CSIDRegressor:
    return CSIDRegressor(rank=2, max_iter=5, random_state=0, levels=6, n_jobs=1, **options)


def bayesian(**options: Any) -> BayesianCSIDRegressor:
    short = {"rank": 2, "n_chains": 2, "n_burn": 8, "n_draws": 3, "random_state": 0, "effort": "fast", "n_jobs": 1}
    return BayesianCSIDRegressor(**{**short, **options})


def models() -> dict[str, tuple[Any, Any]]:
    """One of every kind, and the table that it was fitted to."""
    X, y = rows(60)
    Y, some, array = np.stack([y, y**2], axis=1).round(3), few(X), few(X).to_numpy()
    long, y_long = rows(600, 1, missing=0.0)
    grades: dict[str, Any] = {"categorical_features": ["grade"], "missing": "level"}
    smoothness = {"x": 0.1, "grade": 0.0, "word": 0.0, "flag": 0.0}
    t6 = StudentT(degrees_of_freedom=6.0)
    columns = (ColumnSchema("x", "number", "number"), ColumnSchema("word", "text", "category", ("low", "high")))
    schema = Schema(columns, ("y",), ("", "NA"), weight="w", ignored=("id",))
    in_order = some.assign(word=pd.Categorical(some["word"], ["low", "high"], ordered=True))
    of_file = bayesian(prior="medium", warm_start=True).fit(some, y)
    of_file.__dict__.update(fitted_=replace(of_file.fitted_, schema=schema))
    every_prior = bayesian(n_chains=len(CATALOGUE), n_draws=1, prior=list(CATALOGUE), pmf_rank=1)
    return {
        "als": (als(interpolation="constant", smoothness=smoothness, **grades).fit(X, y), X),
        "als-joint-pmf": (als(pmf_rank=2).fit(some, y), some),
        "als-ensemble": (als(n_estimators=2).fit(array, Y), array),
        "als-words": (als().fit(in_order, pd.Series(y, name="rent")), some),
        "als-student": (als(likelihood="student_t").fit(some, y), some),
        "als-stream": (als(solver="stochastic").fit(some, y), some),
        "als-stream-joint-pmf": (als(solver="stochastic", pmf_rank=2, interpolation="constant").fit(some, Y), some),
        "bayesian": (of_file, some),
        "bayesian-student": (bayesian(likelihood="student_t", prior="strong_shrinkage", **grades).fit(X, y), X),
        "bayesian-student-outputs": (bayesian(likelihood=t6, prior=["informed_noise", "rough"]).fit(some, Y), some),
        "bayesian-outputs-constant": (
            bayesian(interpolation="constant", levels=6, prior="fine_grid", missing="marginalize").fit(some, Y),
            some,
        ),
        "bayesian-joint-pmf": (
            bayesian(prior=["medium", "low_curvature"], missing="marginalize", pmf_rank=2).fit(some, y),
            some,
        ),
        "bayesian-levels": (bayesian(n_chains=6, prior=["smooth", "second_order"]).fit(few(long), y_long), few(long)),
        "bayesian-priors": (every_prior.fit(some[:36], y[:36]), some),
        "bayesian-blocks": (bayesian(solver="stochastic", prior="finest_grid").fit(some, y), some),
    }


def said_by(model: Any, table: Any) -> dict[str, Any]:
    """What a model says of some rows, and of itself; of a stream, what it says after more of them."""
    named = isinstance(table, pd.DataFrame)
    said = {
        "names": list(table.columns) if named else None,
        "rows": (table.to_numpy() if named else table).tolist(),
        "predictions": model.predict(table).tolist(),
        "targets": list(model.fitted_.target_names),
        "levels": model.levels_,
        "importances": model.feature_importances_.tolist(),
        "n_samples": model.n_samples_,
        "n_iter": model.n_iter_,
        "likelihood": model.likelihood if isinstance(model.likelihood, str) else model.likelihood.as_json(),
    }
    if isinstance(model, BayesianCSIDRegressor):
        lower, upper = model.predict_interval(table)
        return said | {
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "uncertainty": [part.tolist() for part in model.predict_uncertainty(table)],
            "noise": model.noise_.tolist(),
            "missing": model.missing_,
            "prior": model.prior,
            "stacking_weights": model.stacking_weights_,
            "convergence": {name: None if np.isnan(value) else value for name, value in model.convergence_.items()},
            "trace": [trace[-1].tolist() for trace in model.trace_],
        }
    if model.solver == "stochastic":
        more, y = rows(20, 5)
        targets = y if model.fitted_.one_output else np.stack([y, y**2], axis=1)
        model.partial_fit(few(more), targets)
        after = {"rows": few(more).to_numpy().tolist(), "targets": targets.tolist()}
        said["after"] = after | {"predictions": model.predict(table).tolist()}
    return said


if __name__ == "__main__":
    main()
