"""Sketch a table in one pass, in parts that can be read separately: all that the levels of each predictor need.

A numeric column is summarised by weighted means of neighbouring values, at most 2^14 of them. With fewer distinct
values the sketch is exact. Sketches of equally many parts are merged like the bits of a binary counter, so each of M
rows takes part in only log M merges.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from csid.encoding.columns import Column, MapColumns, describe, kinds_of, read_columns
from csid.encoding.encoding import Levels
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
"""Up to this many distinct values of a column, its sketch is exact."""


class ColumnSketch:
    """Summary of one column, from which its levels are fitted.

    label : the name of the column in error messages.
    categorical : True, False, or None to decide by the type of its values.
    """

    def __init__(self, label: str, categorical: bool | None = None) -> None:
        self.label = label
        self.categorical = categorical
        self.is_category: bool | None = None
        self.any_missing = False
        self.categories: set[Any] = set()
        self.limits: tuple[float, float] | None = None
        self.order: tuple[str, ...] = ()
        self.is_date = False
        self.sums: list[Points | None] = []

    def update(self, column: Column, train: NDArray[np.intp] | None = None, weights: Array | None = None) -> None:
        """Add rows of a part: `train`, or all; with their weights, or equal ones."""
        part = ColumnSketch(column.label, self.categorical)
        part.is_category = not column.is_ordered if self.categorical is None else self.categorical
        if part.is_category:
            part.categories, part.any_missing = categories_of(column, train)
        else:
            observed, mass, part.any_missing = numbers_of(column, train, weights)
            part.order, part.is_date = column.order, column.is_date
            if len(observed):
                part.limits = float(observed.min()), float(observed.max())
                part.sums = [_bounded(*distinct(observed, mass))]
        self.label = column.label
        self.merge(part)

    def merge(self, other: "ColumnSketch") -> Self:
        """Add the rows of another sketch of the column. A part in which every cell is missing has no type."""
        if self.is_empty and (self.is_category is None or not other.is_empty):
            self.is_category, self.order, self.is_date = other.is_category, other.order, other.is_date
        elif self.is_category != other.is_category and not other.is_empty:
            raise self._mixed("numbers", describe(min(self.categories or other.categories, key=str)))
        elif not other.is_empty and (self.order, self.is_date) != (other.order, other.is_date):
            raise self._mixed(self.kind, other.kind)
        self.limits = _joined(self.limits, other.limits)
        self.any_missing |= other.any_missing
        self.categories |= other.categories
        if len(self.categories) > MOST_LEVELS:
            self.mode("", 1, "constant", "marginalize")
        for level, sums in enumerate(other.sums):
            if sums is not None:
                self._carry(sums, level)
        return self

    def mode(self, name: str, levels: int, interpolation: Interpolation, missing: Missing) -> Mode:
        """The mode of the predictor, with its levels."""
        if self.is_category:
            kinds = kinds_of(sorted(self.categories, key=str), self.label)
            if len(kinds) > 1:
                raise self._mixed(*(describe(value) for _, value in list(kinds.values())[:2]))
            return categorical_mode(name, self.label, self.categories, self.any_missing, missing)
        mode = ordinal_mode(name, *self.points, self.any_missing, levels, interpolation, missing)
        return replace(mode, limits=self.limits, words=self.order, date=self.is_date)

    def whole_numbers(self, most: int) -> Array | None:
        """As `few_whole_numbers`; None of dates and ordered words, and if the user has declared what the column is."""
        if self.is_category or self.categorical is not None or self.is_date or self.order:
            return None
        values, _ = self.points
        return values if len(values) <= most and (values == np.floor(values)).all() else None

    def as_category(self) -> "ColumnSketch":
        """The sketch of the same column with its whole numbers as categories."""
        other = ColumnSketch(self.label, categorical=True)
        other.is_category, other.any_missing = True, self.any_missing
        other.categories = set(map(int, self.points[0].tolist()))
        return other

    @property
    def points(self) -> Points:
        """The sorted values seen, or weighted means of neighbouring ones, and their masses."""
        return _merged([sums for sums in self.sums if sums is not None])

    @property
    def is_empty(self) -> bool:
        return not self.categories and not self.sums

    @property
    def kind(self) -> str:
        """What its numbers are, for error messages."""
        return "dates" if self.is_date else f"the order {', '.join(self.order)}" if self.order else "numbers"

    def _mixed(self, one: str, other: str) -> ValueError:
        return ValueError(
            f"{self.label} mixes types: {one} in one part of the rows, {other} in another. "
            "Convert the column to one type."
        )

    def _carry(self, sums: Points, level: int) -> None:
        while level < len(self.sums):
            own = self.sums[level]
            if own is None:
                break
            sums, self.sums[level] = _bounded(*_merged([own, sums])), None
            level += 1
        self.sums += [None] * (level + 1 - len(self.sums))
        self.sums[level] = sums

    def __getstate__(self) -> dict[str, Any]:
        """Pickle one merged sketch in place of those of all levels."""
        several = sum(sums is not None for sums in self.sums) > 1
        sums = [*[None] * (len(self.sums) - 1), _bounded(*self.points)] if several else self.sums
        return self.__dict__ | {"sums": sums}


class TableSketch:
    """Sketches of all predictors.

    n_rows : rows seen; categorical : for each predictor True, False, or None to decide by the type of its column.
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
        """Add a table of `n_rows` rows, or only its training rows.

        weights : (M,) of all rows, None for equal weights. map_columns : such as the map of a thread pool.
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

    def whole_numbers(self, most: int) -> dict[int, Array]:
        """The distinct values of each predictor that holds few whole numbers, by its position."""
        found = {n: column.whole_numbers(most) for n, column in enumerate(self.columns)}
        return {n: values for n, values in found.items() if values is not None}

    def as_categories(self, columns: Collection[int]) -> "TableSketch":
        """The sketch of the same rows with the whole numbers of these predictors as categories."""
        other = copy(self)
        other.columns = [sketch.as_category() if n in columns else sketch for n, sketch in enumerate(self.columns)]
        return other

    def modes(self, levels: Levels) -> tuple[Mode, ...]:
        """The modes of all predictors. `LevelCounts` counts their marginals while rows are encoded."""
        most = levels.most_of(self.n_rows, len(self.names))
        return tuple(
            sketch.mode(name, most, levels.interpolation, levels.missing)
            for sketch, name in zip(self.columns, self.names, strict=True)
        )


def _joined(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    """The smallest and the largest value of two parts."""
    if one is None or other is None:
        return other if one is None else one
    return min(one[0], other[0]), max(one[1], other[1])


def _merged(parts: Sequence[Points]) -> Points:
    if not parts:
        return np.empty(0), np.empty(0)
    if len(parts) == 1:
        return parts[0]
    points, mass = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return distinct(points, mass)


def _bounded(points: Array, mass: Array) -> Points:
    if len(points) <= SKETCH_POINTS:
        return points, mass
    small, exponent = scaled(points)
    means, sums = reduced(small, mass, SKETCH_POINTS)
    return np.ldexp(means, exponent), sums
