"""Kinds of targets: what a method predicts for them, and how predictions are scored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

import metrics

Metric = Callable[[np.ndarray, np.ndarray], float]
"""(targets, predictions) -> a number."""


@dataclass(frozen=True)
class TargetKind:
    """A kind of target.

    predict : (model, table) -> predictions, as the metrics need them.
    loss : the metric that a search of settings minimises.
    folds : how rows are split for cross-validation.
    metrics : what is measured on test rows, by the name of its column.
    """

    predict: Callable[[Any, pd.DataFrame], np.ndarray]
    loss: Metric
    folds: type[KFold] | type[StratifiedKFold]
    metrics: Mapping[str, Metric] = field(default_factory=dict)


def numbers(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.predict(X))


def class_probabilities(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Probabilities (M, C) that sum to one in double precision, a column for each class from 0."""
    if not np.array_equal(model.classes_, np.arange(len(model.classes_))):
        raise ValueError(f"the training rows have the classes {list(model.classes_)}: one is missing.")
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    return probabilities / probabilities.sum(axis=1, keepdims=True)


NUMBERS = TargetKind(numbers, metrics.rmse, KFold, {"rmse": metrics.rmse, "mae": metrics.mae})
CLASSES = TargetKind(
    class_probabilities,
    metrics.log_loss,
    StratifiedKFold,
    {
        "log_loss": metrics.log_loss,
        "accuracy": metrics.accuracy,
        "brier_score": metrics.brier_score,
        "calibration_error": metrics.calibration_error,
        "roc_auc": metrics.roc_auc,
    },
)
