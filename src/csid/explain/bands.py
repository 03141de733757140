"""Intervals over posterior draws."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Band(NamedTuple):
    """A posterior mean, and the interval that holds a share of the draws in its middle; all of one shape."""

    mean: Array
    lower: Array
    upper: Array


def band(each: Array, shares: Array, coverage: float) -> Band:
    """The band of D draws (D, ...) with weights (D,) that sum to one.

    A draw stands at the middle of its own weight, and quantiles between two draws are interpolated.

    >>> found = band(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), np.full(5, 0.2), 0.8)
    >>> found.lower.tolist(), found.mean.tolist(), found.upper.tolist()
    ([0.0], [2.0], [4.0])
    """
    order = np.argsort(each, axis=0, kind="stable")
    values = np.take_along_axis(each, order, axis=0)
    reached = np.cumsum(shares[order], axis=0) - 0.5 * shares[order]
    mean = np.tensordot(shares, each, 1)
    return Band(mean, *(_crossing(values, reached, 0.5 + side * coverage) for side in (-0.5, 0.5)))


def _crossing(values: Array, reached: Array, q: float) -> Array:
    """Where the distribution reaches q; the first or last draw beyond all of them."""
    above = np.minimum((reached < q).sum(axis=0, keepdims=True), len(values) - 1)
    below = np.maximum(above - 1, 0)
    low, high = np.take_along_axis(reached, below, 0), np.take_along_axis(reached, above, 0)
    step = np.where(high > low, high - low, 1.0)
    t = np.clip((q - low) / step, 0.0, 1.0)
    start, end = np.take_along_axis(values, below, 0), np.take_along_axis(values, above, 0)
    return np.asarray((start + t * (end - start))[0])


def check_coverage(coverage: float) -> float:
    """The share of draws in an interval, if it is one."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
    return coverage
