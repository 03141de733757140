"""Fit tensors to encoded rows by least squares: the best of several starts, and bagged ensembles."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.merging import merge_repeated_cells
from csid.data.problem import Problem, Summary
from csid.data.samples import HeldOutSamples, LocalSamples, Samples, require_local
from csid.inference.als import ALSOptions, ALSResult, ALSRun, fit_als, mean_squared_error
from csid.inference.starts import random_factors
from csid.inference.stochastic import BlockSweeps, RunningSums
from csid.likelihoods import Likelihood
from csid.likelihoods.likelihood import Parameters
from csid.missing.completions import Completions
from csid.missing.level_pmf import LevelPMF
from csid.tensor.factors import Factors

OnSweep = Callable[[float, float | None], None]
OpenBars = Callable[[], AbstractContextManager[Callable[[str], OnSweep]]]
"""Opens a progress display. It returns a function that opens one labelled bar per run."""


class FitRows(NamedTuple):
    """The rows of a fit.

    train : training rows, in memory, mapped from a code file, or on a cluster.
    held_out : rows for early stopping, in memory or mapped, if any.
    pmf : joint PMF of the predictors; None for the marginals.
    """

    train: Problem | HeldOutSamples
    held_out: Problem | None
    pmf: LevelPMF | None


@dataclass(frozen=True)
class EnsembleOptions:
    """Options of a least-squares fit.

    members : the size of the bagged ensemble, 1 for a single fit.
    starts : the number of starts of each member, of which the best is kept.
    by_blocks : whether a pass sweeps over one block of rows after another.
    stops_early : function from the number of rows to whether a member stops early on its out-of-bag rows.
    """

    als: ALSOptions
    likelihood: Likelihood
    rank: int
    members: int
    starts: int
    by_blocks: bool
    stops_early: Callable[[int], bool]


class Fits(NamedTuple):
    """The result of each member. sums : running sums over rows, of a single member fitted by blocks."""

    results: list[ALSResult]
    sums: RunningSums | None


def fit_ensemble(
    rows: FitRows,
    options: EnsembleOptions,
    given: Sequence[Factors],
    rng: np.random.Generator,
    n_threads: int,
    open_bars: OpenBars,
) -> Fits:
    """Fit all members, each from several starts. given : factors for the first start of each member."""
    ensemble = _Ensemble.of(rows, options, given, rng.integers(2**63, size=(options.members, options.starts)))
    jobs = [(member, start) for member in range(options.members) for start in range(options.starts)]
    with open_bars() as open_bar:
        bars = [open_bar(_label(job, options)) for job in jobs]
        if len(jobs) == 1 or n_threads == 1 or not isinstance(rows.train, Problem):
            with Workers(n_threads) as workers:
                results = [ensemble.run(*job, bar, workers) for job, bar in zip(jobs, bars, strict=True)]
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                pairs = zip(jobs, bars, strict=True)
                futures = [pool.submit(ensemble.run, *job, bar, Workers()) for job, bar in pairs]
                try:
                    results = [future.result() for future in futures]
                except BaseException:
                    ensemble.interrupted.set()
                    pool.shutdown(cancel_futures=True)
                    raise
    grouped = np.arange(len(jobs)).reshape(options.members, options.starts)
    best = [min(row.tolist(), key=lambda job: results[job].criterion) for row in grouped]
    keeps_sums = options.by_blocks and options.members == 1 and not options.likelihood.augmented
    return Fits([results[job] for job in best], ensemble.passes[0][best[0]].running if keeps_sums else None)


@dataclass(frozen=True)
class _Ensemble:
    """The runs of a fit. whole : the rows of a single member, with repeated cells merged; seeds : (members, starts)."""

    rows: FitRows
    options: EnsembleOptions
    given: Sequence[Factors]
    seeds: NDArray[np.int64]
    whole: Problem | HeldOutSamples
    passes: list[list[BlockSweeps]]
    interrupted: threading.Event

    @classmethod
    def of(
        cls, rows: FitRows, options: EnsembleOptions, given: Sequence[Factors], seeds: NDArray[np.int64]
    ) -> "_Ensemble":
        passes = [[BlockSweeps(np.random.default_rng([seed, 3])) for seed in some] for some in seeds.tolist()]
        merge = options.members == 1 and _may_be_merged(rows, options)
        whole = merge_repeated_cells(rows.train) if merge and isinstance(rows.train, Problem) else rows.train
        return cls(rows, options, given, seeds, whole, passes, threading.Event())

    def run(self, member: int, start: int, on_sweep: OnSweep, workers: Workers) -> ALSResult:
        """One run of a member."""
        rows, options, seed = self.rows, self.options, int(self.seeds[member, start])
        samples, held_out, summary = _samples(self.whole, workers), rows.held_out, _summary_of(rows.train)
        if options.members > 1 and isinstance(rows.train, Problem):
            drawn, left_out = _bootstrap(rows.train, np.random.default_rng([int(self.seeds[member, 0]), 1]))
            samples = LocalSamples(merge_repeated_cells(drawn) if _may_be_merged(rows, options) else drawn, workers)
            summary = drawn
            if held_out is None and options.stops_early(rows.train.n_rows):
                held_out = left_out
        rng = np.random.default_rng([seed, 0])
        first = random_factors(summary, options.rank, rng, start % 2 == 0, options.likelihood)
        if start == 0 and member < len(self.given):
            first = self.given[member].copy()

        def watched(objective: float, error: float | None) -> None:
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            on_sweep(objective, error)

        completions = None
        if rows.pmf is not None and _completed(rows):
            local = require_local(samples, "a joint PMF of the predictors")
            completions = Completions.of(local, rows.pmf, np.random.default_rng([seed, 2]))
        one_pass = self.passes[member][start] if options.by_blocks else None
        loss, likelihood = self._held_out_loss(held_out, workers), options.likelihood
        if loss is None:
            return fit_als(samples, options.als, first, likelihood, ALSRun(None, watched, completions, one_pass))

        def error(factors: Factors, own: Parameters) -> float:
            return loss(factors, likelihood.fit_to_held_out(own, partial(loss, factors)))

        result = fit_als(samples, options.als, first, likelihood, ALSRun(error, watched, completions, one_pass))
        own = likelihood.fit_to_held_out(likelihood.start(summary), partial(loss, result.factors))
        result.factors = likelihood.in_units(result.factors, own)
        return result

    def _held_out_loss(
        self, held_out: Problem | None, workers: Workers
    ) -> Callable[[Factors, Parameters], float] | None:
        """The weighted mean of the losses of held-out rows, if there are any."""
        likelihood, elsewhere = self.options.likelihood, self.rows.train
        if held_out is not None:
            local = LocalSamples(held_out, workers)
            if likelihood.augmented:
                return lambda factors, own: local.loss(likelihood, factors, own) / local.summary.total_weight
            return lambda factors, own: mean_squared_error(local, factors, self.rows.pmf)
        if isinstance(elsewhere, Problem) or not elsewhere.any_held_out:
            return None
        return partial(elsewhere.held_out_loss, likelihood)


def _samples(rows: Problem | HeldOutSamples, workers: Workers) -> Samples:
    return LocalSamples(rows, workers) if isinstance(rows, Problem) else rows


def _summary_of(rows: Problem | HeldOutSamples) -> Summary:
    return rows if isinstance(rows, Problem) else rows.summary


def _completed(rows: FitRows) -> bool:
    """Whether incomplete rows are completed under a joint PMF."""
    return rows.pmf is not None and isinstance(rows.train, Problem) and len(rows.train.cells.incomplete) > 0


def _may_be_merged(rows: FitRows, options: EnsembleOptions) -> bool:
    return not _completed(rows) and not options.likelihood.augmented


def _label(job: tuple[int, int], options: EnsembleOptions) -> str:
    parts = [f"member {job[0] + 1}"] * (options.members > 1) + [f"start {job[1] + 1}"] * (options.starts > 1)
    return ", ".join(parts) or "ALS"


def _bootstrap(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Problem | None]:
    """Rows drawn with replacement, and the out-of-bag rows if any."""
    counts = np.bincount(rng.integers(problem.n_rows, size=problem.n_rows), minlength=problem.n_rows)
    left_out = counts == 0
    out_of_bag = problem.reweighted(left_out.astype(np.float64)) if left_out.any() else None
    return problem.reweighted(counts.astype(np.float64)), out_of_bag
