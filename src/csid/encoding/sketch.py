"""A table in one pass, whose parts may be read apart: what the levels of each predictor need of its rows.

A number is summed up by weighted means of neighbouring values, as many as a column has different ones, at most some
thousands: with fewer different values than that the levels are those of the whole column. Sums of equally many parts
are merged, as bits carry in a counter, so that of M rows each was merged with others log M times only.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from csid.encoding.columns import Column, MapColumns, describe, kinds_of, read_columns
from csid.encoding.encoding import auto_levels
from csid.encoding.lloyd_max import distinct, reduced, scaled
from csid.encoding.modes import (
    MOST_LEVELS,
    Interpolation,
    Missing,
    Mode,
    categorical_mode,
    categories_of,
    numbers_of,
    ordinal_mode,
)

Array = NDArray[np.float64]
Points = tuple[Array, Array]

SKETCH_POINTS = 1 << 14
"""Most different numbers of a column that are kept as they are."""


class ColumnSketch:
    """What the levels of one predictor need of the rows seen so far.

    label : how messages call the column; categorical : True, False, or None to go by the type of its values.
    """

    def __init__(self, label: str, categorical: bool | None = None) -> None:
        self.label = label
        self.categorical = categorical
        self.is_category: bool | None = None
        self.any_missing = False
        self.categories: set[Any] = set()
        self._sums: list[Points | None] = []

    def update(self, column: Column, train: NDArray[np.intp] | None = None, weights: Array | None = None) -> None:
        """Add some rows of a part, by default all, with their weights, by default alike."""
        part = ColumnSketch(column.label, self.categorical)
        part.is_category = not column.is_numeric if self.categorical is None else self.categorical
        if part.is_category:
            part.categories, part.any_missing = categories_of(column, train)
        else:
            observed, mass, part.any_missing = numbers_of(column, train, weights)
            if len(observed):
                part._sums = [_bounded(*distinct(observed, mass))]
        self.label = column.label
        self.merge(part)

    def merge(self, other: "ColumnSketch") -> Self:
        """Add the rows of another sketch of the column; a part in which it is missing throughout has no type."""
        if self._is_empty and (self.is_category is None or not other._is_empty):
            self.is_category = other.is_category
        elif self.is_category != other.is_category and not other._is_empty:
            raise self._mixed("numbers", describe(min(self.categories or other.categories, key=str)))
        self.any_missing |= other.any_missing
        self.categories |= other.categories
        if len(self.categories) > MOST_LEVELS:
            self.mode("", 1, "constant", "marginalize")
        for level, sums in enumerate(other._sums):
            if sums is not None:
                self._carry(sums, level)
        return self

    def mode(self, name: str, levels: int, interpolation: Interpolation, missing: Missing) -> Mode:
        """The levels of the predictor."""
        if self.is_category:
            kinds = kinds_of(sorted(self.categories, key=str), self.label)
            if len(kinds) > 1:
                raise self._mixed(*(describe(value) for _, value in list(kinds.values())[:2]))
            return categorical_mode(name, self.label, self.categories, self.any_missing, missing)
        return ordinal_mode(name, *self.points, self.any_missing, levels, interpolation, missing)

    @property
    def points(self) -> Points:
        """The numbers seen, or means of them, sorted, and their masses."""
        return _together([sums for sums in self._sums if sums is not None])

    @property
    def _is_empty(self) -> bool:
        return not self.categories and not self._sums

    def _mixed(self, one: str, other: str) -> ValueError:
        return ValueError(
            f"{self.label} mixes types: {one} in one part of the rows, {other} in another. "
            "Convert the column to one type."
        )

    def _carry(self, sums: Points, level: int) -> None:
        while level < len(self._sums):
            own = self._sums[level]
            if own is None:
                break
            sums, self._sums[level] = _bounded(*_together([own, sums])), None
            level += 1
        self._sums += [None] * (level + 1 - len(self._sums))
        self._sums[level] = sums

    def __getstate__(self) -> dict[str, Any]:
        """As it travels between processes: one sum for all that were carried."""
        several = sum(sums is not None for sums in self._sums) > 1
        sums = [*[None] * (len(self._sums) - 1), _bounded(*self.points)] if several else self._sums
        return self.__dict__ | {"_sums": sums}


class TableSketch:
    """Sketches of all predictors.

    n_rows : rows seen; categorical : for each predictor True, False, or None to go by the type of its column.
    """

    def __init__(self, names: Sequence[str], categorical: Sequence[bool | None]) -> None:
        self.names = list(names)
        self.n_rows = 0
        self.columns = [ColumnSketch(f"column {name!r}", flag) for name, flag in zip(names, categorical, strict=True)]

    def update(
        self,
        X: Any,
        n_rows: int,
        weights: Array | None = None,
        train: NDArray[np.intp] | None = None,
        map_columns: MapColumns = map,
    ) -> None:
        """Add a table of so many rows, or those of them that are trained on.

        weights : (M,) of all its rows, None for all alike. map_columns : such as the map of a pool of threads.
        """
        self.n_rows += n_rows if train is None else len(train)
        mass = weights if weights is None or train is None else weights[train]
        for _ in map_columns(lambda sketch, column: sketch.update(column, train, mass), self.columns, read_columns(X)):
            pass

    def merge(self, other: "TableSketch") -> Self:
        """Add the rows of another sketch of the table."""
        self.n_rows += other.n_rows
        for own, more in zip(self.columns, other.columns, strict=True):
            own.merge(more)
        return self

    def modes(self, levels: int | Literal["auto"], interpolation: Interpolation, missing: Missing) -> tuple[Mode, ...]:
        """The levels of all predictors; their marginals are counted as rows are encoded: `LevelCounts`."""
        most = auto_levels(self.n_rows, len(self.names)) if levels == "auto" else levels
        return tuple(
            sketch.mode(name, most, interpolation, missing)
            for sketch, name in zip(self.columns, self.names, strict=True)
        )


def _together(several: Sequence[Points]) -> Points:
    if not several:
        return np.empty(0), np.empty(0)
    if len(several) == 1:
        return several[0]
    points, mass = (np.concatenate(arrays) for arrays in zip(*several, strict=True))
    return distinct(points, mass)


def _bounded(points: Array, mass: Array) -> Points:
    if len(points) <= SKETCH_POINTS:
        return points, mass
    small, exponent = scaled(points)
    means, sums = reduced(small, mass, SKETCH_POINTS)
    return np.ldexp(means, exponent), sums
