"""Lloyd-Max quantisation: the optimal levels of one continuous predictor.

Dynamic programming over the sorted values solves the weighted one-dimensional k-means problem exactly (Bellman 1973;
Wang and Song 2011). The start of the last cell moves monotonically with the length of the prefix, so divide and
conquer fills each layer in O(n log n).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.compiled import kernel

Array = NDArray[np.float64]

_SKETCH_POINTS_PER_LEVEL = 16
_FEWEST_SKETCH_POINTS, _MOST_SKETCH_POINTS = 2048, 4096


def lloyd_max_levels(values: Array, weights: Array | None, levels: int) -> Array:
    """Sorted levels that minimise the weighted squared distance of the values to their nearest level.

    If a column has no more distinct values than levels, they are its levels. A long column is first reduced to a
    sketch of weighted means over runs of neighbouring values, 16 runs per level (fewer beyond 256 levels); the result
    is then optimal for the sketch.

    Parameters
    ----------
    values : (M,) finite numbers
    weights : (M,) positive weights, or None for equal ones
    levels : the largest number of levels
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
    """The distinct values, sorted, and the mass of each. weights : None for equal weights."""
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
    """Points divided by a power of two to at most one, which is exact, and its exponent. Avoids overflow of squares."""
    exponent = int(np.frexp(np.abs(points).max())[1])
    return np.ldexp(points, -exponent), exponent


def reduced(points: Array, mass: Array, size: int) -> tuple[Array, Array]:
    """Means and masses of at most `size` runs, as dense as the cells of an optimal quantiser.

    That density is the cube root of the density of the mass (Panter and Dite 1951). Runs of equal mass would be too
    coarse in the tails.
    """
    between = mass[:1] if np.ptp(mass) == 0.0 else 0.5 * (mass[1:] + mass[:-1])  # cube roots are slow: take one
    steps = np.cbrt(between) * np.cbrt(np.diff(points)) ** 2
    position = np.cumsum(np.minimum(steps / _step_limit(steps, size - 1), 1.0))
    run = np.floor(np.append(0.0, position))
    return _means(points, mass, np.flatnonzero(np.diff(run, prepend=-1.0)))


def _step_limit(steps: Array, size: int) -> float:
    """The c with sum(min(steps, c)) = size c, so that a wide gap uses at most one of `size` runs."""
    split = np.partition(steps, -size)
    largest = np.sort(split[-size:])
    without = (split[:-size].sum() + np.cumsum(largest))[::-1]  # the sum without the 0, 1, 2, ... largest
    limits = without / np.arange(size, 0, -1)
    return float(limits[np.argmax(largest[::-1] <= limits)])


def _means(points: Array, mass: Array, starts: NDArray[np.intp]) -> tuple[Array, Array]:
    """Weighted mean and mass of each run of points, relative to its first point to avoid cancellation."""
    first = points[starts]
    total = np.add.reduceat(mass, starts)
    offsets = points - np.repeat(first, np.diff(np.append(starts, len(points))))
    return first + np.add.reduceat(mass * offsets, starts) / total, total


def _optimal_means(points: Array, mass: Array, levels: int) -> Array:
    median = int(np.searchsorted(np.cumsum(mass), 0.5 * mass.sum()))
    shifted = points - points[median]
    sums = np.array([_sums_around(median, terms) for terms in (mass, mass * shifted, mass * shifted**2)])
    return _means(points, mass, _optimal_cells(sums, levels)[:-1])[0]


def _sums_around(middle: int, terms: Array) -> Array:
    """Sums up to each point, zero at the middle: outliers on either side do not cost the bulk any precision."""
    return np.concatenate([-np.cumsum(terms[:middle][::-1])[::-1], [0.0], np.cumsum(terms[middle:])])


def _optimal_cells(sums: Array, levels: int) -> NDArray[np.intp]:
    """Edges (levels + 1,) of the cells with the smallest total squared deviation.

    sums : (3, n + 1) of mass, mass x and mass x^2 over the points before each edge.
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
    """Smallest cost `following[j]` of the first j points in k cells, given `cost` of k - 1; the last from `starts[j]`.

    The start of the last cell never decreases with j, so solving the middle j halves the choices on either side.
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
            of_cell = sums[2, j] - sums[2, i] - s * s / w if w > 0.0 else 0.0  # a mass may round to zero
            candidate = cost[i] + of_cell if of_cell > 0.0 else cost[i]
            if candidate < best:
                best, at = candidate, i
        following[j], starts[j] = best, at
        if lo < j:
            pending[depth, 0], pending[depth, 1], pending[depth, 2], pending[depth, 3] = lo, j - 1, first, at
            depth += 1
        if j < hi:
            pending[depth, 0], pending[depth, 1], pending[depth, 2], pending[depth, 3] = j + 1, hi, at, final
            depth += 1
