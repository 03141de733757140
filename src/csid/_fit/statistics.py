"""Sums over rows, in threads: the normal equations of a mode, residual sums, partial products.

Rows are cut into parts that depend on the problem alone, and partial sums are added in the order of the parts, so the
number of threads never changes a bit of the result.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from csid._fit import kernels
from csid._fit.factors import Factors, whole_lines
from csid._fit.problem import Problem

Array = NDArray[np.float64]
T = TypeVar("T")
LevelSums = tuple[Array, Array, Array]

_ROWS_PER_PART = 131_072
_FEWEST_ROWS_IN_PART, _EASY_PARTS, _MOST_PARTS = 16_384, 8, 64
_PARTIAL_SUM_BYTES = 64 << 20
_PARTIAL_PRODUCT_BYTES = 64 << 20
_PARTIAL_PRODUCT_SHARE = 1.5  # of the encoded samples
_MOST_PARTIAL_PRODUCT_BYTES = 2 << 30  # the same on any machine, as sums must be
_MODES_MULTIPLIED_ANEW = 6
_MOST_SPLITS = 2


class Workers:
    """A pool of threads, or none for a single one."""

    def __init__(self, n_threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def parts(self, rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
        """Runs of rows that are summed over apart, and may be at the same time."""
        return row_parts(rows, bytes_per_part)

    def map(self, task: Callable[[tuple[int, int]], T], parts: Sequence[tuple[int, int]]) -> list[T]:
        """Results of `task` on every part, in the order of the parts."""
        if self._pool is None or len(parts) == 1:
            return [task(part) for part in parts]
        return list(self._pool.map(task, parts))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class InOnePart(Workers):
    """For rows that are a part already: one run of them, without threads.

    Sums of each run have memory of their own. Where that is given back to the system at once, as Dask's workers are
    told to, fresh memory for every run would take as long as the sums.
    """

    def parts(self, rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
        return [(0, rows)]


def row_parts(rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
    """Equal runs of rows, enough of them for a few threads, and as many for each; fewer where their sums are large."""
    wanted = max(min(rows // _FEWEST_ROWS_IN_PART, _EASY_PARTS), _EASY_PARTS * (rows // (_EASY_PARTS * _ROWS_PER_PART)))
    count = max(1, min(_MOST_PARTS, wanted, _PARTIAL_SUM_BYTES // max(1, bytes_per_part)))
    edges = [part * rows // count for part in range(count + 1)]
    return list(pairwise(edges))


def partial_products(
    problem: Problem, factors: Factors, workers: Workers
) -> Iterator[tuple[int, Array, NDArray[np.intp]]]:
    """Visit the modes in order, giving for each the product `outside` and the modes still to be multiplied with it.

    Many predictors are split into groups, and those again: the product over all that lies outside a group is formed
    once when it is entered, with the factors as they are then. That is exact as long as only the visited mode changes.
    Each level of splitting keeps one array of products, as far as memory is given to them.
    """
    everyone = np.arange(problem.n_modes, dtype=np.intp)
    roots = starts(problem, factors)
    if problem.n_modes <= _MODES_MULTIPLIED_ANEW:
        for k in range(problem.n_modes):
            yield k, roots, np.concatenate([everyone[:k], everyone[k + 1 :]])
        return
    S = factors.table.shape[1]
    bytes_each = factors.table.itemsize * S * problem.n_rows
    budget = max(_PARTIAL_PRODUCT_BYTES, _PARTIAL_PRODUCT_SHARE * problem.data_bytes)
    allowed = min(budget, _MOST_PARTIAL_PRODUCT_BYTES) // bytes_each
    depth = int(min(allowed, np.ceil(np.log2(problem.n_modes / _MODES_MULTIPLIED_ANEW)), _MOST_SPLITS))
    arrays = [whole_lines((problem.n_rows, S), factors.table.dtype) for _ in range(depth)]
    branches = int(np.ceil((problem.n_modes / _MODES_MULTIPLIED_ANEW) ** (1.0 / depth))) if depth > 0 else 1

    def visit(
        group: NDArray[np.intp], outside: Array, arrays: list[Array]
    ) -> Iterator[tuple[int, Array, NDArray[np.intp]]]:
        if not arrays or len(group) <= _MODES_MULTIPLIED_ANEW:
            for k in group.tolist():
                yield k, outside, group[group != k]
            return
        for part in np.array_split(group, branches):
            multiply(problem, factors, outside, np.setdiff1d(group, part), arrays[0], workers)
            yield from visit(part, arrays[0], arrays[1:])

    yield from visit(everyone, roots, arrays)


def starts(problem: Problem, factors: Factors) -> NDArray[Any]:
    """What products of a row start from: the root of its weight, in the precision of the factors."""
    if problem.unweighted:
        return np.empty((0, 1), factors.table.dtype)
    return problem.roots[:, None].astype(factors.table.dtype, copy=False)


def multiply(
    problem: Problem, factors: Factors, outside: Array, modes: NDArray[np.intp], products: Array, workers: Workers
) -> None:
    """products (M, S) = outside * the factor rows of some modes."""

    def fill(part: tuple[int, int]) -> None:
        kernels.multiply(
            *problem.cells,
            outside,
            factors.table,
            factors.offsets[modes],
            modes,
            *part,
            products,
        )

    workers.map(fill, workers.parts(problem.n_rows))


def level_sums(
    problem: Problem, factors: Factors, k: int, outside: Array, modes: NDArray[np.intp], workers: Workers
) -> LevelSums:
    """The sums D, O, R of `kernels.accumulate` over all rows: what the normal equations of mode k need of the data."""
    S = factors.table.shape[1]
    levels = int(problem.levels[k]) + 1 if k >= 0 else 1
    shape_O = (levels if len(problem.fractions) and k >= 0 else 0, S, S)

    def accumulate(part: tuple[int, int]) -> LevelSums:
        D, O, R = np.zeros((levels, S, S)), np.zeros(shape_O), np.zeros((levels, problem.n_outputs, S))
        kernels.accumulate(
            *problem.cells,
            problem.roots,
            problem.targets,
            factors.bias,
            outside,
            factors.table,
            factors.offsets[modes],
            modes,
            k,
            factors.rank,
            *part,
            D,
            O,
            R,
        )
        return D, O, R

    block_bytes = 8 * (levels + shape_O[0]) * S * S
    return _added(workers.map(accumulate, workers.parts(problem.n_rows, block_bytes)), workers)


def _added(parts: Sequence[LevelSums], workers: Workers) -> LevelSums:
    """The sums of all parts, in their order, in place of the first; some levels at a time, in threads."""
    sums, *others = parts
    levels = len(sums[0])

    def add(run: tuple[int, int]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # in the thread that runs it; the caller looks at the result
            for other in others:
                for total, partial in zip(sums, other, strict=True):
                    total[slice(*run)] += partial[slice(*run)]

    if others:
        count = min(levels, _EASY_PARTS)
        workers.map(add, list(pairwise(run * levels // count for run in range(count + 1))))
    return sums


def output_sums(problem: Problem, factors: Factors, workers: Workers) -> tuple[Array, Array]:
    """Sums over rows for the output mode: Gram matrix (S, S) shared by all outputs, right-hand sides (K, S)."""
    modes = np.arange(problem.n_modes, dtype=np.intp)
    D, _, R = level_sums(problem, factors, -1, starts(problem, factors), modes, workers)
    upper = np.triu(D[0])
    return upper + np.triu(upper, 1).T, R[0]


def model_values(problem: Problem, factors: Factors, start: int = 0, stop: int | None = None) -> Array:
    """The model's values (rows, K) at some rows, by default all."""
    stop = problem.n_rows if stop is None else stop
    modes = np.arange(problem.n_modes, dtype=np.intp)
    values = np.empty((stop - start, problem.n_outputs))
    V = factors.V.astype(factors.table.dtype, copy=False)
    kernels.evaluate(*problem.cells, factors.table, factors.offsets, modes, V, factors.bias, start, stop, values)
    return values


def values_of_rows(problem: Problem, factors: Factors, workers: Workers) -> Array:
    """The model's values (M, K) at all rows, in threads."""
    parts = workers.map(lambda part: model_values(problem, factors, *part), row_parts(problem.n_rows))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def residual_sums(problem: Problem, factors: Factors, workers: Workers) -> tuple[Array, Array]:
    """Weighted sums over rows of the residuals and of their squares, one of each per output."""

    def sums(part: tuple[int, int]) -> Array:
        both = np.zeros((2, problem.n_outputs))
        for start in range(part[0], part[1], _FEWEST_ROWS_IN_PART):
            stop = min(start + _FEWEST_ROWS_IN_PART, part[1])
            values = model_values(problem, factors, start, stop)
            kernels.add_residuals(values, problem.targets[start:stop], problem.weights[start:stop], both)
        return both

    parts = workers.map(sums, workers.parts(problem.n_rows))
    first, second = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return first, second
