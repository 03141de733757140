"""The cross-validated error of an estimator, stopped early when it is worse than that of earlier trials."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
import optuna
from sklearn.model_selection import GroupKFold, KFold

from csid.cli.labelled_rows import LabelledRows

if TYPE_CHECKING:
    from csid import BayesianCSIDRegressor, CSIDRegressor


def cross_validated(
    model: "CSIDRegressor | BayesianCSIDRegressor", rows: LabelledRows, folds: int, seed: int, trial: optuna.Trial
) -> float:
    """Root of the mean squared error, of each target in units of its standard deviation; groups stay whole."""
    y = rows.y.reshape(len(rows.y), -1)
    scale = np.where(y.std(axis=0) > 0.0, y.std(axis=0), 1.0)
    if rows.groups is None:
        parts = KFold(folds, shuffle=True, random_state=seed).split(y)
    else:
        parts = GroupKFold(folds, shuffle=True, random_state=seed).split(y, groups=rows.groups)
    errors: list[float] = []
    for fold, (train, held_out) in enumerate(parts):
        part = rows.take(train)
        with warnings.catch_warnings(action="ignore"):
            model.fit(part.X, part.y, sample_weight=part.weights)
        predicted = np.reshape(model.predict(rows.X.take(held_out)), (len(held_out), -1))
        errors.append(float(np.mean(((y[held_out] - predicted) / scale) ** 2)))
        trial.report(float(np.sqrt(np.mean(errors))), fold)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.sqrt(np.mean(errors)))
