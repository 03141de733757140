"""Predictions against observations, and the calibration of predictive distributions."""

from typing import Any

import numpy as np

from csid.fitted.metrics import QUANTILES
from csid.report.inputs import SEED, ReportInputs

_POINTS = 400


def data(inputs: ReportInputs) -> dict[str, Any] | None:
    """For each output, some points, and of a Bayesian model the fraction of rows below each predicted quantile.

    Not of a classifier, which has a section of its own.
    """
    if inputs.predicted is None or inputs.truth is None or inputs.fitted.classes is not None:
        return None
    some = np.sort(np.random.default_rng(SEED).permutation(len(inputs.truth))[:_POINTS])
    points = np.round(np.stack([inputs.predicted[some], inputs.truth[some]], axis=2), 12)
    below = inputs.probabilities_below
    outputs = range(inputs.truth.shape[1])
    return {
        "rows": len(inputs.truth),
        "points": [points[:, k].tolist() for k in outputs],
        "below": None if below is None else [[float(np.mean(below[:, k] <= q)) for q in QUANTILES] for k in outputs],
    }
