"""One predictor as one mode of the tensor: its levels, and where a value falls among them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from csid._fit.compiled import inner, kernel
from csid.encoding.columns import Column, describe
from csid.encoding.lloyd_max import lloyd_max_levels

Array = NDArray[np.float64]
Interpolation = Literal["constant", "linear"]
Missing = Literal["marginalize", "level"]

_SEARCHED_TOGETHER = 256

MOST_LEVELS = 65_535
"""Codes are at most 16 bits wide, and one code is kept for missing cells."""


@dataclass(frozen=True)
class OrdinalMode:
    """A number: `grid` (G,) sorted levels; between them the nearest counts, or with `linear` the two neighbours share.

    `missing_level` adds a level of its own, without neighbours, for missing cells.
    """

    name: str
    grid: Array
    linear: bool
    missing_level: bool

    @property
    def n_levels(self) -> int:
        return len(self.grid) + self.missing_level

    @property
    def n_ordered(self) -> int:
        return len(self.grid)

    @property
    def level_names(self) -> list[Any]:
        return [*self.grid.tolist(), *([None] if self.missing_level else [])]

    def encode(self, column: Column, codes: NDArray[Any], fractions: NDArray[Any] | None, steps: int = 0) -> None:
        """Fill the column of codes, and that of fractions for a linear mode, rounded to so many steps if any."""
        missing = len(self.grid)  # its own level, or the code behind the last one
        values = column.numbers()
        if fractions is None:
            beyond_middles = np.nextafter(0.5 * self.grid[1:] + 0.5 * self.grid[:-1], np.inf)
            _nearest_level(values, np.append(-np.inf, beyond_middles), missing, codes)
        else:
            step = 1.0 if steps == 0 or fractions.dtype.kind == "u" else 1.0 / steps
            _neighbouring_levels(values, self.grid, missing, steps, step, codes, fractions)


@dataclass(frozen=True)
class CategoricalMode:
    """A category: `categories`, in order of their levels; one never seen, or missing, has no level.

    `missing_level` adds a level for missing cells.
    """

    name: str
    categories: tuple[Any, ...]
    missing_level: bool

    linear = False
    n_ordered = 0

    @property
    def n_levels(self) -> int:
        return max(1, len(self.categories) + self.missing_level)

    @property
    def level_names(self) -> list[Any]:
        return [*self.categories, *([None] * (self.n_levels - len(self.categories)))]

    @cached_property
    def _level_of(self) -> dict[Any, int]:
        levels = {value: i for i, value in enumerate(self.categories)}
        if self.missing_level:
            levels[None] = len(self.categories)
        return levels

    def encode(self, column: Column, codes: NDArray[Any], fractions: NDArray[Any] | None, steps: int = 0) -> None:
        """Fill the column of codes."""
        levels, unseen = self._level_of, self.n_levels
        values = column.values()
        self._check_words_or_numbers(column.label, values)
        codes[:] = [levels.get(value, unseen) for value in values]

    def _check_words_or_numbers(self, label: str, values: list[Any]) -> None:
        """Numbers where words were seen in training, or words where numbers, would all pass for unseen categories."""
        row = next((m for m, value in enumerate(values) if value is not None), None)
        if row is None or not self.categories:
            return
        if isinstance(values[row], str) != isinstance(self.categories[0], str):
            raise ValueError(
                f"{label} holds {describe(values[row])} in row {row}, but its categories in training were such as "
                f"{describe(self.categories[0])}: convert the column to the type that it had."
            )


Mode = OrdinalMode | CategoricalMode


def fit_mode(
    column: Column,
    train: NDArray[np.intp] | None,
    name: str,
    weights: Array | None,
    levels: int,
    interpolation: Interpolation,
    missing: Missing,
    categorical: bool,
) -> Mode:
    """Levels of one predictor from its training rows, with their weights; `train` is None for all rows."""
    if categorical:
        return categorical_mode(name, column.label, *categories_of(column, train), missing)
    return ordinal_mode(name, *numbers_of(column, train, weights), levels, interpolation, missing)


def categories_of(column: Column, train: NDArray[np.intp] | None) -> tuple[set[Any], bool]:
    """The values of a category in some rows, by default all, and whether it is missing in any."""
    values = column.values()
    seen = set(values if train is None else [values[m] for m in train])
    return seen - {None}, None in seen


def numbers_of(
    column: Column, train: NDArray[np.intp] | None, weights: Array | None
) -> tuple[Array, Array | None, bool]:
    """The observed numbers in some rows, by default all, their weights, and whether any is missing."""
    numbers = column.numbers() if train is None else column.numbers()[train]
    absent = np.isnan(numbers)
    if not absent.any():
        return numbers, weights, False
    return numbers[~absent], None if weights is None else weights[~absent], True


def categorical_mode(name: str, label: str, seen: set[Any], any_missing: bool, missing: Missing) -> CategoricalMode:
    """The mode of a category with these values."""
    categories = tuple(sorted(seen))
    mode = CategoricalMode(name, categories, missing == "level" and any_missing and bool(categories))
    if mode.n_levels > MOST_LEVELS:
        raise ValueError(
            f"{label} has {len(categories)} categories; at most {MOST_LEVELS} levels can be coded"
            f"{', one of them for missing cells' if mode.missing_level else ''}. "
            "Group rare categories together, or drop the column."
        )
    return mode


def ordinal_mode(
    name: str,
    observed: Array,
    weights: Array | None,
    any_missing: bool,
    levels: int,
    interpolation: Interpolation,
    missing: Missing,
) -> OrdinalMode:
    """The mode of a number with these observed values."""
    if len(observed) == 0:
        return OrdinalMode(name, np.zeros(1), False, False)
    missing_level = missing == "level" and any_missing
    grid = lloyd_max_levels(observed, weights, min(levels, MOST_LEVELS - missing_level))
    return OrdinalMode(name, grid, interpolation == "linear" and len(grid) > 1, missing_level)


@inner
def _last_up_to(grid: Any, values: Any, start: int, n: int, at: Any) -> None:
    """at[r] = the last of sorted numbers that is at most value start + r, or the first where none is.

    All values take each step of their searches together, which leaves no branch to guess.
    """
    for r in range(n):
        at[r] = 0
    size = len(grid)
    while size > 1:
        half = size // 2
        for r in range(n):
            i = np.intp(at[r]) + half
            at[r] = i if grid[i] <= values[start + r] else at[r]
        size -= half


@kernel
def _nearest_level(values: Any, firsts: Any, missing: int, codes: Any) -> None:
    """`firsts` : the least number of each level; of the first, minus infinity."""
    at = np.empty(_SEARCHED_TOGETHER, np.uint32)
    for start in range(0, len(values), _SEARCHED_TOGETHER):
        n = min(_SEARCHED_TOGETHER, len(values) - start)
        _last_up_to(firsts, values, start, n, at)
        for r in range(n):
            codes[start + r] = missing if np.isnan(values[start + r]) else at[r]


@kernel
def _neighbouring_levels(
    values: Any, grid: Any, missing: int, steps: int, step: float, codes: Any, fractions: Any
) -> None:
    """Positions are rounded to multiples of 1 / steps below one, if any, and written with that multiple as `step`."""
    last = len(grid) - 1
    at = np.empty(_SEARCHED_TOGETHER, np.uint32)
    for start in range(0, len(values), _SEARCHED_TOGETHER):
        n = min(_SEARCHED_TOGETHER, len(values) - start)
        _last_up_to(grid, values, start, n, at)
        for r in range(n):
            x, i = values[start + r], np.intp(at[r])
            t = 0.0
            if i < last and x > grid[i]:
                t = (x - grid[i]) / (grid[i + 1] - grid[i])
            if steps > 0:
                t = min(np.floor(t * steps + 0.5), steps - 1.0) * step
            codes[start + r] = missing if np.isnan(x) else i
            fractions[start + r] = t
