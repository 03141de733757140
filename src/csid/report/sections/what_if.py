"""Rows that a reader of the what-if panel can start from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.report.inputs import SEED, ReportInputs
from csid.report.rows import example_rows, typical_row

_EXAMPLES = 12
_FEWEST_ROWS = 30  # that tell the range of the target


def data(inputs: ReportInputs) -> dict[str, Any]:
    """A typical row, some rows of the report, and the scale of the target.

    deviation : the standard deviation of observations of each output, or of latent values; observed : the range of
    nearly all observations in the rows of the report, None if these are few or classes.
    """
    deviation = np.sqrt(inputs.shares.variance + inputs.noise_deviation**2)
    truth = None if inputs.fitted.classes is not None else inputs.truth
    return {
        "typical": typical_row(inputs.fitted.encoding),
        "examples": _examples(inputs),
        "deviation": deviation.tolist(),
        "observed": None if truth is None or len(truth) < _FEWEST_ROWS else _range(truth),
    }


def _range(truth: NDArray[np.float64]) -> list[list[float]]:
    bounds: list[list[float]] = np.quantile(truth, [0.005, 0.995], axis=0).T.tolist()
    return bounds


def _examples(inputs: ReportInputs) -> list[dict[str, Any]]:
    """Some rows, evenly spaced over the predictions: of the first output, or over the likeliest classes."""
    if inputs.predicted is None:
        return []
    predicted, fitted = inputs.predicted[:, 0], inputs.fitted
    if fitted.classes is not None:
        predicted = inputs.predicted.argmax(axis=1) + inputs.predicted.max(axis=1)
    some = np.sort(np.random.default_rng(SEED).permutation(len(predicted))[: 20 * _EXAMPLES])
    places = np.linspace(0, len(some) - 1, min(_EXAMPLES, len(some))).round().astype(int)
    chosen = np.sort(some[np.argsort(predicted[some], kind="stable")[places]])
    rows = example_rows(fitted.encoding, fitted.columns.checked(inputs.X)[0], chosen)
    return [
        {"number": int(m), "row": row, "truth": None if inputs.truth is None else inputs.truth[m].tolist()}
        for m, row in zip(chosen, rows, strict=True)
    ]
