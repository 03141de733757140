"""The second pass, which leaves an encoded block of rows for each partition, and what workers sum over a block.

These functions run on workers: they change nothing that they are handed, and what they give back is small.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._fit.factors import Factors
from csid._fit.problem import Problem, merge_repeated_cells
from csid._fit.statistics import InOnePart, LevelSums, level_sums, multiply, output_sums, residual_sums
from csid.dask.partitions import Rows
from csid.dask.survey import training_rows
from csid.encoding import LevelCounts, Mode
from csid.encoding.encoding import code_type, encode_columns

Array = NDArray[np.float64]


class Frame(NamedTuple):
    """How rows become blocks: levels, and the centre and scale (K,) of the targets."""

    modes: tuple[Mode, ...]
    centre: Array
    scale: Array


class Block(NamedTuple):
    """Rows that are trained on, repeated cells merged, and rows that are held out."""

    train: Problem
    held_out: Problem


def encoded(rows: Rows, frame: Frame, held_out: NDArray[np.intp]) -> tuple[Problem, Problem]:
    """The rows of a partition to train on and to hold out: codes of a byte or two, positions of two."""
    M, modes = len(rows.targets), frame.modes
    codes: NDArray[Any] = np.empty((M, len(modes)), code_type(modes), order="F")
    positions = np.zeros((M if any(mode.linear for mode in modes) else 0, len(modes)), np.uint16, order="F")
    encode_columns(modes, rows.X, codes, positions)
    whole = Problem(
        codes,
        positions,
        rows.masses,
        (rows.targets - frame.centre) / frame.scale,
        np.array([mode.n_levels for mode in modes], np.intp),
        np.array([mode.n_ordered for mode in modes], np.intp),
        (),  # marginals are those of all rows, which a block does not know
        np.zeros(len(frame.centre)),
    )
    train, others = training_rows(rows, held_out)
    return whole if len(train) == M else whole.take(train), whole.take(others)


def joined(parts: Sequence[tuple[Problem, Problem]]) -> Block:
    """One block of neighbouring partitions."""
    train, held_out = (_concatenated(problems) for problems in zip(*parts, strict=True))
    return Block(merge_repeated_cells(train) if train.n_rows else train, held_out)


def _concatenated(problems: Sequence[Problem]) -> Problem:
    if len(problems) == 1:
        return problems[0]
    return replace(
        problems[0],
        codes=np.concatenate([each.codes for each in problems]),
        fractions=np.concatenate([each.fractions for each in problems]),
        weights=np.concatenate([each.weights for each in problems]),
        targets=np.concatenate([each.targets for each in problems]),
    )


class Content(NamedTuple):
    """What is known of blocks together, beside what the survey says.

    counts : of levels; n_rows : of merged rows; any_missing : (N,); within : (K,); held_out : weight held out.
    """

    counts: LevelCounts
    n_rows: int
    any_missing: NDArray[np.bool_]
    within: Array
    held_out: float


def content(block: Block, modes: Sequence[Mode]) -> Content:
    """What a block holds."""
    rows, counts = block.train, LevelCounts(modes)
    counts.update(rows.codes, rows.fractions, rows.weights)
    return Content(counts, rows.n_rows, rows.any_missing, rows.within, block.held_out.total_weight)


def contents_together(parts: Sequence[Content]) -> Content:
    """What several blocks hold."""
    return Content(
        counts_together([part.counts for part in parts]),
        sum(part.n_rows for part in parts),
        np.any([part.any_missing for part in parts], axis=0),
        np.sum([part.within for part in parts], axis=0),
        sum(part.held_out for part in parts),
    )


def counts_together(parts: Sequence[LevelCounts]) -> LevelCounts:
    """Counts of levels, added up."""
    whole = deepcopy(parts[0])
    for part in parts[1:]:
        whole.merge(part)
    return whole


def products(block: Block, given: tuple[Factors, NDArray[np.intp]]) -> Array:
    """(M, S) products of the factor rows of some modes with the roots of the weights."""
    (factors, modes), rows = given, block.train
    made = np.empty((rows.n_rows, factors.table.shape[1]), factors.table.dtype)
    multiply(rows, factors, _roots(rows, factors), modes, made, InOnePart())
    return made


def summed(
    function: Callable[..., list[Array]], given: tuple[Any, ...], some: Sequence[Block], outside: Sequence[Array]
) -> list[Array]:
    """What a function gives of blocks, added up; `outside` : products that it needs of each block, if any."""
    own = zip(some, outside, strict=True) if outside else zip(some, strict=True)
    return added([function(*given, *of_block) for of_block in own])


def sums_of_mode(
    factors: Factors, k: int, modes: NDArray[np.intp], block: Block, outside: Array | None = None
) -> list[Array]:
    """The sums of mode k as they travel; `outside` : products of the modes that are not among those to multiply."""
    rows = block.train
    if rows.n_rows == 0:
        return []
    outside = _roots(rows, factors) if outside is None else outside
    return packed(level_sums(rows, factors, k, outside, modes, InOnePart()), factors.rank)


def sums_of_outputs(factors: Factors, block: Block) -> list[Array]:
    """Gram matrix and right-hand sides of the output mode."""
    return list(output_sums(block.train, factors, InOnePart())) if block.train.n_rows else []


def sums_of_residuals(factors: Factors, block: Block) -> list[Array]:
    """Sums of residuals and of their squares."""
    return list(residual_sums(block.train, factors, InOnePart())) if block.train.n_rows else []


def sums_held_out(factors: Factors, block: Block) -> list[Array]:
    """The same of the rows that are held out."""
    return list(residual_sums(block.held_out, factors, InOnePart())) if block.held_out.n_rows else []


def added(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Sums of sums; those of no rows are empty."""
    return [np.sum(arrays, axis=0) for arrays in zip(*filter(None, parts), strict=True)]


def packed(sums: LevelSums, rank: int) -> list[Array]:
    """D and O by their upper triangles, (I + 1, F (F + 1) / 2), and R (I + 1, K, F)."""
    D, O, R = sums
    upper = np.triu_indices(rank)
    return [D[:, *upper], O[:, *upper], np.ascontiguousarray(R[:, :, :rank])]


def unpacked(arrays: Sequence[Array], rank: int, S: int) -> LevelSums:
    """The sums as an update reads them."""
    D, O, R = arrays
    upper = np.triu_indices(rank)
    full = [np.zeros((len(blocks), S, S)) for blocks in (D, O)]
    for blocks, triangles in zip(full, (D, O), strict=True):
        blocks[:, *upper] = triangles
    padded = np.zeros((*R.shape[:2], S))
    padded[:, :, :rank] = R
    return full[0], full[1], padded


def _roots(rows: Problem, factors: Factors) -> Array:
    return np.asarray(rows.roots[:, None].astype(factors.table.dtype, copy=False))
