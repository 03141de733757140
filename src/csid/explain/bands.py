"""Intervals over posterior draws."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.encoding import EncodedRows
from csid.explain.batches import batches

Array = NDArray[np.float64]


class Band(NamedTuple):
    """A posterior mean and an interval that contains a central fraction of the draws; all of one shape."""

    mean: Array
    lower: Array
    upper: Array


def band(values: Array, weights: Array, coverage: float) -> Band:
    """The band of D draws (D, ...) with weights (D,) that sum to one.

    A draw stands at the middle of its own weight, and quantiles between two draws are interpolated.

    >>> found = band(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), np.full(5, 0.2), 0.8)
    >>> found.lower.tolist(), found.mean.tolist(), found.upper.tolist()
    ([0.0], [2.0], [4.0])
    """
    order = np.argsort(values, axis=0, kind="stable")
    rising = np.take_along_axis(values, order, axis=0)
    cumulative = np.cumsum(weights[order], axis=0) - 0.5 * weights[order]
    mean = np.tensordot(weights, values, 1)
    return Band(mean, *(_quantile(rising, cumulative, 0.5 + side * coverage) for side in (-0.5, 0.5)))


def band_of_rows(
    values_of: Callable[[EncodedRows], Array], rows: EncodedRows, size: int, weights: Array, coverage: float
) -> Band:
    """The band of what is computed row by row, in batches.

    values_of : from encoded rows to values (D, M, ...) of all draws; size : how many numbers one row of one draw has.
    """
    bands = [
        band(values_of(EncodedRows(rows.codes[part], rows.fractions[part])), weights, coverage)
        for part in batches(len(rows.codes), len(weights) * size)
    ]
    return Band(*(np.concatenate(arrays) for arrays in zip(*bands, strict=True)))


def _quantile(rising: Array, cumulative: Array, q: float) -> Array:
    """Where the cumulative weight reaches q; the first or last draw if it does not."""
    above = np.minimum((cumulative < q).sum(axis=0, keepdims=True), len(rising) - 1)
    below = np.maximum(above - 1, 0)
    low, high = np.take_along_axis(cumulative, below, 0), np.take_along_axis(cumulative, above, 0)
    step = np.where(high > low, high - low, 1.0)
    t = np.clip((q - low) / step, 0.0, 1.0)
    start, end = np.take_along_axis(rising, below, 0), np.take_along_axis(rising, above, 0)
    return np.asarray((start + t * (end - start))[0])


def check_coverage(coverage: float) -> None:
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
