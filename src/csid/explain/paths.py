"""Paths from the value of one predictor to all others: pieces on which the prediction is linear, and what they cost.

A value has a position: its level, plus the fraction of the way to the next. The cost of a change is the fraction of the
training rows between both values. It has no unit, does not depend on how a predictor is scaled, and a step where rows
are dense costs as much as one across a wide gap. Half of a level's rows count as below it, and one more row is
distributed evenly over all levels, so that no change is free. A category has no neighbours: a change costs 1/2, as
between the values of a number that takes only two.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.encoding import CategoricalMode, Mode
from csid.encoding.columns import Column

Array = NDArray[np.float64]
Places = NDArray[np.intp]

STEP = 2.0**-20
"""A step along positions that survives rounding to single precision."""

_COST_OF_A_CATEGORY = 0.5


class Spot(NamedTuple):
    """A point of a path: a piece, the fraction of the way along it, and whether the goal takes a step beyond it."""

    piece: int
    fraction: float
    goes_on: bool


@dataclass(frozen=True)
class Path:
    """E places that a predictor may move to, and P pieces between them.

    start : the value in the row; values : at the places, as a table holds them.
    positions : (E,); costs : (E,), from the start.
    near, far : (P,), the places at both ends of the pieces, the cheaper one first; equal for a single place.
    """

    start: Any
    values: list[Any]
    positions: Array
    costs: Array
    near: Places
    far: Places

    def at(self, spot: Spot, step: float) -> tuple[Any, float, float]:
        """The value, its position and its cost at a spot, or a step of positions beyond a spot that goes on."""
        x, p, c = self.values, self.positions, self.costs
        near, far = int(self.near[spot.piece]), int(self.far[spot.piece])
        s = min(1.0, spot.fraction + step / float(abs(p[far] - p[near]))) if spot.goes_on else spot.fraction
        if s == 0.0 or s == 1.0:
            end = far if s else near
            return x[end], float(p[end]), float(c[end])
        value, position, cost = ((1.0 - s) * ends[near] + s * ends[far] for ends in (x, p, c))
        return value, float(position), float(cost)

    def within(self, cost: float) -> "Path":
        """The part of the path that begins at less than a cost."""
        pieces = np.flatnonzero(self.costs[self.near] < cost)
        near, far = self.near[pieces], self.far[pieces]
        places = np.unique([near, far])
        ends = (np.searchsorted(places, end) for end in (near, far))
        return Path(self.start, [self.values[i] for i in places], self.positions[places], self.costs[places], *ends)


_SINGLE = np.zeros(1, np.intp)
STILL = Path(None, [None], np.zeros(1), np.zeros(1), _SINGLE, _SINGLE)
"""The path of a predictor that does not move."""


def path_of(mode: Mode, column: Column, position: float, p: Array, n_rows: int, halves: bool) -> Path:
    """The path of a predictor from the only cell of its column, which is observed, to all values but a missing one.

    p : its marginal over n_rows training rows.
    halves : split pieces in the middle, where the prediction jumps because another level becomes the nearest.
    """
    if isinstance(mode, CategoricalMode):
        return _category_path(mode, int(position), p)
    value = float(column.numbers(mode.words)[0])
    G = len(mode.grid)
    mass = (n_rows * p[:G] + 1.0 / G) / (n_rows * p[:G].sum() + 1.0)
    below = np.cumsum(mass) - 0.5 * mass
    places = np.arange(G, dtype=np.float64)
    if not mode.linear or mode.words:
        own = int(position)
        return Path(value, mode.grid.tolist(), places, np.abs(below - below[own]), *[np.arange(G)] * 2)
    positions = np.unique(np.concatenate([places, [position], *(_middles(places) if halves else [])]))
    own = int(np.searchsorted(positions, position))
    values = np.interp(positions, places, mode.grid).tolist()
    values[own] = min(max(value, values[0]), values[-1])  # beyond the grid, the nearest end of it
    along = np.interp(positions, places, below)
    k = np.arange(len(positions) - 1)
    k = k[nearest(positions[:-1]) == nearest(positions[1:])] if halves else k
    near, far = np.where(k < own, k + 1, k), np.where(k < own, k, k + 1)
    return Path(value, values, positions, np.abs(along - along[own]), near, far)


def nearest(positions: Array) -> Places:
    """The level nearest to each position; the lower one of two."""
    levels = np.floor(positions)
    return np.asarray(levels + (positions - levels > 0.5), np.intp)


def _middles(places: Array) -> tuple[Array, Array]:
    """Both sides of the middle between levels."""
    return places[:-1] + 0.5, places[:-1] + 0.5 + STEP


def _category_path(mode: CategoricalMode, own: int, p: Array) -> Path:
    """Categories by decreasing frequency, so that of several at the same distance the most frequent comes first."""
    order = np.argsort(-p[: len(mode.categories)], kind="stable")
    costs = np.where(order == own, 0.0, _COST_OF_A_CATEGORY)
    single = np.arange(len(order))
    values = [mode.categories[i] for i in order]
    return Path(mode.categories[own], values, order.astype(float), costs, single, single)
