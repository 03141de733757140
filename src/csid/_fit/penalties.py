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
def costs_per_component(
    table: Any, offsets: Any, levels: Any, ordered: Any, rho: float, mu: Any, order: int, F: int
) -> Any:
    """rho |A_n(:, f)|^2 + mu_n |T_n A_n(:, f)|^2, (N, F), for factors stacked in a table.

    From the differences themselves: the bands would lose those of a column that is almost flat.
    """
    N = len(levels)
    costs = np.zeros((N, F))
    for n in range(N):
        first = offsets[n]
        for i in range(first, first + levels[n]):
            for f in range(F):
                costs[n, f] += rho * table[i, f] * table[i, f]
        if mu[n] != 0.0:
            for i in range(first, first + ordered[n] - order):
                for f in range(F):
                    step = table[i + 1, f] - table[i, f]
                    if order == 2:
                        step = table[i + 2, f] - table[i + 1, f] - step
                    costs[n, f] += mu[n] * step * step
    return costs


@dataclass(frozen=True)
class Penalty:
    """`rho ||A_n||_F^2 + mu_n ||T_n A_n||_F^2`, on I_n levels of which the first `ordered` have neighbours."""

    levels: NDArray[np.intp]
    ordered: NDArray[np.intp]
    rho: float
    mu: Array
    order: int

    @cached_property
    def bands(self) -> list[Array]:
        """The diagonals of each factor's penalty, as `penalty_bands` gives them."""
        numbers = zip(self.levels.tolist(), self.ordered.tolist(), self.mu.tolist(), strict=True)
        return [penalty_bands(levels, ordered, self.rho, mu, self.order) for levels, ordered, mu in numbers]

    def per_component(self, table: Array, offsets: NDArray[np.intp], rank: int) -> Array:
        """Its value for each factor and component, (N, F), for factors stacked in a table."""
        rho, mu, order = self.rho, self.mu, self.order
        return np.asarray(costs_per_component(table, offsets, self.levels, self.ordered, rho, mu, order, rank))
