"""Biased matrix factorisation of the students x courses matrix, from cornac."""

import contextlib
import io
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

from methods.method import Grid, Method, Settings

with contextlib.redirect_stdout(io.StringIO()):
    from cornac.data import Dataset
    from cornac.models import MF


class BiasedMatrixFactorisation(RegressorMixin, BaseEstimator):
    """Matrix factorisation of grades: mean + student bias + course bias + inner product of factors.

    The target is one more column. A student to predict is a row of the same matrix, with known other grades; therefore
    `predict` does the factorisation. One mean and one scale standardise all grades.
    """

    def __init__(self, k: int = 5, lambda_reg: float = 0.02, max_iter: int = 100, random_state: int = 0) -> None:
        self.k = k
        self.lambda_reg = lambda_reg
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "BiasedMatrixFactorisation":
        self.grades_ = np.column_stack([X.to_numpy(np.float64), y])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        matrix = np.vstack([self.grades_, np.column_stack([X.to_numpy(np.float64), np.full(len(X), np.nan)])])
        centre, scale = np.nanmean(matrix), np.nanstd(matrix)
        students, courses = np.nonzero(~np.isnan(matrix))
        values = (matrix[students, courses] - centre) / scale
        ratings = Dataset.from_uir(zip(students, courses, values, strict=True), seed=self.random_state)
        model = MF(
            k=self.k, lambda_reg=self.lambda_reg, max_iter=self.max_iter, num_threads=1, seed=self.random_state
        ).fit(ratings)
        target = ratings.iid_map[matrix.shape[1] - 1]
        new_students = range(len(self.grades_), len(matrix))
        # an index beyond the users is an unknown user: mean + course bias, here for students without any grade
        rows = [ratings.uid_map.get(student, ratings.num_users) for student in new_students]
        return centre + scale * np.array([model.score(row, target) for row in rows])


def make(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return BiasedMatrixFactorisation(**settings, random_state=seed)


GRID = Grid({"k": (1, 2, 5, 10, 20, 40), "lambda_reg": (0.003, 0.01, 0.03, 0.1, 0.3), "max_iter": (30, 100, 300, 1000)})
UNTUNED = {"k": 2, "lambda_reg": 0.1, "max_iter": 100}
METHODS = {
    "matrix factorisation": Method("cornac", make, search=GRID),
    "matrix factorisation untuned": Method("cornac", make, settings=UNTUNED),
}
