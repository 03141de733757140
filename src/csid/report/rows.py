"""Rows to start from in the what-if panel: a typical one, and some of the data."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import Encoding, Mode, OrdinalMode
from csid.encoding.columns import read_columns

Array = NDArray[np.float64]
Row = list[float | int | None]
"""A cell per predictor: a number; the position of a category, -1 if it is unseen; None if the cell is missing."""


def typical_row(encoding: Encoding) -> Row:
    """Medians of numbers, and the most frequent categories."""
    return [_typical(mode, p) for mode, p in zip(encoding.modes, encoding.marginals, strict=True)]


def example_rows(encoding: Encoding, X: Any, chosen: NDArray[np.intp]) -> list[Row]:
    """Some rows of a table, by their positions."""
    columns = [_cells(mode, column, chosen) for mode, column in zip(encoding.modes, read_columns(X), strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _typical(mode: Mode, p: Array) -> float | int | None:
    if isinstance(mode, OrdinalMode):
        reached = np.cumsum(p[: len(mode.grid)])
        median = mode.grid[min(int(np.searchsorted(reached, 0.5 * reached[-1])), len(mode.grid) - 1)]
        least, largest = float(mode.grid[0]), float(mode.grid[-1])
        return min(max(_to_digits_that_matter(float(median), largest - least), least), largest)
    return int(np.argmax(p[: len(mode.categories)])) if mode.categories else None


def _to_digits_that_matter(value: float, extent: float) -> float:
    try:
        return round(value, 3 - math.floor(math.log10(extent)) if extent > 0.0 else 12)
    except OverflowError:  # the extent, or the rounded value, is larger than any float
        return value


def _cells(mode: Mode, column: Any, chosen: NDArray[np.intp]) -> Row:
    if isinstance(mode, OrdinalMode):
        return [None if np.isnan(value) else value for value in column.numbers(mode.words)[chosen].tolist()]
    values, places = column.values(), {category: at for at, category in enumerate(mode.categories)}
    return [None if values[m] is None else places.get(values[m], -1) for m in chosen.tolist()]
