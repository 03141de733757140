"""csid on grades in other forms than a column for each course: a row for each grade, and both together."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

from csid import BayesianCSIDRegressor
from methods.method import Grid, Method, Settings


class RowForEachGrade(RegressorMixin, BaseEstimator):
    """Two predictors, student and course: a tensor of two modes, which is a matrix factorisation with a posterior.

    As with matrix factorisation, a student to predict is one more level whose other grades are known, so that the model
    is fitted when predictions are asked for.
    """

    def __init__(
        self, prior: str = "auto", rank: int = 32, noise: str = "normal", random_state: int = 0, n_jobs: int = -1
    ) -> None:
        self.prior = prior
        self.rank = rank
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "RowForEachGrade":
        self.grades_ = X.reset_index(drop=True).assign(target=y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        asked = X.reset_index(drop=True).assign(target=np.nan)
        table = pd.concat([self.grades_, asked], ignore_index=True)
        rows = table.rename_axis(index="student", columns="course").stack().dropna().rename("grade").reset_index()
        rows = rows.astype({"student": str, "course": str}).astype({"student": "category", "course": "category"})
        model = BayesianCSIDRegressor(**self.get_params()).fit(rows[["student", "course"]], rows["grade"])
        students = pd.Series(range(len(self.grades_), len(table))).astype(str)
        return model.predict(pd.DataFrame({"student": students, "course": "target"}).astype("category"))


class BothForms(RegressorMixin, BaseEstimator):
    """The mean of two models' predictions: that with a column for each course, by default, and that of rows."""

    def __init__(self, columns: BayesianCSIDRegressor, rows: RowForEachGrade) -> None:
        self.columns = columns
        self.rows = rows

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "BothForms":
        self.columns.fit(X, y)
        self.rows.fit(X, y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return 0.5 * (self.columns.predict(X) + self.rows.predict(X))


def make_rows(settings: Settings, categories: list[str], seed: int, threads: int) -> RowForEachGrade:
    return RowForEachGrade(**settings, random_state=seed, n_jobs=threads)


def make_both(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    columns = BayesianCSIDRegressor(random_state=seed, n_jobs=threads)
    return BothForms(columns, make_rows(settings, categories, seed, threads))


GRID = Grid(
    {
        "prior": ("medium", "rough", "smooth", "near one", "lean", "sparse"),
        "rank": (2, 8),
        "noise": ("normal", "student"),
    }
)
METHODS = {
    "csid rows": Method("csid", make_rows, search=GRID),
    "csid both": Method("csid", make_both, settings_of="csid rows"),
}
