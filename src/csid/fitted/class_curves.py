"""Curves of predicted class probabilities on given rows: reliability, ROC, and precision against recall.

seen : (M,) whether a row is of the class; p : (M,) its predicted probability.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn import metrics

Array = NDArray[np.float64]

_BINS = 10
_COVERAGE = 0.95


class ReliabilityCurve(NamedTuple):
    """Bins of rows with similar predicted probability, B of them with rows.

    rows, predicted, observed : (B,) number of rows, mean predicted probability, and fraction of rows of the class.
    low, high : (B,) bounds that hold 95 % of the fractions that a calibrated model would have.
    """

    rows: NDArray[np.intp]
    predicted: Array
    observed: Array
    low: Array
    high: Array


class Curve(NamedTuple):
    """A curve (P,) and its area."""

    x: Array
    y: Array
    area: float


def reliability_curve(seen: NDArray[np.bool_], p: Array) -> ReliabilityCurve:
    """Observed frequencies against predicted probabilities, in ten bins of equal width."""
    bins = np.minimum((p * _BINS).astype(np.intp), _BINS - 1)
    rows = np.bincount(bins, minlength=_BINS)
    some = rows > 0
    n = rows[some]
    predicted, observed = (np.bincount(bins, each, _BINS)[some] / n for each in (p, seen.astype(np.float64)))
    low, high = (binom.ppf(0.5 + side * _COVERAGE, n, np.clip(predicted, 0.0, 1.0)) / n for side in (-0.5, 0.5))
    return ReliabilityCurve(n, predicted, observed, np.maximum(low, 0.0), np.maximum(high, 0.0))


def roc_curve(seen: NDArray[np.bool_], p: Array) -> Curve | None:
    """True positive rate against false positive rate; None if all rows are of the class, or none is."""
    if seen.all() or not seen.any():
        return None
    x, y, _ = metrics.roc_curve(seen, p)
    return Curve(x, y, float(metrics.roc_auc_score(seen, p)))


def precision_recall_curve(seen: NDArray[np.bool_], p: Array) -> Curve | None:
    """Precision against recall, whose area is the average precision; None if no row is of the class."""
    if not seen.any():
        return None
    precision, recall, _ = metrics.precision_recall_curve(seen, p)
    return Curve(recall[::-1], precision[::-1], float(metrics.average_precision_score(seen, p)))
