"""Sample weights: relative to their mean, or counts of repeated rows.

Relative weights say how much a row counts compared with others, as survey weights and 1 / n do. They are divided by
their mean over the rows with a positive weight, so any positive scale of them gives the same fit. They are rounded to
24 bits before that: in other units their last bits differ, and the draws of a sampler would then drift apart.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WeightMeaning = Literal["relative", "counts"]

_BITS = 24
_LARGEST_COUNT = 1e15


class WeightUnit(NamedTuple):
    """What a weight of one is, in the units of the user: the product of both numbers.

    largest : of the relative weights; mean : of those that are positive, as a fraction of the largest.
    counts : whether the weights count repeated rows; these are left as they are.
    """

    largest: float = 1.0
    mean: float = 1.0
    counts: bool = False

    def of(self, weights: Array) -> Array:
        """Checked weights (M,) in this unit. A positive weight stays positive."""
        if self.counts:
            _check_whole(weights)
            return weights
        if self == AS_GIVEN:
            return weights
        with np.errstate(over="ignore"):  # only a later batch can have much larger weights, and is refused
            relative = _rounded(weights / self.largest) / self.mean
        if not np.isfinite(relative).all():
            row = int(np.argmax(~np.isfinite(relative)))
            raise ValueError(
                f"sample_weight holds {weights[row]:g} in row {row + 1:,}, but the earlier rows had weights up to "
                f"{self.largest:g}: give weights in the same units as in the first fit."
            )
        return np.where(weights > 0.0, np.maximum(relative, np.finfo(np.float64).tiny), 0.0)


AS_GIVEN = WeightUnit()
"""The unit of weights that are left as they are."""


class WeightTotals(NamedTuple):
    """What the unit of relative weights is computed from.

    largest : of the weights; total : their sum as a multiple of the largest, which cannot overflow.
    rows : the number of rows with a positive weight.
    """

    largest: float = 0.0
    total: float = 0.0
    rows: int = 0

    @classmethod
    def of(cls, weights: Array) -> "WeightTotals":
        """The totals of some weights. Those that are not finite or negative are left to the check of each row."""
        positive = weights[np.isfinite(weights) & (weights > 0.0)]
        if not len(positive):
            return cls()
        largest = float(positive.max())
        return cls(largest, float((positive / largest).sum()), len(positive))

    def merged(self, other: "WeightTotals") -> "WeightTotals":
        """The totals of both parts of the rows."""
        largest = max(self.largest, other.largest)
        if largest == 0.0:
            return self
        total = self.total * (self.largest / largest) + other.total * (other.largest / largest)
        return WeightTotals(largest, total, self.rows + other.rows)

    def unit(self, meaning: WeightMeaning) -> WeightUnit:
        """The unit of weights with these totals."""
        if meaning == "counts":
            return WeightUnit(counts=True)
        if self.rows == 0:
            return AS_GIVEN
        return WeightUnit(self.largest, float(_rounded(np.array(self.total / self.rows))))


def _rounded(values: Array) -> Array:
    """Values rounded to 24 bits of their mantissa."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(mantissas * 2.0**_BITS) * 2.0**-_BITS, exponents)


def _check_whole(weights: Array) -> None:
    wrong = (weights != np.rint(weights)) | (weights > _LARGEST_COUNT)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight holds {weights[row]:g} in row {row + 1:,}, but weights='counts' needs whole numbers up to "
            f"{_LARGEST_COUNT:g}, the numbers of repeated rows: use weights='relative' for other weights."
        )
