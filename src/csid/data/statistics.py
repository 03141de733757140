"""Sums over rows, in threads: the normal equations of a mode, residual sums, partial products.

Rows are cut into parts that depend only on the problem, and partial sums are added in the order of the parts. So
results are the same to the bit for any number of threads.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels import row_loops
from csid._kernels.arguments import RowArrays
from csid._kernels.threads import EASY_PARTS, FEWEST_ROWS_IN_PART, Workers
from csid.data.problem import Problem
from csid.tensor.evaluation import model_values, multiply, row_product
from csid.tensor.factors import Factors, cache_aligned

Array = NDArray[np.float64]

LevelSums = tuple[Array, Array, Array]

_PARTIAL_PRODUCT_BYTES = 64 << 20

_PARTIAL_PRODUCT_FRACTION = 1.5  # of the bytes of the encoded samples

_MOST_PARTIAL_PRODUCT_BYTES = 2 << 30  # the same on any machine, because it changes the rounding of sums

_MODES_MULTIPLIED_DIRECTLY = 6

_MOST_SPLITS = 2


def partial_products(
    problem: Problem, factors: Factors, workers: Workers
) -> Iterator[tuple[int, Array, NDArray[np.intp]]]:
    """Visit the modes in order. Yields each mode k, a product `outside`, and the modes still to be multiplied with it.

    Many modes are split into groups, and these again. The product over all modes outside a group is computed once, when
    the group is entered, from the current factors. That is exact as long as only the visited mode changes. Each level
    of splitting stores one array of products, within a memory budget.
    """
    everyone = np.arange(problem.n_modes, dtype=np.intp)
    roots = starts(problem, factors)
    if problem.n_modes <= _MODES_MULTIPLIED_DIRECTLY:
        for k in range(problem.n_modes):
            yield k, roots, np.concatenate([everyone[:k], everyone[k + 1 :]])
        return
    S = factors.table.shape[1]
    bytes_each = factors.table.itemsize * S * problem.n_rows
    budget = max(_PARTIAL_PRODUCT_BYTES, _PARTIAL_PRODUCT_FRACTION * problem.data_bytes)
    allowed = min(budget, _MOST_PARTIAL_PRODUCT_BYTES) // bytes_each
    depth = int(min(allowed, np.ceil(np.log2(problem.n_modes / _MODES_MULTIPLIED_DIRECTLY)), _MOST_SPLITS))
    arrays = [cache_aligned((problem.n_rows, S), factors.table.dtype) for _ in range(depth)]
    branches = int(np.ceil((problem.n_modes / _MODES_MULTIPLIED_DIRECTLY) ** (1.0 / depth))) if depth > 0 else 1

    def visit(
        group: NDArray[np.intp], outside: Array, arrays: list[Array]
    ) -> Iterator[tuple[int, Array, NDArray[np.intp]]]:
        if not arrays or len(group) <= _MODES_MULTIPLIED_DIRECTLY:
            for k in group.tolist():
                yield k, outside, group[group != k]
            return
        for part in np.array_split(group, branches):
            others = group[(group < part[0]) | (group > part[-1])]
            multiply(problem.cells, factors, outside, others, arrays[0], workers)
            yield from visit(part, arrays[0], arrays[1:])

    yield from visit(everyone, roots, arrays)


def starts(problem: Problem, factors: Factors) -> NDArray[Any]:
    """The first factor of row products: square roots of the weights (M, 1), in the precision of the factors.

    (0, 1) when all weights are one.
    """
    if problem.unweighted:
        return np.empty((0, 1), factors.table.dtype)
    return problem.roots[:, None].astype(factors.table.dtype, copy=False)


def row_arrays(problem: Problem, bias: Array) -> RowArrays:
    """The rows as arguments of the kernels, which subtract a bias (K,) from the targets."""
    return RowArrays(problem.cells.arrays, problem.roots, problem.targets, bias)


def level_sums(
    problem: Problem, factors: Factors, k: int, outside: Array, modes: NDArray[np.intp], workers: Workers
) -> LevelSums:
    """The sums D, O, R of `row_loops.accumulate` over all rows: the data in the normal equations of mode k."""
    S = factors.table.shape[1]
    levels = int(problem.levels[k]) + 1 if k >= 0 else 1
    shape_O = (levels if len(problem.cells.fractions) and k >= 0 else 0, S, S)
    rows, product = row_arrays(problem, factors.bias), row_product(factors, outside, modes)

    def accumulate(part: tuple[int, int]) -> LevelSums:
        sums = np.zeros((levels, S, S)), np.zeros(shape_O), np.zeros((levels, problem.n_outputs, S))
        row_loops.accumulate(rows, product, k, factors.rank, part, sums)
        return sums

    block_bytes = 8 * (levels + shape_O[0]) * S * S
    return _added(workers.map(accumulate, workers.parts(problem.n_rows, block_bytes)), workers)


def _added(parts: Sequence[LevelSums], workers: Workers) -> LevelSums:
    """Add the sums of all parts into the first, in order. Threads add different levels."""
    sums, *others = parts
    levels = len(sums[0])

    def add(run: tuple[int, int]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # per thread; the caller checks the result
            for other in others:
                for total, partial in zip(sums, other, strict=True):
                    total[slice(*run)] += partial[slice(*run)]

    if others:
        count = min(levels, EASY_PARTS)
        workers.map(add, list(pairwise(run * levels // count for run in range(count + 1))))
    return sums


def output_sums(problem: Problem, factors: Factors, workers: Workers) -> tuple[Array, Array]:
    """Sums over rows for the output mode: the Gram matrix (S, S) shared by all outputs, and right-hand sides (K, S)."""
    modes = np.arange(problem.n_modes, dtype=np.intp)
    D, _, R = level_sums(problem, factors, -1, starts(problem, factors), modes, workers)
    upper = np.triu(D[0])
    return upper + np.triu(upper, 1).T, R[0]


def residual_sums(problem: Problem, factors: Factors, workers: Workers) -> tuple[Array, Array]:
    """Weighted sums over rows of the residuals and of their squares, (K,) each."""

    def sums(part: tuple[int, int]) -> Array:
        both = np.zeros((2, problem.n_outputs))
        for start in range(part[0], part[1], FEWEST_ROWS_IN_PART):
            stop = min(start + FEWEST_ROWS_IN_PART, part[1])
            values = model_values(problem.cells, factors, start, stop)
            row_loops.add_residuals(values, problem.targets[start:stop], problem.weights[start:stop], both)
        return both

    parts = workers.map(sums, workers.parts(problem.n_rows))
    first, second = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return first, second


def noise_sums(problem: Problem, factors: Factors, workers: Workers) -> tuple[Array, float]:
    """Weighted sums of squared residuals (K,) that are due to noise, and the number of observations they stand for."""
    if problem.gap_weights is not None:
        problem = problem.with_weights(problem.weights * problem.gap_weights)
    _, squares = residual_sums(problem, factors, workers)
    return squares + problem.within, problem.n_observations
