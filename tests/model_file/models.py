"""Small fitted models of every kind that a file can hold."""

from typing import Any

import numpy as np
import pandas as pd

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.likelihoods.student_t import StudentT


def frame(rows: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, words, numbers that are categories, truth values, and gaps in all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "length": rng.uniform(0.0, 2.0, rows).round(2),
            "col,our\n": rng.choice(["red", "green", "bl\u00fce", "\x00 \u2028"], rows),
            "grade": rng.integers(1, 5, rows).astype(float),
            "half": rng.choice([0.5, 1.5], rows),
            "open": rng.choice([True, False], rows).astype(object),
        }
    )
    y = X["length"] * X["grade"] + (X["col,our\n"] == "red") + 0.1 * rng.standard_normal(rows)
    return X.mask(rng.random(X.shape) < 0.1), y.to_numpy(float)


def als(**settings: Any) -> CSIDRegressor:
    few = {"rank": 3, "max_iter": 4, "random_state": 0, "categorical_features": ["grade", "half"], "n_jobs": 1}
    settings = {**few, **settings}
    return CSIDRegressor(**settings)


def bayesian(**settings: Any) -> BayesianCSIDRegressor:
    few = {"rank": 3, "n_chains": 2, "n_burn": 30, "n_draws": 6, "random_state": 0}
    return BayesianCSIDRegressor(**{**few, "categorical_features": ["grade", "half"], **settings})


def fitted(name: str) -> tuple[Any, Any]:
    """A model by name, and rows to predict."""
    X, y = frame()
    if name == "als":
        return als().fit(X, y), X
    if name == "als, one level each for missing, nearest level":
        return als(missing="level", interpolation="constant", smoothness=np.full(5, 0.1)).fit(X, y), X
    if name == "als, ensemble of two outputs":
        return als(n_estimators=3, smoothness=dict.fromkeys(X, 0.1)).fit(X, np.stack([y, -y], axis=1)), X
    if name == "blocks of rows, two outputs":
        return als(solver="stochastic").fit(X, np.stack([y, -y], axis=1)), X
    if name == "als, array of numbers and bytes":
        rows = np.array(
            [[a, b] for a, b in zip(X["length"].fillna(0.0), np.resize([b"x", b"\xff"], 120), strict=True)], object
        )
        return als(categorical_features=[1], random_state=np.random.RandomState(0)).fit(rows, y), rows
    if name == "als, heavy tails":
        return als(likelihood="student_t").fit(X, y), X
    if name == "als, joint PMF":
        return als(pmf_rank=2).fit(X, y), X
    if name == "bayesian, joint PMF":
        return bayesian(prior=["medium", "smooth"], missing="marginalize", pmf_rank=2).fit(X, y), X
    if name == "bayesian, other degrees of freedom":
        return bayesian(prior="medium", likelihood=StudentT(degrees_of_freedom=7.5)).fit(X, y), X
    if name == "bayesian":
        return bayesian(prior=["medium", "fine_grid"], levels="auto").fit(X, y), X
    if name == "bayesian, two outputs, heavy tails":
        return bayesian(likelihood="student_t", missing="level", prior="low_curvature").fit(
            X, np.stack([y, y**2], axis=1)
        ), X
    if name == "bayesian, every prior":
        return bayesian(n_chains=9).fit(X, y), X
    raise KeyError(name)


NAMES = (
    "als",
    "als, one level each for missing, nearest level",
    "als, ensemble of two outputs",
    "blocks of rows, two outputs",
    "als, array of numbers and bytes",
    "als, heavy tails",
    "als, joint PMF",
    "bayesian",
    "bayesian, two outputs, heavy tails",
    "bayesian, every prior",
    "bayesian, joint PMF",
    "bayesian, other degrees of freedom",
)
