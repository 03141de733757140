"""A battery of small fits whose results are stored: a change that means to keep them must keep every bit.

    python tests/golden/fits.py write FILE      store the results of this source tree
    python tests/golden/fits.py compare FILE    say which results differ, and by how much

Run the first on one source tree and the second on another (PYTHONPATH=src). The test beside this file compares with
`stored.npz` up to rounding, since compiled code rounds differently from one processor to the next.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from csid import Batches, BayesianCSIDRegressor, CSIDRegressor

Array = NDArray[Any]
Results = dict[str, Array]

FAST = {"rank": 4, "effort": "fast", "n_burn": 6, "n_draws": 5, "random_state": 0, "n_jobs": 1}
"""Short chains: rounding that differs has little time to grow."""


def table(rows: int, gaps: float = 0.0, seed: int = 0) -> tuple[pd.DataFrame, Array]:
    """Numbers, whole numbers and words; a product, a curve and a step; some cells missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.uniform(-1, 1, rows),
            "b": rng.normal(size=rows),
            "c": rng.integers(0, 6, rows).astype(float),
            "d": rng.choice(["x", "y", "z"], rows),
        }
    )
    y = np.sin(3 * X.a) * X.b + 0.3 * X.c + (X.d == "y") + 0.2 * rng.standard_normal(rows)
    for name in X.columns if gaps else ():
        X.loc[rng.random(rows) < gaps, name] = None
    return X, y.to_numpy()


def several(X: pd.DataFrame, y: Array) -> Array:
    """A second output that shares much with the first."""
    return np.column_stack([y, 2.0 * y + np.asarray(X.a, dtype=float) ** 2])


def least_squares(X: pd.DataFrame, y: Array, new: pd.DataFrame, **parameters: Any) -> Results:
    model = CSIDRegressor(**{"rank": 4, "max_iter": 12, "random_state": 0, "n_jobs": 1} | parameters).fit(X, y)
    return {"predict": model.predict(new), "objective": np.concatenate(model.objective_history_)}


def of_posterior(model: Any, new: pd.DataFrame) -> Results:
    """What is read off the draws."""
    mean, std = model.predict(new, return_std=True)
    lower, upper = model.predict_interval(new, 0.8)
    return {
        "predict": model.predict(new),
        "mean": mean,
        "std": std,
        "lower": lower,
        "upper": upper,
        "quantiles": model.predict_quantiles(new, (0.1, 0.6)),
        "sample": model.sample_y(new, 3, random_state=1),
        "noise": model.noise_,
    }


def bayesian(X: pd.DataFrame, y: Array, new: pd.DataFrame, **parameters: Any) -> Results:
    return of_posterior(_quiet(lambda: BayesianCSIDRegressor(**{**FAST, **parameters}).fit(X, y)), new)


def _quiet(fit: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return fit()


def in_batches(X: pd.DataFrame, y: Array, parts: int = 3) -> Callable[[], Iterator[tuple[pd.DataFrame, Array]]]:
    def read() -> Iterator[tuple[pd.DataFrame, Array]]:
        for rows in np.array_split(np.arange(len(y)), parts):
            yield X.iloc[rows], y[rows]

    return read


def batteries() -> Iterator[tuple[str, Callable[[], Results]]]:
    """Names, and functions that fit."""
    X, y = table(400)
    new = table(30, 0.1, seed=1)[0]
    holed, target = table(400, 0.15)
    few, of_few = table(30)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    yield "als", lambda: least_squares(X, y, new)
    yield "als weights", lambda: _weighted(X, y, new, weights)
    yield "als gaps", lambda: least_squares(holed, target, new)
    yield "als level", lambda: least_squares(holed, target, new, missing="level")
    yield "als classes", lambda: least_squares(holed, target, new, pmf_rank=2)
    yield "als outputs", lambda: least_squares(X, several(X, y), new)
    yield "als row", lambda: least_squares(X, y, new, update="row", interpolation="constant", smoothness_order=2)
    yield "als cg", lambda: least_squares(X, y, new, update="cg")
    yield "als ensemble", lambda: least_squares(X, y, new, n_estimators=3)
    yield "als starts", lambda: least_squares(X, y, new, n_init=2, n_jobs=2)
    yield "als stream", lambda: _stream(new)
    yield "als warm", lambda: _warm(CSIDRegressor(rank=4, max_iter=5, random_state=0, warm_start=True), X, y, new)
    yield "als files", lambda: least_squares(Batches(in_batches(X, y)), None, new)
    yield "bayes", lambda: bayesian(X, y, new)
    yield "bayes threads", lambda: bayesian(X, y, new, n_jobs=2)
    yield (
        "bayes folds",
        lambda: bayesian(X, y, new, effort="default", n_chains=5, prior=["medium", "low_curvature", "informed_noise"]),
    )
    yield "bayes student", lambda: bayesian(X, y, new, likelihood="student_t")
    yield "bayes gaps", lambda: bayesian(holed, target, new)
    yield "bayes level", lambda: bayesian(holed, target, new, missing="level")
    yield "bayes classes", lambda: bayesian(holed, target, new, pmf_rank=3, prior="medium")
    yield "bayes outputs", lambda: bayesian(X, several(X, y), new)
    yield "bayes constant", lambda: bayesian(X, y, new, interpolation="constant", prior="medium")
    yield "bayes few", lambda: bayesian(few, of_few, new, prior=["medium", "shared_slope"])
    yield "bayes als start", lambda: bayesian(X, y, new, start="als", prior="medium")
    yield "bayes groups", lambda: bayesian(X, y, new, rank=40, prior="medium")
    yield "bayes warm", lambda: _warm_draws(X, y, new)
    yield "bayes files", lambda: bayesian(Batches(in_batches(X, y)), None, new)
    yield (
        "bayes files student",
        lambda: bayesian(Batches(in_batches(X, y)), None, new, likelihood="student_t", prior="medium"),
    )
    yield "bayes blocks", lambda: bayesian(*table(4000), new, solver="stochastic", prior="medium")
    yield "bayes many rows", lambda: bayesian(*table(70_000), new, prior=["medium", "fine_grid"], n_chains=2)
    yield "dask als", lambda: _on_dask("DaskCSIDRegressor", X, y, new, rank=4, max_iter=12)
    yield "dask bayes", lambda: _on_dask("DaskBayesianCSIDRegressor", X, y, new, **FAST)


def _weighted(X: pd.DataFrame, y: Array, new: pd.DataFrame, weights: Array) -> Results:
    model = CSIDRegressor(rank=4, max_iter=12, random_state=0).fit(X, y, weights)
    sampled = _quiet(lambda: BayesianCSIDRegressor(**FAST, prior="medium").fit(X, y, weights))
    return {"predict": model.predict(new), "sampled": sampled.predict(new)}


def _stream(new: pd.DataFrame) -> Results:
    model = CSIDRegressor(rank=4, max_iter=4, solver="stochastic", random_state=0).fit(*table(6000))
    first = model.predict(new)
    model.partial_fit(*table(500, seed=3))
    return {"first": first, "predict": model.predict(new)}


def _warm(model: CSIDRegressor, X: pd.DataFrame, y: Array, new: pd.DataFrame) -> Results:
    first = model.fit(X, y).predict(new)
    return {"first": first, "predict": model.fit(X, y).predict(new)}


def _warm_draws(X: pd.DataFrame, y: Array, new: pd.DataFrame) -> Results:
    model = BayesianCSIDRegressor(**FAST, warm_start=True, prior=["medium", "rough"])
    _quiet(lambda: model.fit(X, y))
    first = model.predict(new)
    _quiet(lambda: model.fit(X, y))
    return {"first": first, **of_posterior(model, new)}


def _on_dask(name: str, X: pd.DataFrame, y: Array, new: pd.DataFrame, **parameters: Any) -> Results:
    import dask
    import dask.dataframe as dd

    import csid.dask

    frame = dd.from_pandas(X.assign(target=y), npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        estimator = getattr(csid.dask, name)(**{**parameters, "random_state": 0, "n_jobs": 1})
        model = _quiet(lambda: estimator.fit(frame[list(X.columns)], frame["target"]))
        found = model.to_local()
    return {"predict": found.predict(new)} | (of_posterior(found, new) if "Bayesian" in name else {})


def results() -> dict[str, Array]:
    """All of them, flat."""
    found = {}
    for name, fit in batteries():
        found |= {f"{name}: {key}": np.asarray(value) for key, value in fit().items()}
    return found


if __name__ == "__main__":
    what, path = sys.argv[1], Path(sys.argv[2])
    if what == "write":
        np.savez_compressed(path, **results())
        sys.exit()
    stored, here = np.load(path), results()
    differing = [name for name in here if name not in stored or not np.array_equal(stored[name], here[name])]
    for name in differing:
        same_shape = name in stored and stored[name].shape == here[name].shape
        gap = np.abs(stored[name] - here[name]).max() if same_shape else np.nan
        sys.stdout.write(f"{name}: differs by {gap:.3g}\n")
    sys.stdout.write(f"{len(differing)} of {len(here)} results differ\n")
    sys.exit(bool(differing))
