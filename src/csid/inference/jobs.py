"""Run chains: the burn-in of each on growing parts of the rows, and several chains at a time in threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.problem import Problem, Summary
from csid.data.samples import LocalSamples, Samples
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import als_state, random_state, shared_slope_state
from csid.inference.state import Chain
from csid.inference.stochastic import MOST_BLOCKS_OF_SAMPLER, BlockSamples, number_of_blocks
from csid.inference.treatments import EncodedFold
from csid.likelihoods import Likelihood
from csid.priors.adaptation import adapted_prior
from csid.priors.catalogue import PriorSpec

Array = NDArray[np.float64]
Start = Literal["random", "als"]
OpenBar = Callable[[int, int, str], AbstractContextManager[Callable[[float], None]]]
"""Opens a labelled progress bar over chains and sweeps. Returns a function to call with the residual of each sweep."""

_ROWS_OF_BURN_IN, _GROWTH, _SWEEPS_TO_ADAPT = 60_000, 8, 3
_MANY_ROWS = 200_000
_PASSES_BY_BLOCKS = 2
_ENOUGH_ROWS_PER_PREDICTOR, _LEAST_RANK = 4, 8


class Stage(NamedTuple):
    """Sweeps on `rows` rows."""

    rows: int
    sweeps: Sweeps


class ChainOptions(NamedTuple):
    """Options of all chains of a fit.

    by_blocks : whether a sweep reads one block of rows, mixed with the sums of earlier blocks.
    """

    likelihood: Likelihood
    rank: int
    start: Start = "random"
    by_blocks: bool = False


@dataclass(frozen=True)
class Job:
    """A chain to run, with its rows, model and random generator.

    problem : rows in memory or mapped from a code file.
    elsewhere : all rows, if they are on a cluster; `problem` is then a sample of them for the burn-in.
    """

    problem: Problem
    model: SampledModel
    chain: Chain
    rng: np.random.Generator
    elsewhere: Samples | None = None
    by_blocks: bool = False

    @property
    def n_blocks(self) -> int:
        """The number of blocks of rows."""
        if not self.by_blocks:
            return 1
        return number_of_blocks(self.problem.n_rows, self.chain.state.factors, MOST_BLOCKS_OF_SAMPLER)

    def stages(self, sweeps: Sweeps) -> list[Stage]:
        """The stages of the chain: burn-in on growing parts of the rows, then sweeps on all rows.

        With blocks, the burn-in takes at least two passes over all rows, so that running sums no longer depend on early
        states, and the draws take about two.
        """
        *parts, (rows, burn) = burn_in(self.problem.n_rows, sweeps.burn)
        every = 1
        if self.n_blocks > 1:
            passes = _PASSES_BY_BLOCKS * self.n_blocks
            burn, every = max(burn, passes), max(1, passes // sweeps.draws)
        last = Sweeps(burn, every * sweeps.draws, every * sweeps.thin)
        return [*(Stage(rows, Sweeps(burn, 0)) for rows, burn in parts), Stage(rows, last)]


def new_job(
    fold: EncodedFold, spec: PriorSpec, options: ChainOptions, model: SampledModel, rng: np.random.Generator
) -> Job:
    """A new chain that starts at random factors, at factors with a shared slope, or at a short ALS fit."""
    rank, likelihood = min(options.rank, spec.max_rank, supported_rank(fold.summary)), model.likelihood
    if spec.shared_slope > 0.0:
        levels = fold.encoding.standardised_levels
        state = shared_slope_state(fold.train, likelihood, rank, levels, spec.shared_slope, rng)
    elif options.start == "als":
        state = als_state(fold.train, likelihood, rank, rng)
    else:
        state = random_state(fold.train, likelihood, rank, rng)
    return Job(fold.train, model, Chain(state), rng, fold.elsewhere, options.by_blocks)


def supported_rank(summary: Summary) -> int:
    """The largest rank for a table: below four rows per predictor it falls in proportion, from 32 to 8.

    More components predict no better there, and time and memory grow with the rank.
    """
    rows_per_predictor = summary.total_weight / summary.n_modes
    if rows_per_predictor >= _ENOUGH_ROWS_PER_PREDICTOR:
        return PriorSpec.max_rank
    return max(_LEAST_RANK, round(_LEAST_RANK * rows_per_predictor))


def model_of(
    fold: EncodedFold, spec: PriorSpec, likelihood: Likelihood, error: Array | None, likelihood_power: float
) -> SampledModel:
    """The model of a chain, with its prior adapted to the rows. error : (K,) held-out mean squared error, if known."""
    if spec.noise_prior_weight > 0.0 and error is not None:
        likelihood = likelihood.with_noise_prior(error, spec.noise_prior_weight * fold.summary.total_weight)
    return SampledModel(adapted_prior(spec.prior, fold.summary), likelihood, fold.pmf, likelihood_power)


def burn_in(n_rows: int, n_burn: int) -> list[tuple[int, int]]:
    """Stages of the burn-in: pairs of a number of rows and a number of sweeps, the last on all rows.

    A chain on many rows burns in on a part of them. It then needs only a few sweeps to adapt to the others.
    """
    stages, rows, sweeps = [], _ROWS_OF_BURN_IN, n_burn
    while rows < n_rows:
        stages.append((rows, sweeps))
        rows, sweeps = _GROWTH * rows, min(n_burn, _SWEEPS_TO_ADAPT)
    return [*stages, (n_rows, sweeps)]


def thinning(n_draws: int) -> int:
    """Keep every n-th sweep, for this n."""
    return max(1, min(4, n_draws // 10))


@dataclass(frozen=True)
class Runner:
    """Runs chains in threads, with a progress bar. On an interrupt, each stops after its current sweep."""

    n_threads: int
    open_bar: OpenBar

    def run(self, jobs: Sequence[Job], n_burn: int, n_draws: int, label: str) -> None:
        """Burn in, then draw. Chains on a cluster first burn in on a sample of the rows in this process."""
        here = [replace(job, elsewhere=None) for job in jobs]
        sweeps = Sweeps(n_burn, n_draws, thinning(n_draws))
        if all(job.elsewhere is None for job in jobs):
            self._run_here(here, sweeps, label)
            return
        self._run_here(here, Sweeps(n_burn, 0), f"{label} on a sample")
        self._run_elsewhere(jobs, sweeps._replace(burn=min(n_burn, _SWEEPS_TO_ADAPT)), f"{label} on all rows")

    def _run_here(self, jobs: Sequence[Job], sweeps: Sweeps, label: str) -> None:
        stop = threading.Event()
        most = max(sum(stage.sweeps.burn + stage.sweeps.draws for stage in job.stages(sweeps)) for job in jobs)
        with self.open_bar(len(jobs), most, label) as advance:

            def keep_going(chain: Chain) -> bool:
                advance(float(np.mean(chain.residual[-1])))
                return not stop.is_set()

            run_jobs(jobs, sweeps, self.n_threads, keep_going, stop)

    def _run_elsewhere(self, jobs: Sequence[Job], sweeps: Sweeps, label: str) -> None:
        with self.open_bar(len(jobs), sweeps.burn + sweeps.draws, label) as advance:

            def keep_going(chain: Chain) -> bool:
                advance(float(np.mean(chain.residual[-1])))
                return True

            for job in jobs:
                if job.elsewhere is not None:
                    run_chain(job.elsewhere, job.model, job.chain, job.rng, sweeps, keep_going)


def run_jobs(
    jobs: Sequence[Job], sweeps: Sweeps, threads: int, keep_going: Callable[[Chain], bool], stop: threading.Event
) -> None:
    """Run one chain per thread; with few chains or many rows, each chain has several threads.

    On an error or an interrupt, `stop` is set, and the exception is raised once all chains have ended.
    """
    at_once = 1 if max(job.problem.n_rows for job in jobs) >= _MANY_ROWS else min(threads, len(jobs))

    def run(job: Job) -> None:
        order = job.rng.permutation(job.problem.n_rows) if job.problem.n_rows > _ROWS_OF_BURN_IN else None
        with Workers(max(1, threads // at_once)) as workers:
            for stage in job.stages(sweeps):
                last = stage.rows == job.problem.n_rows
                problem = job.problem if last or order is None else job.problem.take(np.sort(order[: stage.rows]))
                samples: Samples = LocalSamples(problem, workers)
                if last and job.n_blocks > 1:
                    samples = BlockSamples(LocalSamples(problem, workers), job.n_blocks, job.rng)
                if not stop.is_set():
                    run_chain(samples, job.model, job.chain, job.rng, stage.sweeps, keep_going)

    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
