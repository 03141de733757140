"""How good predicted classes are: reliability, confusions, ROC and precision-recall curves."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.fitted.class_curves import Curve, ReliabilityCurve, precision_recall_curve, reliability_curve, roc_curve
from csid.fitted.class_metrics import confusion_matrix
from csid.report.inputs import ReportInputs

_MOST_POINTS, _FEWEST_POINTS, _POINTS_OF_ALL = 120, 12, 6000
_MOST_IN_CONFUSIONS = 30
_OTHERS = "other classes"


def data(inputs: ReportInputs) -> dict[str, Any] | None:
    """For each class its reliability and curves, and for all the confusions and the reliability of the likeliest.

    Of a classifier with labelled rows only.
    """
    if inputs.fitted.classes is None or inputs.predicted is None or inputs.truth is None:
        return None
    predicted, seen = inputs.predicted, inputs.truth > 0.5
    likeliest = predicted.argmax(axis=1)
    classes = range(predicted.shape[1])
    most = int(np.clip(_POINTS_OF_ALL // len(classes), _FEWEST_POINTS, _MOST_POINTS))
    right = seen[np.arange(len(seen)), likeliest]
    return {
        "rows": len(seen),
        "rows_of_class": seen.sum(axis=0).tolist(),
        "reliability": [_bins(reliability_curve(seen[:, k], predicted[:, k])) for k in classes],
        "confidence": _bins(reliability_curve(right, predicted.max(axis=1))) if len(classes) > 2 else None,
        "roc": [_points(roc_curve(seen[:, k], predicted[:, k]), most) for k in classes],
        "precision_recall": [_points(precision_recall_curve(seen[:, k], predicted[:, k]), most) for k in classes],
        "confusions": merged_confusions(seen.argmax(axis=1), likeliest, inputs.targets),
    }


def _bins(found: ReliabilityCurve) -> dict[str, list[float]]:
    return {name: [float(f"{value:.5g}") for value in values] for name, values in found._asdict().items()}


def _points(curve: Curve | None, most: int) -> dict[str, Any] | None:
    """A curve at no more than so many points, evenly spaced along it."""
    if curve is None:
        return None
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(curve.x)) + np.abs(np.diff(curve.y)))])
    at = np.arange(len(along))
    if len(at) > most:
        at = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], most)).clip(0, len(along) - 1))
    points = np.round(np.column_stack([curve.x[at], curve.y[at]]), 5)
    return {"points": points.tolist(), "area": curve.area}


def merged_confusions(seen: NDArray[np.intp], likeliest: NDArray[np.intp], labels: tuple[str, ...]) -> dict[str, Any]:
    """Counts by class seen and class predicted; of many classes the most frequent ones, and all others together."""
    counts = confusion_matrix(seen, likeliest, len(labels))
    if len(labels) <= _MOST_IN_CONFUSIONS:
        return {"labels": list(labels), "counts": counts.astype(int).tolist()}
    most = np.argsort(-(counts.sum(axis=0) + counts.sum(axis=1)), kind="stable")[: _MOST_IN_CONFUSIONS - 1]
    kept = np.sort(most)
    place = np.full(len(labels), len(kept))
    place[kept] = np.arange(len(kept))
    merged = confusion_matrix(place[seen], place[likeliest], len(kept) + 1)
    return {"labels": [*(labels[k] for k in kept), _OTHERS], "counts": merged.astype(int).tolist()}
