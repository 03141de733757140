"""Mean and standard deviation of targets, from parts of the rows."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows

Array = NDArray[np.float64]

_ROUNDING = 1e-12


class Moments:
    """Weight, mean and sum of squared deviations of each output, computed in parts and merged.

    Squares are in units of `unit`, the largest deviation so far, because squares of very large or small numbers leave
    the range of floats.
    """

    def __init__(self, n_outputs: int) -> None:
        self.weight = 0.0
        self.mean = np.zeros(n_outputs)
        self.squares = np.zeros(n_outputs)
        self.unit = np.zeros(n_outputs)

    def update(self, targets: Array, weights: Array) -> None:
        """Add rows: targets (M, K), weights (M,)."""
        part = Moments(len(self.mean))
        part.weight = float(weights.sum())
        if part.weight > 0.0:
            part.mean = np.average(targets, weights=weights, axis=0)
            deviations = targets - part.mean
            part.unit = np.abs(deviations).max(axis=0)
            part.squares = sums_over_rows(weights, (deviations / _divisor(part.unit)) ** 2)
            self.merge(part)

    def merge(self, other: "Moments") -> Self:
        """Add the moments of other rows (Chan, Golub and LeVeque 1979)."""
        if other.weight == 0.0:
            return self
        total = self.weight + other.weight
        step = (other.mean - self.mean) * (self.weight > 0.0)
        unit = np.maximum.reduce([self.unit, other.unit, np.abs(step)])
        own, others, between = (each / _divisor(unit) for each in (self.unit, other.unit, step))
        self.squares = (
            self.squares * own**2 + other.squares * others**2 + between**2 * self.weight * other.weight / total
        )
        self.mean = other.mean + (self.mean - other.mean) * (self.weight / total)
        self.weight, self.unit = total, unit
        return self

    def centre_and_scale(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each output; the scale of a constant output is 1, or its rounding error."""
        scale, rounding = self.unit * np.sqrt(self.squares / self.weight), _ROUNDING * np.abs(self.mean)
        return self.mean, np.where(scale > rounding, scale, np.maximum(1.0, rounding))


def _divisor(unit: Array) -> Array:
    return np.where(unit > 0.0, unit, 1.0)
