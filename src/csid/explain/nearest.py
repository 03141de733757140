"""The cheapest point at which a function is negative that is bilinear on the cells of two paths, in closed form.

On a cell with s and t from 0 to 1 away from the row, the cost is `a s + b t` plus a constant, with a, b >= 0, and

    g(s, t) = alpha + beta s + gamma t + delta s t.

The cheapest point of the region g < 0 is a corner, or lies where g = 0: on an edge, where g is linear, or inside, where
the gradient of g is opposite to (a, b). With `D = beta gamma - alpha delta`, that is the point

    gamma + delta s = -sqrt(D b / a),    beta + delta t = -sqrt(D a / b).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.explain.paths import Path, Spot

Array = NDArray[np.float64]

_ROUNDING = 1e-9


class Point(NamedTuple):
    """A point of a cell, as a spot on each of its two paths.

    At a corner no spot goes on, and g is negative there. Elsewhere g is zero, and negative just beyond.
    """

    cost: float
    spots: tuple[Spot, Spot]


def nearest_point(g: Array, first: Path, second: Path) -> Point | None:
    """The cheapest point, from the values (E, E') of g at all places of both paths; None if g is negative nowhere."""
    if not (g < 0.0).any():
        return None
    best = lowest_corner(np.where(g < 0.0, first.costs[:, None] + second.costs, np.inf), first, second)
    i, j = _cells_to_search(g, first, second, best.cost)
    if not len(i):
        return best
    near, far = (first.near[i], second.near[j]), (first.far[i], second.far[j])
    ends = g[near], g[far[0], near[1]], g[near[0], far[1]], g[far]
    base = first.costs[near[0]] + second.costs[near[1]]
    a, b = first.costs[far[0]] - first.costs[near[0]], second.costs[far[1]] - second.costs[near[1]]
    for s, t, goes_on in _zeros(*ends, a, b):
        costs = np.where(np.isnan(s) | np.isnan(t), np.inf, base + a * s + b * t)
        c = int(np.argmin(costs))
        if costs[c] < best.cost:
            spots = Spot(int(i[c]), float(s[c]), goes_on[0]), Spot(int(j[c]), float(t[c]), goes_on[1])
            best = Point(float(costs[c]), spots)
    return best


def nearest_common_point(conditions: Array, first: Path, second: Path) -> Point | None:
    """The cheapest point at which all of J functions are negative; None if none is found.

    conditions : (J, E, E') their values at all places of both paths. One function is searched everywhere. Several are
    searched along the pieces of each path, with the other at one of its places. There each function is linear, so it is
    negative on an interval, and so are all of them.
    """
    if len(conditions) == 1:
        return nearest_point(conditions[0], first, second)
    along_first = _along(conditions, first, second)
    along_second = _along(conditions.transpose(0, 2, 1), second, first)
    turned = None if along_second is None else Point(along_second.cost, along_second.spots[::-1])
    return min((point for point in (along_first, turned) if point is not None), key=lambda p: p.cost, default=None)


def _along(conditions: Array, path: Path, other: Path) -> Point | None:
    """The cheapest such point on the pieces of a path, from values (J, E, E'), with the other path at a place."""
    low, high = (np.full((len(path.near), len(other.costs)), end) for end in (0.0, 1.0))
    for g in conditions:
        start, end = g[path.near], g[path.far]
        crosses = (start < 0.0) != (end < 0.0)
        crossing = start / np.where(crosses, start - end, 1.0)
        low = np.maximum(low, np.where(start < 0.0, 0.0, np.where(crosses, crossing, np.inf)))
        high = np.minimum(high, np.where(end < 0.0, 1.0, np.where(crosses, crossing, -np.inf)))
    near, far = path.costs[path.near][:, None], path.costs[path.far][:, None]
    inside = low < high
    costs = np.where(inside, near + np.where(inside, low, 0.0) * (far - near) + other.costs, np.inf)
    piece, place = (int(at) for at in np.unravel_index(int(np.argmin(costs)), costs.shape))
    if not inside[piece, place]:
        return None
    fraction = float(low[piece, place])
    return Point(float(costs[piece, place]), (Spot(piece, fraction, fraction > 0.0), _spot(other, place)))


def lowest_corner(values: Array, first: Path, second: Path) -> Point:
    """The corner with the smallest of some values (E, E')."""
    e, h = (int(at) for at in np.unravel_index(int(np.argmin(values)), values.shape))
    return Point(float(first.costs[e] + second.costs[h]), (_spot(first, e), _spot(second, h)))


def _spot(path: Path, place: int) -> Spot:
    """A place as the end of a piece."""
    near = np.flatnonzero(path.near == place)
    if len(near):
        return Spot(int(near[0]), 0.0, False)
    return Spot(int(np.flatnonzero(path.far == place)[0]), 1.0, False)


def _cells_to_search(g: Array, first: Path, second: Path, most: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The cells whose nearest corner costs less than `most`, and in which g changes sign."""
    i = np.flatnonzero(first.costs[first.near] < most)
    j = np.flatnonzero(second.costs[second.near] < most)
    near, far = (first.near[i], second.near[j]), (first.far[i], second.far[j])
    cheap = first.costs[near[0]][:, None] + second.costs[near[1]] < most
    below = np.zeros(cheap.shape, bool)
    for rows in (near[0], far[0]):
        for columns in (near[1], far[1]):
            below |= g[np.ix_(rows, columns)] < 0.0
    at = np.nonzero(cheap & below)
    return i[at[0]], j[at[1]]


def _zeros(
    g00: Array, g10: Array, g01: Array, g11: Array, a: Array, b: Array
) -> list[tuple[Array, Array, tuple[bool, bool]]]:
    """Points s, t of cells where g may be zero at the least cost, NaN if there is none, and which of them go on."""
    zero, one = np.zeros_like(g00), np.ones_like(g00)
    return [
        (_crossing(g00, g10), zero, (True, False)),
        (zero, _crossing(g00, g01), (False, True)),
        (_crossing(g01, g11), one, (True, False)),
        (one, _crossing(g10, g11), (False, True)),
        (*_inside(g00, g10, g01, g11, a, b), (True, True)),
    ]


def _crossing(start: Array, end: Array) -> Array:
    """Where a line crosses zero from above between 0 and 1; NaN if it does not."""
    falls = (start >= 0.0) & (end < 0.0)
    return np.where(falls, start / np.where(falls, start - end, 1.0), np.nan)


def _inside(g00: Array, g10: Array, g01: Array, g11: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """The point inside each cell where the gradient is opposite to that of the cost; NaN if there is none."""
    largest = np.maximum.reduce([np.abs(g) for g in (g00, g10, g01, g11)])
    unit = np.where(largest > 0.0, np.exp2(np.frexp(largest)[1]), 1.0)  # the point has none, and products are floats
    g00, g10, g01, g11 = g00 / unit, g10 / unit, g01 / unit, g11 / unit
    beta, gamma, delta = g10 - g00, g01 - g00, g11 - g10 - g01 + g00
    D = beta * gamma - g00 * delta
    there = (D > 0.0) & (a > 0.0) & (b > 0.0) & (delta != 0.0)
    D, a, b, delta = (np.where(there, x, 1.0) for x in (D, a, b, delta))
    s, t = (-np.sqrt(D * b / a) - gamma) / delta, (-np.sqrt(D * a / b) - beta) / delta
    there &= (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    size = np.abs(g00) + np.abs(beta) + np.abs(gamma) + np.abs(delta)
    there &= np.abs(g00 + beta * s + gamma * t + delta * s * t) < _ROUNDING * size  # fails if delta is tiny
    return np.where(there, s, np.nan), np.where(there, t, np.nan)
