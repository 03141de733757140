"""Count how often each level occurs: the marginals p_n, from parts of the rows that can be counted separately."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from csid._kernels.positions import as_numbers
from csid.encoding.columns import MapColumns
from csid.encoding.modes import Mode

Array = NDArray[np.float64]


class LevelCounts:
    """Sums of w_n over rows, counted in parts and merged.

    totals : N arrays (I_n,). Without weights they are exact however the rows are split: positions are multiples of
        2^-16, and their sums stay exact up to 10^11 rows.
    """

    def __init__(self, modes: Sequence[Mode]) -> None:
        self.totals = [np.zeros(mode.n_levels) for mode in modes]
        self._linear = [mode.linear for mode in modes]

    def update(
        self,
        codes: NDArray[Any],
        positions: NDArray[Any],
        weights: Array | None = None,
        map_columns: MapColumns = map,
    ) -> None:
        """Count rows with codes (M, N) and positions (M, N) or (0, N). Missing cells are not counted."""

        def count(n: int, total: Array) -> None:
            total += level_sums(codes[:, n], positions[:, n] if self._linear[n] else None, weights, len(total))

        for _ in map_columns(count, range(len(self.totals)), self.totals):
            pass

    def merge(self, other: "LevelCounts") -> Self:
        """Add the counts of other rows."""
        for total, more in zip(self.totals, other.totals, strict=True):
            total += more
        return self

    def marginals(self) -> tuple[Array, ...]:
        """p_n of every mode. A mode that was never observed has a uniform marginal."""
        return tuple(as_marginal(total) for total in self.totals)


def level_sums(codes: NDArray[Any], positions: NDArray[Any] | None, weights: Array | None, levels: int) -> Array:
    """The sum of w(x) over rows.

    positions : (M,) position between a level and the next; None when every value is on a level.
    """
    sums = np.bincount(codes, weights=weights, minlength=levels + 1).astype(np.float64)
    if positions is not None:
        t = as_numbers(positions)
        moved = np.bincount(codes, weights=t if weights is None else weights * t, minlength=levels + 1)
        sums -= moved
        sums[1:] += moved[:-1]
    return sums[:levels]


def as_marginal(sums: Array) -> Array:
    """Normalise sums over levels to a distribution."""
    total = sums.sum()
    return sums / total if total > 0 else np.full(len(sums), 1.0 / len(sums))
