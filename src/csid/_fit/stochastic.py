"""Block-stochastic least squares: sweeps over one block of rows after another, whose sums remember former blocks.

A block of weight w alone would be a small sample. So a sweep solves with mean sums S over rows in which those of the
block are mixed with those of the blocks before it, of weight W,

    S <- (1 - g) S + g S_block / w,        g = c w / (W + c w),

in which a row counts c times as much as rows before it do on average. What was summed with factors long past fades with
the power c of time, while the sums stand for ever more rows: the steps g decay, and the fit settles (polynomial-decay
averaging, Shamir and Zhang 2013; sums as in online dictionary learning, Mairal et al. 2010). Of M rows that come again
and again each counts at most c times in W, so that steps decay to w / M and no further. A single block of all rows has
steps of one: that is alternating least squares. See docs/decisions/0016-blocks-of-rows.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csid._fit.als import ALSOptions, Penalties, balance_scales, update_factors
from csid._fit.factors import Factors
from csid._fit.problem import Known, Problem
from csid._fit.samples import LocalSamples, Samples, at_hand
from csid._fit.statistics import LevelSums

Array = NDArray[np.float64]

COUNT_IN_PASSES, COUNT_IN_STREAM = 10.0, 2.0
"""How much rows of a new block count: in passes over the same rows, and in a stream, whose rows come but once."""

MOST_BLOCKS, MOST_BLOCKS_OF_SAMPLER = 64, 16
_FEWEST_ROWS, _ROWS_PER_PARAMETER = 1_024, 4
_RUNS_PER_BLOCK = 16
OUTPUTS = -1


@dataclass
class RunningSums:
    """Sums over rows, mixed over blocks.

    sums : by mode, with the output mode as -1: D, O and R of `level_sums`, or a Gram matrix and right-hand sides.
    weight : of the rows that they stand for; seen : W, of all rows so far.
    """

    sums: dict[int, tuple[Array, ...]] = field(default_factory=dict)
    weight: float = 1.0
    seen: float = 0.0

    def joined_by(
        self, block: Samples, known: Known, count: float = COUNT_IN_STREAM, most: float = np.inf
    ) -> "MixedSamples":
        """A block mixed with those before it, for one sweep.

        known : what is known of the rows that the sums are to stand for; most : weight of all rows there are.
        count : c, how much a new row counts.
        """
        new, goal = block.known.total_weight, known.total_weight
        before = min(self.seen, count * max(0.0, most - new))
        step = count * new / (before + count * new)
        mixed = MixedSamples(block, known, self.sums, step, (1.0 - step) * goal / self.weight, step * goal / new)
        self.seen, self.weight = before + new, goal
        return mixed

    def lacking(self, n_modes: int) -> NDArray[np.bool_]:
        """(N,) whether a predictor was missing in some row."""
        return np.array([k in self.sums and bool(self.sums[k][0][-1].any()) for k in range(n_modes)])


@dataclass(frozen=True)
class MixedSamples:
    """Samples of which one block is at hand and those before it are remembered: sums of both, as if over all rows.

    former : sums of the blocks before, changed as those of the block are added.
    kept, added : what former sums, and those of the block, are multiplied with.
    """

    block: Samples
    known: Known
    former: dict[int, tuple[Array, ...]]
    step: float
    kept: float
    added: float

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        for k, sums in self.block.sums_by_mode(factors):
            D, O, R = self._mixed(k, sums)
            yield k, (D, O, R)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        gram, rhs = self._mixed(OUTPUTS, self.block.output_sums(factors))
        return gram, rhs

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Of the block alone, as former residuals are of other factors."""
        size = self.known.total_weight / self.block.known.total_weight
        first, second = self.block.residual_sums(factors)
        return size * first, size * second

    def _mixed(self, mode: int, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        mixed = self.former.setdefault(mode, tuple(map(np.zeros_like, sums)))
        for total, new in zip(mixed, sums, strict=True):
            total *= self.kept
            total += self.added * new
        return mixed


@dataclass
class BlockSweeps:
    """A pass over all rows, in place of a sweep of `fit_als`: a sweep over each block, in random order."""

    rng: np.random.Generator
    running: RunningSums = field(default_factory=RunningSums)

    def __call__(
        self, samples: Samples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
    ) -> None:
        rows = at_hand(samples, "solver='stochastic'")
        count = number_of_blocks(rows.known.n_rows, factors)
        for block in blocks(rows.problem, count, self.rng):
            samples = LocalSamples(block, rows.workers)
            mixed = self.running.joined_by(samples, rows.known, COUNT_IN_PASSES, rows.known.total_weight)
            sweep_block(mixed, options, penalties, factors, single)
            costs = penalties.per_component(factors)  # sums of the output mode would be of another scale: leave it
            balance_scales(costs if mixed.kept == 0.0 else costs[: factors.n_modes], factors)


@dataclass
class BlockSamples:
    """All rows, cut into `count` blocks, of which each sweep of a sampler sees the next, mixed with those before it."""

    rows: LocalSamples
    count: int
    rng: np.random.Generator
    _running: RunningSums = field(default_factory=RunningSums)
    _left: Iterator[Problem] = field(default_factory=lambda: iter(()))
    _mixed: MixedSamples | None = None

    @property
    def known(self) -> Known:
        return self.rows.known

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        block = next(self._left, None)
        if block is None:
            self._left = blocks(self.rows.problem, self.count, self.rng)
            block = next(self._left)
        samples, most = LocalSamples(block, self.rows.workers), self.known.total_weight
        self._mixed = self._running.joined_by(samples, self.known, COUNT_IN_STREAM, most)
        yield from self._mixed.sums_by_mode(factors)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        return self._current.output_sums(factors)

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        return self._current.residual_sums(factors)

    @property
    def _current(self) -> Samples:
        """The block of the sweep; before the first, all rows."""
        return self.rows if self._mixed is None else self._mixed


def sweep_block(
    mixed: MixedSamples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
) -> None:
    """Update every factor once, and the bias by a step towards the mean residual of the block.

    Scales stay as they are: former sums are of them.
    """
    update_factors(mixed, options, penalties, factors, single)
    first, _ = mixed.residual_sums(factors)
    factors.bias += mixed.step * first / mixed.known.total_weight


def blocks(problem: Problem, count: int, rng: np.random.Generator) -> Iterator[Problem]:
    """The rows in random blocks, each of some runs of consecutive rows: read in one go, from all over the table."""
    if count == 1:
        yield problem
        return
    edges = np.linspace(0, problem.n_rows, count * _RUNS_PER_BLOCK + 1).astype(np.intp)
    for runs in np.split(rng.permutation(count * _RUNS_PER_BLOCK), count):
        yield problem.take(np.concatenate([np.arange(edges[run], edges[run + 1]) for run in np.sort(runs)]))


def number_of_blocks(n_rows: int, factors: Factors, most: int = MOST_BLOCKS) -> int:
    """As many as make progress fast, each with several rows for every parameter of the largest factor."""
    parameters = int(factors.levels.max()) * factors.rank
    return int(max(1, min(most, n_rows // max(_FEWEST_ROWS, _ROWS_PER_PARAMETER * parameters))))
