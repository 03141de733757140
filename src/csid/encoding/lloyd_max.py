"""Lloyd-Max quantisation: the optimal levels of one continuous predictor.

The optimum of the one-dimensional, weighted k-means problem is found exactly, by dynamic programming over the sorted
values (Bellman 1973; Wang and Song 2011). The best last cell of a prefix moves monotonically with the prefix, so each
layer is filled by divide and conquer in O(n log n).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.compiled import kernel

Array = NDArray[np.float64]

_SKETCH_POINTS_PER_LEVEL = 16
_FEWEST_SKETCH_POINTS, _MOST_SKETCH_POINTS = 2048, 4096


def lloyd_max_levels(values: Array, weights: Array | None, levels: int) -> Array:
    """Sorted levels that minimise the weighted squared distance of the values to their nearest level.

    A column with no more distinct values than levels keeps each of them. A long column is first reduced to a sketch of
    weighted means over runs of neighbouring values, 16 runs a level (fewer beyond 256 levels), and the optimum is that
    of the sketch.

    Parameters
    ----------
    values : (M,) finite numbers; weights : (M,) positive, or None for all alike; levels : most levels wanted.
    """
    points, mass = distinct(values, weights)
    if len(points) <= levels:
        return points
    points, exponent = scaled(points)
    size = max(_FEWEST_SKETCH_POINTS, min(_SKETCH_POINTS_PER_LEVEL * levels, _MOST_SKETCH_POINTS), levels)
    if len(points) > size:
        points, mass = reduced(points, mass, size)
    if len(points) > levels:
        points = _optimal_means(points, mass, levels)
    return np.ldexp(points, exponent)


def distinct(values: Array, weights: Array | None) -> tuple[Array, Array]:
    """The different values, sorted, and the mass of each; weights : None for all alike."""
    if weights is None:
        ordered = np.sort(values)
        differs = ordered[1:] != ordered[:-1]
        if differs.all():
            return ordered, np.ones(len(ordered))
        starts = np.flatnonzero(np.concatenate([[True], differs]))
        return ordered[starts], np.diff(np.append(starts, len(ordered))).astype(np.float64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(weights[order], starts)


def scaled(points: Array) -> tuple[Array, int]:
    """Points brought to at most one by a power of two, exactly, and its exponent: squares of large values overflow."""
    exponent = int(np.frexp(np.abs(points).max())[1])
    return np.ldexp(points, -exponent), exponent


def reduced(points: Array, mass: Array, size: int) -> tuple[Array, Array]:
    """Means and masses of at most `size` runs, as dense as the cells of an optimal quantiser.

    That is as the cube root of the density of the mass (Panter and Dite 1951). Runs of equal mass would blur the tails,
    where levels are far apart and rows few.
    """
    between = mass[:1] if np.ptp(mass) == 0.0 else 0.5 * (mass[1:] + mass[:-1])  # a cube root takes long
    steps = np.cbrt(between) * np.cbrt(np.diff(points)) ** 2
    place = np.cumsum(np.minimum(steps / _largest_share(steps, size - 1), 1.0))
    run = np.floor(np.append(0.0, place))
    return _means(points, mass, np.flatnonzero(np.diff(run, prepend=-1.0)))


def _largest_share(parts: Array, size: int) -> float:
    """The c with sum(min(parts, c)) = size c, so that one wide gap takes no more than one of `size` equal shares."""
    split = np.partition(parts, -size)
    largest = np.sort(split[-size:])
    without = (split[:-size].sum() + np.cumsum(largest))[::-1]  # the sum without the 0, 1, 2, ... largest
    shares = without / np.arange(size, 0, -1)
    return float(shares[np.argmax(largest[::-1] <= shares)])


def _means(points: Array, mass: Array, starts: NDArray[np.intp]) -> tuple[Array, Array]:
    """Weighted mean and mass of each run of points; taken about its first point, so that no other run costs digits."""
    first = points[starts]
    total = np.add.reduceat(mass, starts)
    beyond = points - np.repeat(first, np.diff(np.append(starts, len(points))))
    return first + np.add.reduceat(mass * beyond, starts) / total, total


def _optimal_means(points: Array, mass: Array, levels: int) -> Array:
    median = int(np.searchsorted(np.cumsum(mass), 0.5 * mass.sum()))
    shifted = points - points[median]
    sums = np.array([_sums_around(median, terms) for terms in (mass, mass * shifted, mass * shifted**2)])
    return _means(points, mass, _optimal_cells(sums, levels)[:-1])[0]


def _sums_around(middle: int, terms: Array) -> Array:
    """Sums up to each point, zero at the middle: what lies far out, to either side, costs the bulk no digits."""
    return np.concatenate([-np.cumsum(terms[:middle][::-1])[::-1], [0.0], np.cumsum(terms[middle:])])


def _optimal_cells(sums: Array, levels: int) -> NDArray[np.intp]:
    """Edges (levels + 1,) of the cells with the least total spread.

    sums : (3, n + 1), those of mass, mass x and mass x^2 over the points before each edge.
    """
    n = sums.shape[1] - 1
    w, s, q = sums[:, 1:] - sums[:, :1]
    cost = np.concatenate([[np.inf], np.maximum(0.0, q - s * s / np.where(w > 0.0, w, np.inf))])
    starts = np.zeros((levels + 1, n + 1), np.int32)  # [k, j]: where the k-th cell of the best split of j points begins
    pending = np.empty((64 + n, 4), np.intp)
    for k in range(2, levels + 1):
        following = np.full(n + 1, np.inf)
        _add_a_cell(sums, cost, k, pending, following, starts[k])
        cost = following
    edges = np.empty(levels + 1, np.intp)
    edges[levels], edges[0] = n, 0
    for k in range(levels, 1, -1):
        edges[k - 1] = starts[k, edges[k]]
    return edges


@kernel
def _add_a_cell(sums: Any, cost: Any, k: int, pending: Any, following: Any, starts: Any) -> None:
    """Least spread `following[j]` of the first j points in k cells, the last from `starts[j]`, given that of k - 1.

    Where the last cell begins never falls as j grows, so the middle j halves the choices of those on either side.
    """
    n = len(cost) - 1
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = k, n, k - 1, n - 1
    depth = 1
    while depth > 0:
        depth -= 1
        lo, hi, first, final = pending[depth, 0], pending[depth, 1], pending[depth, 2], pending[depth, 3]
        j = (lo + hi) // 2
        best, at = np.inf, first
        for i in range(first, final + 1 if final < j else j):
            w = sums[0, j] - sums[0, i]
            s = sums[1, j] - sums[1, i]
            spread = sums[2, j] - sums[2, i] - s * s / w if w > 0.0 else 0.0  # a mass may vanish beside the others
            candidate = cost[i] + spread if spread > 0.0 else cost[i]
            if candidate < best:
                best, at = candidate, i
        following[j], starts[j] = best, at
        if lo < j:
            pending[depth, 0], pending[depth, 1], pending[depth, 2], pending[depth, 3] = lo, j - 1, first, at
            depth += 1
        if j < hi:
            pending[depth, 0], pending[depth, 1], pending[depth, 2], pending[depth, 3] = j + 1, hi, at, final
            depth += 1
