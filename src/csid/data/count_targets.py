"""Counts and their exposure, as the two columns that a likelihood reads: the count, and its log exposure."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_targets, without_mask

Array = NDArray[np.float64]

_LARGEST_COUNT = 1e15  # whole numbers are exact far beyond
_LARGEST_EXPOSURE = 1e100


class CountsWithExposure(NamedTuple):
    """Counts (M,), and the exposure (M,) over which each was counted."""

    counts: Any
    exposure: Any


class CountTargets:
    """Counts, read as targets (M, 2): the count and log exposure. Without exposure, that of all rows is one."""

    width = 2

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Counts are not standardised."""
        return np.zeros(2), np.ones(2)

    def factors(self, targets: Array) -> Array | None:
        return None

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        y, exposure = y if isinstance(y, CountsWithExposure) else (y, None)
        counts = check_counts(y, n_rows, names)
        return np.column_stack([counts, np.log(check_exposure(exposure, n_rows, names[0]))])


def check_counts(y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
    """y as (M,) whole numbers that are not negative. names : of X and y in error messages."""
    counts, name = check_targets(y, n_rows, names), names[1]
    if counts.ndim > 1:
        raise ValueError(
            f"{name} has {counts.shape[1]} columns, but counts of one output only are supported: fit one model for "
            "each output."
        )
    wrong = (counts < 0.0) | (counts != np.rint(counts)) | (counts > _LARGEST_COUNT)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} holds {counts[row]:.15g} in row {row + 1:,} ({int(wrong.sum()):,} such rows in total), which is "
            f"not a count: counts are whole numbers from 0 to {_LARGEST_COUNT:g}. For rates, give their counts and "
            "exposure; for other numbers, use likelihood='gaussian'."
        )
    return counts


def check_exposure(exposure: Any, n_rows: int, table: str = "X") -> Array:
    """Exposure as (M,) positive floats; ones if it is None."""
    if exposure is None:
        return np.ones(n_rows)
    exposure = without_mask(exposure)
    if hasattr(exposure, "to_numpy"):
        exposure = exposure.to_numpy()
    try:
        found = np.asarray(exposure, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"exposure must hold numbers only: {error}.") from None
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim == 0:
        found = np.full(n_rows, float(found))
    if found.shape != (n_rows,):
        raise ValueError(f"exposure has shape {found.shape}, expected {(n_rows,)}: one number per row of {table}.")
    wrong = ~((found > 1.0 / _LARGEST_EXPOSURE) & (found < _LARGEST_EXPOSURE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"exposure holds {found[row]:g} in row {row + 1:,} ({int(wrong.sum()):,} such rows in total), but must be "
            "a positive number: leave out rows without exposure."
        )
    return found
