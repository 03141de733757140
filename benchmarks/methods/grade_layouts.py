"""csid on grades in wide format (one column per course), in long format (one row per grade), and the mean of both."""

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
from sklearn.base import BaseEstimator, RegressorMixin

from csid import BayesianCSIDRegressor
from methods.method import Grid, Method, Settings


class LongFormatCSID(RegressorMixin, BaseEstimator):
    """Two predictors, student and course: the tensor has two modes, so this is Bayesian matrix factorisation.

    As with matrix factorisation, a student to predict is one more level, with known other grades; therefore `predict`
    fits the model.
    """

    def __init__(
        self,
        prior: str = "auto",
        rank: int = 32,
        likelihood: str = "gaussian",
        random_state: int = 0,
        n_jobs: int = -1,
    ) -> None:
        self.prior = prior
        self.rank = rank
        self.likelihood = likelihood
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "LongFormatCSID":
        self.grades_ = X.reset_index(drop=True).assign(target=y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        new_students = X.reset_index(drop=True).assign(target=np.nan)
        table = pd.concat([self.grades_, new_students], ignore_index=True)
        rows = table.rename_axis(index="student", columns="course").stack().dropna().rename("grade").reset_index()
        rows = rows.astype({"student": str, "course": str}).astype({"student": "category", "course": "category"})
        model = BayesianCSIDRegressor(**self.get_params()).fit(rows[["student", "course"]], rows["grade"])
        students = pd.Series(range(len(self.grades_), len(table))).astype(str)
        return model.predict(pd.DataFrame({"student": students, "course": "target"}).astype("category"))


CACHE_FOLDER = TemporaryDirectory(prefix="csid-grades-")


@Memory(CACHE_FOLDER.name, verbose=0).cache(ignore=["threads"])
def fit_wide(X: pd.DataFrame, y: np.ndarray, seed: int, threads: int) -> BayesianCSIDRegressor:
    """csid with defaults on the wide format; cached, because a search asks for the same fit twice."""
    return BayesianCSIDRegressor(random_state=seed, n_jobs=threads).fit(X, y)


class WideFormatCSID(RegressorMixin, BaseEstimator):
    """One predictor per course, with csid's defaults."""

    def __init__(self, random_state: int, n_jobs: int) -> None:
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "WideFormatCSID":
        self.model_ = fit_wide(X, y, self.random_state, self.n_jobs)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.model_.predict(X))


class MeanOfLayouts(RegressorMixin, BaseEstimator):
    """The mean of the predictions in wide format (csid's defaults) and in long format."""

    def __init__(self, long_format: LongFormatCSID) -> None:
        self.long_format = long_format

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "MeanOfLayouts":
        self.wide_ = fit_wide(X, y, self.long_format.random_state, self.long_format.n_jobs)
        self.long_format.fit(X, y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return 0.5 * (self.wide_.predict(X) + self.long_format.predict(X))


def make_long(settings: Settings, categories: list[str], seed: int, threads: int) -> LongFormatCSID:
    return LongFormatCSID(**settings, random_state=seed, n_jobs=threads)


def make_tuned_layout(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    """The layout that the settings name; the other settings are those of the long format."""
    long_format = make_long({name: settings[name] for name in GRID.values}, categories, seed, threads)
    layouts = {"wide": WideFormatCSID(seed, threads), "long": long_format, "mean": MeanOfLayouts(long_format)}
    return layouts[settings["layout"]]


GRID = Grid(
    {
        "prior": ("medium", "rough", "smooth", "strong_shrinkage", "mildly_sparse", "sparse"),
        "rank": (2, 8),
        "likelihood": ("gaussian", "student_t"),
    }
)
LAYOUTS = Grid({"layout": ("wide", "mean", "long")})
METHODS = {
    "csid rows": Method("csid", make_long, search=GRID),
    "csid tuned": Method("csid", make_tuned_layout, search=LAYOUTS, settings_of="csid rows"),
}
