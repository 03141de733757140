"""csid on grades in two forms, a column for each course and a row for each grade, and the mean of both."""

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
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


FOLDER = TemporaryDirectory(prefix="csid-grades-")


@Memory(FOLDER.name, verbose=0).cache(ignore=["threads"])
def fitted_to_columns(X: pd.DataFrame, y: np.ndarray, seed: int, threads: int) -> BayesianCSIDRegressor:
    """csid's defaults with a column for each course; kept, since a search asks for the same fit twice."""
    return BayesianCSIDRegressor(random_state=seed, n_jobs=threads).fit(X, y)


class MeanOfForms(RegressorMixin, BaseEstimator):
    """Half of the prediction of a model with a column for each course, and half of that of one with a row for each."""

    def __init__(self, rows: RowForEachGrade) -> None:
        self.rows = rows

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "MeanOfForms":
        self.columns_ = fitted_to_columns(X, y, self.rows.random_state, self.rows.n_jobs)
        self.rows.fit(X, y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return 0.5 * (self.columns_.predict(X) + self.rows.predict(X))


class Columns(RegressorMixin, BaseEstimator):
    """The model with a column for each course alone."""

    def __init__(self, random_state: int, n_jobs: int) -> None:
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Columns":
        self.model_ = fitted_to_columns(X, y, self.random_state, self.n_jobs)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.model_.predict(X))


def make_rows(settings: Settings, categories: list[str], seed: int, threads: int) -> RowForEachGrade:
    return RowForEachGrade(**settings, random_state=seed, n_jobs=threads)


def make_form(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    """The form among the settings, the others being those of rows."""
    rows = make_rows({name: settings[name] for name in GRID.values}, categories, seed, threads)
    return {"columns": Columns(seed, threads), "rows": rows, "mean": MeanOfForms(rows)}[settings["form"]]


GRID = Grid(
    {
        "prior": ("medium", "rough", "smooth", "near one", "lean", "sparse"),
        "rank": (2, 8),
        "noise": ("normal", "student"),
    }
)
FORMS = Grid({"form": ("columns", "mean", "rows")})
METHODS = {
    "csid rows": Method("csid", make_rows, search=GRID),
    "csid tuned": Method("csid", make_form, search=FORMS, settings_of="csid rows"),
}
