"""Block-stochastic least squares: sweeps over one block of rows after another, whose sums remember former blocks.

A block of weight w alone would be a small sample. So a sweep solves with sums S over rows that have been mixed with
those of the blocks before it, of weight W,

    S <- (1 - g) S + g S_block,        g = c w / (W + c w),

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

from csid._fit.als import ALSOptions, Penalties, sweep
from csid._fit.factors import Factors
from csid._fit.problem import Known, Problem
from csid._fit.samples import LocalSamples, Samples, at_hand
from csid._fit.statistics import LevelSums

Array = NDArray[np.float64]

COUNT_OF_NEW_ROWS = 10.0
_MOST_BLOCKS, _FEWEST_ROWS, _ROWS_PER_PARAMETER = 64, 1_024, 4
_RUNS_PER_BLOCK = 16
OUTPUTS = -1


@dataclass
class RunningSums:
    """Sums over rows, mixed over blocks.

    sums : by mode, with the output mode as -1: D, O and R of `level_sums`, or a Gram matrix and right-hand sides.
    weight : of the rows that they stand for; seen : W, of all rows so far.
    """

    sums: dict[int, tuple[Array, ...]] = field(default_factory=dict)
    weight: float = 0.0
    seen: float = 0.0

    def joined_by(self, block: Samples, known: Known, most: float = np.inf) -> "MixedSamples":
        """A block mixed with those before it, for one sweep.

        known : what is known of the rows that the sums are to stand for; most : weight of all rows there are.
        """
        new = block.known.total_weight
        before = min(self.seen, COUNT_OF_NEW_ROWS * max(0.0, most - new))
        step = COUNT_OF_NEW_ROWS * new / (before + COUNT_OF_NEW_ROWS * new)
        self.seen, self.weight = before + new, (1.0 - step) * self.weight + step * new
        return MixedSamples(block, known, self, step)

    def lacking(self, n_modes: int) -> NDArray[np.bool_]:
        """(N,) whether a predictor was missing in some row."""
        return np.array([k in self.sums and bool(self.sums[k][0][-1].any()) for k in range(n_modes)])

    def mix(self, mode: int, sums: tuple[Array, ...], step: float) -> tuple[Array, ...]:
        """Add what a block has for a mode."""
        former = self.sums.setdefault(mode, tuple(map(np.zeros_like, sums)))
        for total, new in zip(former, sums, strict=True):
            total *= 1.0 - step
            total += step * new
        return former


@dataclass(frozen=True)
class MixedSamples:
    """Samples of which one block is at hand and those before it are remembered: sums of both, as if over all rows."""

    block: Samples
    known: Known
    running: RunningSums
    step: float

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
        size = self.known.total_weight / self.running.weight
        return tuple(size * total for total in self.running.mix(mode, sums, self.step))


@dataclass
class BlockSweeps:
    """A pass over all rows, in place of a sweep of `fit_als`: a sweep over each block, in random order."""

    rng: np.random.Generator
    running: RunningSums = field(default_factory=RunningSums)

    def __call__(
        self, samples: Samples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
    ) -> None:
        rows = at_hand(samples, "solver='stochastic'")
        for block in blocks(rows.problem, factors.rank, self.rng):
            mixed = self.running.joined_by(LocalSamples(block, rows.workers), rows.known, rows.known.total_weight)
            sweep_block(mixed, options, penalties, factors, single)


def sweep_block(
    mixed: MixedSamples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
) -> None:
    """Update every factor once, and the bias by a step towards the mean residual of the block."""
    sweep(mixed, options, penalties, factors, single)
    first, _ = mixed.residual_sums(factors)
    factors.bias += mixed.step * first / mixed.known.total_weight


def blocks(problem: Problem, rank: int, rng: np.random.Generator) -> Iterator[Problem]:
    """The rows in random blocks, each of some runs of consecutive rows: read in one go, from all over the table."""
    M = problem.n_rows
    count = number_of_blocks(M, int(problem.levels.max()) * rank)
    if count == 1:
        yield problem
        return
    edges = np.linspace(0, M, count * _RUNS_PER_BLOCK + 1).astype(np.intp)
    for runs in np.split(rng.permutation(count * _RUNS_PER_BLOCK), count):
        yield problem.take(np.concatenate([np.arange(edges[run], edges[run + 1]) for run in np.sort(runs)]))


def number_of_blocks(n_rows: int, parameters: int) -> int:
    """As many as make progress fast, each with several rows for every parameter of the largest factor."""
    return int(max(1, min(_MOST_BLOCKS, n_rows // max(_FEWEST_ROWS, _ROWS_PER_PARAMETER * parameters))))
