"""The penalties of the objective: ridge, and smoothness of ordered levels by first or second differences.

`rho ||A_n||_F^2 + mu_n ||T_n A_n||_F^2` of Eq. (7). Both act on every component alike, so a penalty enters the normal
equations as a banded `I_n x I_n` matrix of numbers: `rho I + mu_n T_n^T T_n`, kept by diagonals.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.compiled import kernel

Array = NDArray[np.float64]


def difference_matrix(levels: int, order: int) -> Array:
    """`T_n` of the paper, (levels - order, levels): rows (1, -1) for order 1 and (-1, 2, -1) for order 2."""
    if levels <= order:
        return np.zeros((0, levels))
    return -np.diff(np.eye(levels), n=order, axis=0)


def penalty_bands(levels: int, ordered: int, rho: float, mu: float, order: int) -> Array:
    """Diagonals of `rho I + mu T^T T`; T acts on the first `ordered` levels, the others have no neighbours.

    Returns
    -------
    (order + 1, levels) array: entry (d, i) couples level i with level i + d. Only the main diagonal when mu is 0.
    """
    if mu == 0.0 or ordered <= order:
        return np.full((1, levels), rho)
    coefficients = np.diff(np.eye(order + 1), n=order, axis=0)[0]
    bands = np.zeros((order + 1, levels))
    bands[0] = rho
    for start, a in enumerate(coefficients):  # T^T T is a sum of outer products of shifted copies of one row
        for stop in range(start, order + 1):
            d = stop - start
            bands[d, start : ordered - order + start] += mu * a * coefficients[stop]
    return bands


@kernel
def _penalty_per_component(A: Any, ordered: int, rho: float, mu: float, order: int) -> Any:
    levels, F = A.shape
    value = np.zeros(F)
    for i in range(levels):
        for f in range(F):
            value[f] += rho * A[i, f] * A[i, f]
    if mu != 0.0:
        for i in range(ordered - order):
            for f in range(F):
                step = A[i + 1, f] - A[i, f]
                if order == 2:
                    step = A[i + 2, f] - A[i + 1, f] - step
                value[f] += mu * step * step
    return value


@dataclass(frozen=True)
class Penalty:
    """`rho ||A||_F^2 + mu ||T A||_F^2` on a factor with some levels, of which the first `ordered` have neighbours."""

    levels: int
    ordered: int
    rho: float
    mu: float
    order: int

    @cached_property
    def bands(self) -> Array:
        return penalty_bands(self.levels, self.ordered, self.rho, self.mu, self.order)

    def per_component(self, A: Array) -> Array:
        """Its value for each column of A, from the differences themselves: the bands would lose a flat column's."""
        return np.asarray(_penalty_per_component(np.ascontiguousarray(A), self.ordered, self.rho, self.mu, self.order))
