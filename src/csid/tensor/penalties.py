"""The penalties of the objective: ridge, and smoothness of ordered levels by first or second differences.

`rho ||A_n||_F^2 + mu_n ||T_n A_n||_F^2` of Eq. (7). Both are the same for every component, so a penalty enters the
normal equations as a banded `I_n x I_n` matrix, `rho I + mu_n T_n^T T_n`, stored by diagonals.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def penalty_bands(levels: int, ordered: int, rho: float, mu: float, order: int) -> Array:
    """Diagonals of `rho I + mu T^T T`. T takes differences of the first `ordered` levels only.

    Returns
    -------
    (order + 1, levels) array, whose entry (d, i) couples level i with level i + d. (1, levels) when mu is 0.
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


@dataclass(frozen=True)
class Penalty:
    """`rho_n ||A_n||_F^2 + mu_n ||T_n A_n||_F^2` on factors stacked in one table.

    levels : (N,) I_n; ordered : (N,) the number of ordered levels, which come first.
    rho, mu : (N,); order : of the differences T_n.
    offsets : (N,) first row of each factor in the table; rows : of the table.
    """

    levels: NDArray[np.intp]
    ordered: NDArray[np.intp]
    rho: Array
    mu: Array
    order: int
    offsets: NDArray[np.intp]
    rows: int

    @cached_property
    def bands(self) -> list[Array]:
        """The diagonals of each factor's penalty. See `penalty_bands`."""
        modes = zip(self.levels, self.ordered, self.rho, self.mu, strict=True)
        return [penalty_bands(int(I_n), int(ordered), rho, mu, self.order) for I_n, ordered, rho, mu in modes]

    @cached_property
    def _row_weights(self) -> tuple[Array, Array]:
        """Weights of the square of each row of the table, and of the square of the difference that starts there."""
        squares, differences = np.zeros((self.rows, 1)), np.zeros((self.rows, 1))
        for n, first in enumerate(self.offsets):
            squares[first : first + self.levels[n]] = self.rho[n]
            differences[first : first + max(0, self.ordered[n] - self.order)] = self.mu[n]
        return squares, differences[: max(0, self.rows - self.order) if self.mu.any() else 0]

    def per_component(self, table: Array, rank: int) -> Array:
        """Penalty of each factor and component, (N, F).

        Computed from the differences, because the bands lose precision when a column is almost constant.
        """
        squares, differences = self._row_weights
        costs = squares * (table * table)
        if len(differences):
            steps = table[1:] - table[:-1]
            if self.order == 2:
                steps = steps[1:] - steps[:-1]
            costs[: len(differences)] += differences * (steps * steps)
        return np.asarray(np.add.reduceat(costs, self.offsets, axis=0)[:, :rank])
