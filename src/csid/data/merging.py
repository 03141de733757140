"""Merge rows on the same cell into one with their summed weight and mean target, and sort rows by their cells."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows
from csid.data.problem import Problem

Array = NDArray[np.float64]


def _hash_rows(columns: list[NDArray[Any]]) -> NDArray[np.uint64]:
    """A hash of each row."""
    hashes = np.full(len(columns[0]), 14695981039346656037, np.uint64)
    for column in columns:
        hashes ^= column
        hashes *= np.uint64(1099511628211)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _same_as_first(columns: list[NDArray[Any]], order: NDArray[np.intp], starts: NDArray[np.intp]) -> bool:
    """Whether every row equals the first of its group. Groups are the slices of `order` between neighbouring starts."""
    first = np.repeat(order[starts[:-1]], np.diff(starts))
    return all(np.array_equal(column[order], column[first]) for column in columns)


def _columns_of_cells(problem: Problem) -> list[NDArray[Any]]:
    """Columns of integers that are equal in two rows exactly when the rows are on the same cell."""
    columns: list[NDArray[Any]] = list(problem.cells.codes.T)
    if len(problem.cells.fractions):
        positions = problem.cells.fractions.T
        columns += list(positions.view(np.uint32) if positions.dtype == np.float32 else positions)
    return columns


def sort_by_cell(problem: Problem) -> Problem:
    """The same rows in an order that depends only on their cells, so that sums over them round the same.

    Rows on the same cell keep their order. Rows in a code file are not sorted.
    """
    if problem.cells.mapped:
        return problem
    order = np.argsort(_hash_rows(_columns_of_cells(problem)), kind="stable")
    return replace(problem.take(order), within=problem.within)


def merge_repeated_cells(problem: Problem) -> Problem:
    """Merge rows on the same cell into one with their summed weight and mean target: Eq. (5) to Eq. (6).

    The objective is unchanged: the sum of squares within cells is kept in `within`. Rows in a code file are not merged.
    """
    if problem.cells.mapped:
        return problem
    columns = _columns_of_cells(problem)
    hashes = _hash_rows(columns)
    ordered = np.sort(hashes)
    if (ordered[1:] != ordered[:-1]).all():
        return problem
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    if not _same_as_first(columns, order, starts):
        return problem
    by_first_row = np.argsort(order[starts[:-1]])
    weights = np.add.reduceat(problem.weights[order], starts[:-1])
    weighted = problem.weights[order, None] * problem.targets[order]
    targets = np.add.reduceat(weighted, starts[:-1], axis=0) / weights[:, None]
    deviations = problem.targets[order] - np.repeat(targets, np.diff(starts), axis=0)
    squares = sums_over_rows(problem.weights[order], deviations**2)
    merged = problem.take(order[starts[:-1]][by_first_row])
    return replace(
        merged,
        weights=weights[by_first_row],
        targets=targets[by_first_row],
        within=problem.within + squares,
    )
