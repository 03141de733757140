"""Encode partitions into blocks of rows, the second pass, and compute sums over a block.

These functions run on workers. They do not change their arguments, and what they return is small.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import InOnePart
from csid.data.cluster.partitions import PartitionRows
from csid.data.cluster.survey import training_rows
from csid.data.merging import merge_repeated_cells
from csid.data.problem import Problem
from csid.data.samples import RowLikelihood, loss_of_rows, working_problem
from csid.data.statistics import LevelSums, level_sums, noise_sums, output_sums, residual_sums
from csid.encoding import LevelCounts, Mode
from csid.encoding.encoding import code_type, encode_columns
from csid.tensor.cells import Cells
from csid.tensor.evaluation import model_values, multiply
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


class BlockEncoding(NamedTuple):
    """How rows are encoded: the modes, and the centre and scale (K,) of the targets.

    merged : whether rows on the same cell are merged.
    """

    modes: tuple[Mode, ...]
    centre: Array
    scale: Array
    merged: bool


class Block(NamedTuple):
    """Training rows, with repeated cells merged if wanted, and held-out rows."""

    train: Problem
    held_out: Problem


def encode_partition(
    rows: PartitionRows, encoding: BlockEncoding, held_out: NDArray[np.intp]
) -> tuple[Problem, Problem]:
    """The training rows and the held-out rows of a partition: codes of 1 or 2 bytes, positions of 2."""
    M, modes = len(rows.targets), encoding.modes
    codes: NDArray[Any] = np.empty((M, len(modes)), code_type(modes), order="F")
    positions = np.zeros((M if any(mode.linear for mode in modes) else 0, len(modes)), np.uint16, order="F")
    encode_columns(modes, rows.X, codes, positions)
    levels, known = (np.array([getattr(mode, name) for mode in modes], np.intp) for name in ("n_levels", "n_known"))
    whole = Problem(
        Cells(codes, positions, levels, known),
        rows.row_weights,
        (rows.targets - encoding.centre) / encoding.scale,
        np.array([mode.n_ordered for mode in modes], np.intp),
        (),  # marginals are of the rows of all blocks
        np.zeros(len(encoding.centre)),
    )
    train, others = training_rows(rows, held_out)
    return whole if len(train) == M else whole.take(train), whole.take(others)


def join_partitions(parts: Sequence[tuple[Problem, Problem]], merged: bool) -> Block:
    """Join neighbouring partitions into one block."""
    train, held_out = (_concatenated(problems) for problems in zip(*parts, strict=True))
    merged = merged and train.n_rows > 0 and not train.any_incomplete  # the variance of incomplete rows is their own
    return Block(merge_repeated_cells(train) if merged else train, held_out)


def _concatenated(problems: Sequence[Problem]) -> Problem:
    if len(problems) == 1:
        return problems[0]
    codes = np.concatenate([each.cells.codes for each in problems])
    fractions = np.concatenate([each.cells.fractions for each in problems])
    return replace(
        problems[0],
        cells=replace(problems[0].cells, codes=codes, fractions=fractions),
        weights=np.concatenate([each.weights for each in problems]),
        targets=np.concatenate([each.targets for each in problems]),
    )


class Content(NamedTuple):
    """Totals of blocks that the survey does not have.

    counts : of levels; n_rows : after merging; any_missing : (N,); any_incomplete : whether some row lacks a cell.
    within : (K,); held_out : weight of held-out rows.
    """

    counts: LevelCounts
    n_rows: int
    any_missing: NDArray[np.bool_]
    any_incomplete: bool
    within: Array
    held_out: float


def content(block: Block, modes: Sequence[Mode]) -> Content:
    """The totals of a block."""
    rows, counts = block.train, LevelCounts(modes)
    counts.update(rows.cells.codes, rows.cells.fractions, rows.weights)
    return Content(counts, rows.n_rows, rows.any_missing, rows.any_incomplete, rows.within, block.held_out.total_weight)


def merge_contents(parts: Sequence[Content]) -> Content:
    """The totals of several blocks."""
    return Content(
        merge_counts([part.counts for part in parts]),
        sum(part.n_rows for part in parts),
        np.any([part.any_missing for part in parts], axis=0),
        any(part.any_incomplete for part in parts),
        np.sum([part.within for part in parts], axis=0),
        sum(part.held_out for part in parts),
    )


def merge_counts(parts: Sequence[LevelCounts]) -> LevelCounts:
    """The sum of several level counts."""
    total = deepcopy(parts[0])
    for part in parts[1:]:
        total.merge(part)
    return total


def products(block: Block, given: tuple[Factors, NDArray[np.intp]]) -> Array:
    """(M, S) products of the factor rows of some modes with the roots of the weights."""
    (factors, modes), rows = given, block.train
    made = np.empty((rows.n_rows, factors.table.shape[1]), factors.table.dtype)
    multiply(rows.cells, factors, _roots(rows, factors), modes, made, InOnePart())
    return made


def sum_over_blocks(
    function: Callable[..., list[Array]], given: tuple[Any, ...], some: Sequence[Block], outside: Sequence[Array]
) -> list[Array]:
    """The sum over blocks of what a function returns. outside : products that it needs of each block, if any."""
    own = zip(some, outside, strict=True) if outside else zip(some, strict=True)
    return add_sums([function(*given, *of_block) for of_block in own])


def sums_of_mode(
    factors: Factors, k: int, modes: NDArray[np.intp], block: Block, outside: Array | None = None
) -> list[Array]:
    """The packed sums of mode k. outside : (M, S) products over all modes but k and `modes`, if there are others."""
    rows = block.train
    if rows.n_rows == 0:
        return []
    outside = _roots(rows, factors) if outside is None else outside
    return pack_sums(level_sums(rows, factors, k, outside, modes, InOnePart()), factors.rank)


def sums_of_outputs(factors: Factors, block: Block) -> list[Array]:
    """Gram matrix and right-hand sides of the output mode."""
    return list(output_sums(block.train, factors, InOnePart())) if block.train.n_rows else []


def sums_of_residuals(factors: Factors, block: Block) -> list[Array]:
    """Sums of residuals and of their squares."""
    return list(residual_sums(block.train, factors, InOnePart())) if block.train.n_rows else []


class AtFactors(NamedTuple):
    """A likelihood at values of the factors and of its own parameters."""

    likelihood: RowLikelihood
    factors: Factors
    parameters: dict[str, Array]


def with_working(block: Block, at: AtFactors, seed: Sequence[int] | None) -> Block:
    """The block with working targets and weights: drawn if a seed is given, else their expectations."""
    rng = None if seed is None else np.random.default_rng(seed)
    return block._replace(train=working_problem(block.train, *at, rng, InOnePart()))


def weights(block: Block) -> list[Array]:
    """Total weight of the training rows, the number of observations they stand for, (1,) each, and `within`."""
    return [np.array([block.train.total_weight]), np.array([block.train.n_observations]), block.train.within]


def sums_of_noise(factors: Factors, block: Block) -> list[Array]:
    """Weighted sums of squared residuals that are due to noise, (K,)."""
    return [noise_sums(block.train, factors, InOnePart())[0]] if block.train.n_rows else []


def loss(likelihood: RowLikelihood, factors: Factors, parameters: dict[str, Array], block: Block) -> list[Array]:
    """Weighted sum of the losses of rows, (1,)."""
    return _loss(block.train, AtFactors(likelihood, factors, parameters))


def loss_held_out(
    likelihood: RowLikelihood, factors: Factors, parameters: dict[str, Array], block: Block
) -> list[Array]:
    """Weighted sum of the losses of held-out rows, (1,)."""
    return _loss(block.held_out, AtFactors(likelihood, factors, parameters))


def _loss(rows: Problem, at: AtFactors) -> list[Array]:
    eta = model_values(rows.cells, at.factors)
    return [np.array([loss_of_rows(rows, at.likelihood, eta, at.parameters)])] if rows.n_rows else []


def squares_held_out(factors: Factors, block: Block) -> list[Array]:
    """Sums of residuals and of their squares over held-out rows."""
    return list(residual_sums(block.held_out, factors, InOnePart())) if block.held_out.n_rows else []


def add_sums(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Add sums over rows. Sums over no rows are empty lists."""
    return [np.sum(arrays, axis=0) for arrays in zip(*filter(None, parts), strict=True)]


def pack_sums(sums: LevelSums, rank: int) -> list[Array]:
    """The upper triangles of D and O, (I + 1, F (F + 1) / 2), and R without padding, (I + 1, K, F)."""
    D, O, R = sums
    upper = np.triu_indices(rank)
    return [D[:, *upper], O[:, *upper], np.ascontiguousarray(R[:, :, :rank])]


def unpack_sums(arrays: Sequence[Array], rank: int, S: int) -> LevelSums:
    """The inverse of `pack_sums`: full, padded matrices for a factor update."""
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
