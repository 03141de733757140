"""Lloyd-Max quantisation: the optimal levels of one continuous predictor.

The optimum of the one-dimensional, weighted k-means problem is found exactly, by dynamic programming over the sorted
values (Bellman 1973; Wang and Song 2011). The best last cell of a prefix moves monotonically with the prefix, so each
layer is filled by divide and conquer in O(n log n).
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SKETCH_POINTS = 2048
_SKETCH_POINTS_PER_LEVEL = 16


def lloyd_max_levels(values: Array, weights: Array | None, levels: int) -> Array:
    """Sorted levels that minimise the weighted squared distance of the values to their nearest level.

    A column with no more distinct values than levels keeps each of them. A long column is first reduced to a sketch of
    weighted means over runs of equal weight, at least 16 runs a level, and the optimum is that of the sketch.

    Parameters
    ----------
    values : (M,) finite numbers; weights : (M,) positive, or None for all alike; levels : most levels wanted.
    """
    points, mass = _distinct(values, weights)
    if len(points) <= levels:
        return points
    size = max(_SKETCH_POINTS, _SKETCH_POINTS_PER_LEVEL * levels)
    if len(points) > size:
        points, mass = _sketch(points, mass, size)
    return _optimal_means(points, mass, levels)


def _distinct(values: Array, weights: Array | None) -> tuple[Array, Array]:
    if weights is None:
        ordered = np.sort(values)
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return ordered[starts], np.diff(np.append(starts, len(ordered))).astype(np.float64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(weights[order], starts)


def _sketch(points: Array, mass: Array, size: int) -> tuple[Array, Array]:
    middle = np.cumsum(mass) - 0.5 * mass
    run = np.minimum((middle / mass.sum() * size).astype(np.intp), size - 1)
    total = np.bincount(run, weights=mass, minlength=size)
    centre = points[0]
    mean = np.bincount(run, weights=mass * (points - centre), minlength=size)[total > 0] / total[total > 0] + centre
    return mean, total[total > 0]


def _optimal_means(points: Array, mass: Array, levels: int) -> Array:
    centre = float(np.average(points, weights=mass))
    shifted = points - centre  # sums of squares lose fewer digits around the mean
    sums = np.zeros((3, len(points) + 1))
    np.cumsum(mass, out=sums[0, 1:])
    np.cumsum(mass * shifted, out=sums[1, 1:])
    np.cumsum(mass * shifted**2, out=sums[2, 1:])
    edges = _optimal_cells(sums, levels)
    return centre + np.diff(sums[1, edges]) / np.diff(sums[0, edges])


@njit(nogil=True, cache=True)
def _spread(sums: Any, i: int, j: int) -> float:
    """Weighted sum of squares of points i..j-1 about their mean."""
    w = sums[0, j] - sums[0, i]
    s = sums[1, j] - sums[1, i]
    return max(0.0, sums[2, j] - sums[2, i] - s * s / w)


@njit(nogil=True, cache=True)
def _optimal_cells(sums: Any, levels: int) -> Any:
    """Edges (levels + 1,) of the cells with the least total spread."""
    n = sums.shape[1] - 1
    cost = np.empty(n + 1)
    following = np.empty(n + 1)
    last = np.zeros((levels + 1, n + 1), np.int32)  # last[k, j]: where the k-th cell of the best split of j points begins
    cost[0] = np.inf
    for j in range(1, n + 1):
        cost[j] = _spread(sums, 0, j)
    stack = np.empty((64 + n, 4), np.int64)
    for k in range(2, levels + 1):
        following[:] = np.inf
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = k, n, k - 1, n - 1
        depth = 1
        while depth > 0:
            depth -= 1
            lo, hi, first, final = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            j = (lo + hi) // 2
            best, at = np.inf, first
            for i in range(first, min(final, j - 1) + 1):
                candidate = cost[i] + _spread(sums, i, j)
                if candidate < best:
                    best, at = candidate, i
            following[j], last[k, j] = best, at
            if lo < j:
                stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = lo, j - 1, first, at
                depth += 1
            if j < hi:
                stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = j + 1, hi, at, final
                depth += 1
        cost, following = following, cost
    edges = np.empty(levels + 1, np.intp)
    edges[levels] = n
    for k in range(levels, 0, -1):
        edges[k - 1] = last[k, edges[k]] if k > 1 else 0
    return edges
