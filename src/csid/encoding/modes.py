"""One predictor as one mode of the tensor: its levels, and how a value is encoded on them."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from csid._kernels.compiled import inner, kernel
from csid.encoding.columns import Column, describe
from csid.encoding.lloyd_max import lloyd_max_levels

Array = NDArray[np.float64]
Interpolation = Literal["constant", "linear"]
Missing = Literal["marginalize", "level"]

_SEARCHED_TOGETHER = 256
_SECONDS_PER_DAY = 86_400
_FIRST_ROWS = 1_000

MOST_LEVELS = 65_535
"""Codes have at most 16 bits, and one code is reserved for missing cells."""


@dataclass(frozen=True)
class OrdinalMode:
    """A numeric predictor.

    grid : (G,) sorted levels.
    linear : whether a value between two levels is interpolated between them, or takes the nearest.
    missing_level : whether missing cells have a level of their own, without neighbours.
    limits : the smallest and the largest training value; None if there is none, or if it is not known.
    words : ordered words that stand for 0, 1, …; date : whether the numbers are days since 1970.
    """

    name: str
    grid: Array
    linear: bool
    missing_level: bool
    limits: tuple[float, float] | None = None
    words: tuple[str, ...] = ()
    date: bool = False

    @property
    def n_levels(self) -> int:
        return len(self.grid) + self.missing_level

    @property
    def n_known(self) -> int:
        """The number of levels of observed cells. A larger code is that of a missing or unseen one."""
        return len(self.grid)

    @property
    def n_ordered(self) -> int:
        return len(self.grid)

    @property
    def level_names(self) -> list[Any]:
        return [*map(self.value_of, self.grid.tolist()), *([None] if self.missing_level else [])]

    def value_of(self, number: float) -> Any:
        """What a number stands for: the nearest word, a date and time, or the number itself."""
        if self.words:
            return self.words[min(max(round(number), 0), len(self.words) - 1)]
        return date_of(number) if self.date else number

    def encode(self, column: Column, codes: NDArray[Any], fractions: NDArray[Any] | None, steps: int = 0) -> None:
        """Fill a column of codes, and for a linear mode one of fractions.

        steps : fractions are rounded to multiples of 1 / steps; 0 for no rounding.
        """
        missing = len(self.grid)  # the level of missing cells if there is one, else the code after the last level
        if column.is_date and not self.date:
            raise TypeError(
                f"{column.label} holds dates, but numbers in training: convert it to the type used in training."
            )
        values = column.numbers(self.words)
        if fractions is None:
            beyond_middles = np.nextafter(0.5 * self.grid[1:] + 0.5 * self.grid[:-1], np.inf)
            _nearest_level(values, np.append(-np.inf, beyond_middles), missing, codes)
        else:
            step = 1.0 if steps == 0 or fractions.dtype.kind == "u" else 1.0 / steps
            _neighbouring_levels(values, self.grid, missing, steps, step, codes, fractions)


@dataclass(frozen=True)
class CategoricalMode:
    """A categorical predictor. Unseen categories, and missing cells without `missing_level`, have no level.

    categories : in the order of their levels.
    missing_level : whether missing cells have a level of their own.
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
    def n_known(self) -> int:
        """The number of levels of observed cells. A larger code is that of a missing or unseen one."""
        return max(1, len(self.categories))

    @property
    def level_names(self) -> list[Any]:
        return [*self.categories, *([None] * (self.n_levels - len(self.categories)))]

    @cached_property
    def _level_of(self) -> dict[Any, int]:
        levels = {value: i for i, value in enumerate(self.categories)}
        if self.missing_level:
            levels[None] = len(self.categories)
        return levels

    @cached_property
    def _numbers(self) -> Array | None:
        """The categories as numbers; None for text."""
        return None if isinstance(next(iter(self.categories), ""), str | bytes) else np.array(self.categories, float)

    def encode(self, column: Column, codes: NDArray[Any], fractions: NDArray[Any] | None, steps: int = 0) -> None:
        """Fill a column of codes."""
        if column.is_numeric and self._numbers is not None:
            codes[:] = self._levels_of_numbers(column.numbers(), self._numbers)
            return
        levels, unseen = self._level_of, self.n_levels
        values = column.values()
        self._check_type(column.label, values)
        codes[:] = [levels.get(value, unseen) for value in values]

    def _levels_of_numbers(self, values: Array, categories: Array) -> NDArray[np.intp]:
        order = np.argsort(categories)
        at = np.minimum(np.searchsorted(categories, values, sorter=order), len(categories) - 1)
        levels = np.where(categories[order[at]] == values, order[at], self.n_levels)
        return np.where(np.isnan(values), len(categories), levels) if self.missing_level else levels

    def _check_type(self, label: str, values: list[Any]) -> None:
        """Reject numbers in place of text, or text in place of numbers: every value would be an unseen category."""
        row = next((m for m, value in enumerate(values) if value is not None), None)
        if row is None or not self.categories:
            return
        if isinstance(values[row], str) != isinstance(self.categories[0], str):
            raise ValueError(
                f"{label} holds {describe(values[row])} in row {row + 1:,}, but its training categories are like "
                f"{describe(self.categories[0])}: convert the column to the type used in training."
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
    """Fit the mode of one predictor to its weighted training rows; `train` is None for all rows."""
    if categorical:
        return categorical_mode(name, column.label, *categories_of(column, train), missing)
    mode = ordinal_mode(name, *numbers_of(column, train, weights), levels, interpolation, missing)
    return replace(mode, words=column.order, date=column.is_date)


def date_of(days: float) -> Any:
    """Days since 1970 as a `datetime`, to the second; beyond the years that it knows, the number itself."""
    moment = np.datetime64(0, "s") + np.timedelta64(round(days * _SECONDS_PER_DAY), "s")
    value = moment.item()
    return value if isinstance(value, datetime) else days


def categories_of(column: Column, train: NDArray[np.intp] | None) -> tuple[set[Any], bool]:
    """The distinct values of a category in the training rows, and whether any of these is missing."""
    if column.is_numeric:
        observed, _, any_missing = numbers_of(column, train, None)
        return set(Column(column.label, np.unique(observed)).values()), any_missing
    values = column.values()
    seen = set(values if train is None else [values[m] for m in train])
    return seen - {None}, None in seen


def numbers_of(
    column: Column, train: NDArray[np.intp] | None, weights: Array | None
) -> tuple[Array, Array | None, bool]:
    """The observed numbers in the training rows, their weights, and whether any number is missing."""
    numbers = column.numbers(column.order) if train is None else column.numbers(column.order)[train]
    absent = np.isnan(numbers)
    if not absent.any():
        return numbers, weights, False
    return numbers[~absent], None if weights is None else weights[~absent], True


def few_whole_numbers(column: Column, train: NDArray[np.intp] | None, most: int) -> Array | None:
    """The distinct values of a numeric column if all are whole and there are at most `most`; None otherwise."""
    observed, _, _ = numbers_of(column, train, None)
    for part in (observed[:_FIRST_ROWS], observed):  # most columns have more values than that in their first rows
        values = np.unique(part)
        if len(values) > most or (values != np.floor(values)).any():
            return None
    return values


def categorical_mode(name: str, label: str, seen: set[Any], any_missing: bool, missing: Missing) -> CategoricalMode:
    """The mode of a category with the values `seen`."""
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
    """The mode of a number with the values `observed`."""
    if len(observed) == 0:
        return OrdinalMode(name, np.zeros(1), False, False)
    missing_level = missing == "level" and any_missing
    grid = lloyd_max_levels(observed, weights, min(levels, MOST_LEVELS - missing_level))
    limits = float(observed.min()), float(observed.max())
    return OrdinalMode(name, grid, interpolation == "linear" and len(grid) > 1, missing_level, limits)


@inner
def _last_up_to(grid: Any, values: Any, start: int, n: int, at: Any) -> None:
    """at[r] = index of the last number of a sorted grid that is <= value start + r, or 0 if none is.

    All binary searches take each step together, so there is no branch to mispredict.
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
    """`firsts` : the smallest number of each level; minus infinity for the first level."""
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
    """Fractions are rounded to multiples of 1 / steps, below one, and written in units where 1 / steps is `step`."""
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
