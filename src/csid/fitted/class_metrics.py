"""Metrics of predicted classes and their probabilities, with bootstrap confidence intervals.

All are functions of the classes seen (M,), given by their index, of the probabilities (M, C), and of weights (M,) of
the rows. The predicted class is the likeliest one, and its probability is the confidence of the prediction.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.fitted.metrics import resampled, with_intervals
from csid.likelihoods.class_predictive import LEAST_PROBABILITY

Array = NDArray[np.float64]
Classes = NDArray[np.intp]

BINS = 15
"""Bins of equal width over the confidence, for the expected calibration error."""


class Reliability(NamedTuple):
    """How often predictions of about the same confidence are right, for 15 bins of the confidence from 0 to 1.

    weight : (15,) of the rows of a bin; confidence, accuracy : (15,) their means, NaN for a bin without rows.
    """

    weight: Array
    confidence: Array
    accuracy: Array


def class_metrics_of(classes: Classes, probabilities: Array, weights: Array | None, seed: int) -> dict[str, Any]:
    """Accuracy, balanced accuracy, log loss, Brier score, expected calibration error and ROC AUC.

    Each has a 95 % confidence interval, by the bootstrap with 500 resamples of the rows. A metric that is not defined,
    such as the ROC AUC of rows of a single class, is NaN.
    """
    w, rows = np.ones(len(classes)) if weights is None else weights, _Rows(classes, probabilities)
    return {"rows": len(classes), **with_intervals([rows.metrics(each) for each in resampled(w, seed)])}


def reliability(classes: Classes, probabilities: Array, weights: Array | None = None) -> Reliability:
    """The reliability of the likeliest class, of which the expected calibration error is the mean deviation."""
    rows = _Rows(classes, probabilities)
    w = np.ones(len(classes)) if weights is None else weights
    total, confidence, right = rows.bin_totals(w)
    known = np.where(total > 0.0, total, np.nan)
    return Reliability(total, confidence / known, right / known)


def confusion_matrix(classes: Classes, predicted: Classes, n_classes: int, weights: Array | None = None) -> Array:
    """The weight (C, C) of the rows of each class seen (first axis) with each predicted class (second axis)."""
    cells = np.bincount(classes * n_classes + predicted, weights, n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)


def roc_auc(classes: Classes, probabilities: Array, weights: Array | None = None) -> float:
    """The area under the ROC curve: of two classes, of the second; else the mean over classes, each against the rest.

    Classes without rows, and a class that all rows have, are left out of the mean.
    """
    return _Rows(classes, probabilities).roc_auc(np.ones(len(classes)) if weights is None else weights)


class _Ranks(NamedTuple):
    """The order of the rows by their probability of one class.

    order : (M,) rows, the least probable first; is_other : (M,) whether they are of another class, in this order.
    own : (P,) rows of the class; first, last : (P,) how many rows are less probable, and not more probable.
    """

    order: Classes
    is_other: NDArray[np.bool_]
    own: Classes
    first: Classes
    last: Classes

    @classmethod
    def of(cls, is_own: NDArray[np.bool_], probabilities: Array) -> "_Ranks":
        order = np.argsort(probabilities, kind="stable")
        own, ordered = np.flatnonzero(is_own), probabilities[order]
        first, last = (np.searchsorted(ordered, probabilities[own], side) for side in ("left", "right"))
        return cls(order, ~is_own[order], own, first, last)

    def area(self, w: Array) -> float:
        """The probability that a row of the class ranks above one of another class; ties count half."""
        below = np.concatenate([[0.0], np.cumsum(np.where(self.is_other, w[self.order], 0.0))])
        of_own = w[self.own]
        pairs = of_own.sum() * below[-1]
        return float(of_own @ (below[self.first] + below[self.last]) / (2.0 * pairs)) if pairs > 0.0 else np.nan


class _Rows:
    """What the metrics of some rows need, whatever their weights."""

    def __init__(self, classes: Classes, probabilities: Array) -> None:
        M, self._n_classes = probabilities.shape
        seen = probabilities[np.arange(M), classes]
        self._classes = classes
        self._confidence = probabilities.max(axis=1)
        self._right = (probabilities.argmax(axis=1) == classes).astype(np.float64)
        self._losses = -np.log(np.maximum(seen, LEAST_PROBABILITY))
        self._squares = (probabilities**2).sum(axis=1) - 2.0 * seen + 1.0
        self._bins = np.clip(np.ceil(self._confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)
        scored = [1] if self._n_classes == 2 else np.unique(classes).tolist()
        self._ranks = [_Ranks.of(classes == c, probabilities[:, c]) for c in scored]

    def metrics(self, w: Array) -> dict[str, float]:
        total = max(w.sum(), 1e-300)
        return {
            "accuracy": float(w @ self._right / total),
            "balanced_accuracy": self._balanced_accuracy(w),
            "log_loss": float(w @ self._losses / total),
            "brier": float(w @ self._squares / total),
            "calibration_error": self._calibration_error(w),
            "roc_auc": self.roc_auc(w),
        }

    def bin_totals(self, w: Array) -> tuple[Array, Array, Array]:
        """(15,) each: the weight of the rows of a bin, and the weighted sums of their confidence and of those right."""
        each = [np.bincount(self._bins, values, BINS) for values in (w, w * self._confidence, w * self._right)]
        total, confidence, right = np.array(each, np.float64)
        return total, confidence, right

    def roc_auc(self, w: Array) -> float:
        areas = np.array([ranks.area(w) for ranks in self._ranks])
        areas = areas[~np.isnan(areas)]
        return float(areas.mean()) if len(areas) else np.nan

    def _balanced_accuracy(self, w: Array) -> float:
        """The mean over classes with rows of the fraction of their rows that are right."""
        of_class = np.bincount(self._classes, w, self._n_classes)
        right = np.bincount(self._classes, w * self._right, self._n_classes)
        some = of_class > 0.0
        return float((right[some] / of_class[some]).mean()) if some.any() else np.nan

    def _calibration_error(self, w: Array) -> float:
        """The mean over rows of |accuracy - confidence| of their bin."""
        total, confidence, right = self.bin_totals(w)
        return float(np.abs(right - confidence).sum() / max(total.sum(), 1e-300))
