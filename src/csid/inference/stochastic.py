"""Block-stochastic least squares: sweeps over one block of rows at a time, with running sums over earlier blocks.

One block is a small sample. A sweep over a block of weight w therefore solves with running mean sums S, which mix the
sums of the block with those of earlier blocks, of weight W:

    S <- (1 - g) S + g S_block / w,        g = c w / (W + c w)

A new row counts c times as much as an earlier row does on average. The contribution of a block, computed with factors
that are now out of date, decays polynomially with power c, and the step size g decays too, so the fit converges
(polynomial-decay averaging, Shamir and Zhang 2013; sums as in online dictionary learning, Mairal et al. 2010). In
repeated passes over M rows, each row counts at most c times in W, so g does not fall below w / M. With a single block
of all rows, g is 1: alternating least squares. See docs/decisions/0016-blocks-of-rows.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Problem, Summary
from csid.data.samples import LocalSamples, Parameters, RowLikelihood, RowSums, require_local
from csid.data.statistics import LevelSums
from csid.inference.als import ALSOptions, Penalties, balance_scales, update_factors
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

COUNT_IN_PASSES, COUNT_IN_STREAM = 10.0, 2.0
"""c, the weight of new rows: in repeated passes over the same rows, and in a stream, where each row comes once."""

MOST_BLOCKS, MOST_BLOCKS_OF_SAMPLER = 64, 16
_FEWEST_ROWS, _ROWS_PER_PARAMETER = 1_024, 4
_RUNS_PER_BLOCK = 16
OUTPUTS = -1


@dataclass
class RunningSums:
    """Running sums over blocks of rows.

    sums : by mode, D, O and R of `level_sums`; for the output mode, -1, a Gram matrix and right-hand sides.
    weight : total weight that the sums are scaled to; seen : W, the weight of all rows so far.
    """

    sums: dict[int, tuple[Array, ...]] = field(default_factory=dict)
    weight: float = 1.0
    seen: float = 0.0

    def mix(
        self,
        block: RowSums,
        summary: Summary,
        count: float = COUNT_IN_STREAM,
        most: float = np.inf,
        weight: float | None = None,
    ) -> "MixedSamples":
        """A block mixed with earlier blocks, for one sweep.

        summary : of the rows that the sums should represent.
        count : c, the weight of a new row.
        most : the weight of all rows in repeated passes; infinite in a stream.
        weight : of the block, without what missing cells take from it.
        """
        new, goal = block.summary.total_weight if weight is None else weight, summary.total_weight
        before = min(self.seen, count * max(0.0, most - new))
        step = count * new / (before + count * new)
        kept, added = (1.0 - step) * goal / self.weight, step * goal / new
        mixed = MixedSamples(block, summary, self.sums, step, kept, added, goal / new)
        self.seen, self.weight = before + new, goal
        return mixed

    def any_missing(self, n_modes: int) -> NDArray[np.bool_]:
        """(N,) whether a predictor was missing in some row so far."""
        return np.array([k in self.sums and bool(self.sums[k][0][-1].any()) for k in range(n_modes)])


@dataclass(frozen=True)
class MixedSamples:
    """A block of rows together with the running sums of earlier blocks, which represent all rows.

    former : running sums of earlier blocks; the sums of this block are added in place.
    step : the step size g.
    kept, added : factors of the former sums, and of the sums of this block.
    size : of all rows, in blocks like this one.
    """

    block: RowSums
    summary: Summary
    former: dict[int, tuple[Array, ...]]
    step: float
    kept: float
    added: float
    size: float

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        for k, sums in self.block.sums_by_mode(factors):
            D, O, R = self._mixed(k, sums)
            yield k, (D, O, R)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        gram, rhs = self._mixed(OUTPUTS, self.block.output_sums(factors))
        return gram, rhs

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Residual sums of this block alone, scaled to all rows: former residuals belong to former factors."""
        first, second = self.block.residual_sums(factors)
        return self.size * first, self.size * second

    def noise_sums(self, factors: Factors) -> tuple[Array, float]:
        squares, count = self.block.noise_sums(factors)
        return self.size * squares, self.size * count

    def _mixed(self, mode: int, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        mixed = self.former.setdefault(mode, tuple(map(np.zeros_like, sums)))
        for total, new in zip(mixed, sums, strict=True):
            total *= self.kept
            total += self.added * new
        return mixed


@dataclass
class BlockSweeps:
    """A pass over all rows for `fit_als`: one sweep over each block, in random order."""

    rng: np.random.Generator
    running: RunningSums = field(default_factory=RunningSums)

    def __call__(
        self, samples: RowSums, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
    ) -> None:
        rows = require_local(samples, "solver='stochastic'")
        count = number_of_blocks(rows.summary.n_rows, factors)
        for block in blocks(rows.problem, count, self.rng):
            samples = LocalSamples(block, rows.workers)
            mixed = self.running.mix(samples, rows.summary, COUNT_IN_PASSES, rows.summary.total_weight)
            sweep_block(mixed, options, penalties, factors, single)
            costs = penalties.per_component(factors)  # V keeps its scale, to which running output sums belong
            balance_scales(costs if mixed.kept == 0.0 else costs[: factors.n_modes], factors)


@dataclass
class BlockSamples:
    """Samples in `count` blocks. Each sweep of a sampler reads the next block, mixed with earlier ones."""

    rows: LocalSamples
    count: int
    rng: np.random.Generator
    _running: RunningSums = field(default_factory=RunningSums)
    _left: Iterator[Problem] = field(default_factory=lambda: iter(()))
    _mixed: MixedSamples | None = None
    _weigh: Callable[[LocalSamples], LocalSamples] = lambda block: block

    @property
    def summary(self) -> Summary:
        return self.rows.summary

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        block = next(self._left, None)
        if block is None:
            self._left = blocks(self.rows.problem, self.count, self.rng)
            block = next(self._left)
        samples, most = self._weigh(LocalSamples(block, self.rows.workers)), self.summary.total_weight
        self._mixed = self._running.mix(samples, self.summary, COUNT_IN_STREAM, most, block.total_weight)
        yield from self._mixed.sums_by_mode(factors)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        return self._current.output_sums(factors)

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        return self._current.residual_sums(factors)

    def noise_sums(self, factors: Factors) -> tuple[Array, float]:
        return self._current.noise_sums(factors)

    def working(
        self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters, rng: np.random.Generator | None
    ) -> RowSums:
        """These samples; the next block has the working weights."""
        if likelihood.augmented:
            raise NotImplementedError(
                "solver='stochastic' does not support likelihoods with working targets: use likelihood='gaussian', or "
                "another solver."
            )
        now = factors.copy()
        self._weigh = lambda block: block.working(likelihood, now, parameters, rng)
        return self

    def loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        return self.rows.loss(likelihood, factors, parameters)

    def loss_at(self, likelihood: RowLikelihood, factors: Factors) -> Callable[[Parameters], float]:
        return self.rows.loss_at(likelihood, factors)

    @property
    def _current(self) -> RowSums:
        """The block of the current sweep; all rows before the first sweep."""
        return self.rows if self._mixed is None else self._mixed


def sweep_block(
    mixed: MixedSamples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
) -> None:
    """Update every factor once, and move the bias by a step towards the mean residual of the block.

    Scales are not balanced, because the running sums belong to the current scales.
    """
    update_factors(mixed, options, penalties, factors, single)
    first, _ = mixed.residual_sums(factors)
    factors.bias += mixed.step * first / mixed.summary.total_weight


def blocks(problem: Problem, count: int, rng: np.random.Generator) -> Iterator[Problem]:
    """The rows in random blocks, each of several runs of consecutive rows: fast to read, yet from all of the table."""
    if count == 1:
        yield problem
        return
    edges = np.linspace(0, problem.n_rows, count * _RUNS_PER_BLOCK + 1).astype(np.intp)
    for runs in np.split(rng.permutation(count * _RUNS_PER_BLOCK), count):
        yield problem.take(np.concatenate([np.arange(edges[run], edges[run + 1]) for run in np.sort(runs)]))


def number_of_blocks(n_rows: int, factors: Factors, most: int = MOST_BLOCKS) -> int:
    """The number of blocks, at most `most`, each with at least 4 rows per parameter of the largest factor."""
    parameters = int(factors.levels.max()) * factors.rank
    return int(max(1, min(most, n_rows // max(_FEWEST_ROWS, _ROWS_PER_PARAMETER * parameters))))
