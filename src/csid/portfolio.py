"""Several priors, tried on part of the rows and weighted by how well they predict the rest.

No one strength of smoothing suits all tables. A pilot runs short chains under each prior, and stacking (Wolpert 1992;
Yao et al. 2018) gives the priors shares such that their weighted mean predicts held-out rows best. See
docs/decisions/0007-stacked-priors.md.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from csid._fit.alike import rows_are_few
from csid._fit.gibbs import Chain, Prior, alike_state, als_state, random_state, run_chain
from csid._fit.missing_cells import LevelPMF, completed_values, expected_values
from csid._fit.problem import Known, Problem
from csid._fit.samples import LocalSamples, Samples
from csid._fit.statistics import Workers, values_of_rows
from csid._fit.stochastic import MOST_BLOCKS_OF_SAMPLER, BlockSamples, number_of_blocks

Array = NDArray[np.float64]

_LEAST_SHARE = 0.04
_FIRMNESS = 10.0  # in rows
_ROWS_OF_BURN_IN, _GROWTH, _SWEEPS_TO_ADAPT = 60_000, 8, 3
_MANY_ROWS = 200_000
_PASSES_BY_BLOCKS = 2


@dataclass(frozen=True)
class Setting:
    """A prior, and the number of levels that goes with it.

    caution : how much, beside the rows themselves, the error on held-out rows says about the noise. On its own, a loose
        prior may take the noise of the training rows for signal.
    most_rank : of its chains. With many levels a component can say more, and costs more.
    alike : how steep the slopes are that predictors have in common, see `_fit.alike`; without any, none have. It tells
        where rows are too few to know predictors one by one.
    """

    prior: Prior
    levels: int
    caution: float = 0.0
    most_rank: int = 1024
    alike: float = 0.0

    def suits(self, n_rows: int, n_predictors: int) -> bool:
        """Whether it is worth a trial on a table."""
        return self.alike == 0.0 or rows_are_few(n_rows, n_predictors)


SETTINGS: dict[str, Setting] = {
    "medium": Setting(Prior(), 32),
    "smooth": Setting(Prior(smoothness=(10.0, 1.0)), 64),
    "stiff": Setting(Prior(smoothness=(10.0, 0.1), smoothness_order=2), 64),
    "rough": Setting(Prior(smoothness=(1.0, 3.0)), 32),
    "fine": Setting(Prior(), 200),
    "finest": Setting(Prior(), 800, most_rank=16),
    "steady": Setting(Prior(), 32, caution=0.25),
    "curved": Setting(Prior(smoothness_order=2), 32, caution=0.25),
    "near one": Setting(Prior(nu=1.0), 32, caution=0.25),
    "lean": Setting(Prior(smoothness=(3.0, 0.001)), 32),
    "sparse": Setting(Prior(smoothness=(10.0, 0.001)), 64),
    "alike": Setting(Prior(nu=50.0, smoothness=(10.0, 0.1), smoothness_order=2, weight=(2.0, 0.2)), 32, alike=0.3),
    "akin": Setting(Prior(nu=5.0, smoothness=(10.0, 0.1), smoothness_order=2, weight=(2.0, 0.2)), 32, alike=0.3),
}


def leaning(settings: Sequence[Setting]) -> Array | None:
    """Shares (S,) to hold to where rows are few: equal ones of the settings for such tables; None without any."""
    favoured = np.array([setting.alike > 0.0 for setting in settings])
    return favoured / favoured.sum() if favoured.any() else None


def chosen_settings(
    prior: str | Sequence[str], levels: int | str, order: int | str, degrees_of_freedom: float, shape: tuple[int, int]
) -> dict[str, Setting]:
    """The settings that a user's parameters, and the numbers of rows and predictors, leave, by name."""
    if isinstance(prior, str):
        prior = [name for name in SETTINGS if SETTINGS[name].suits(*shape)] if prior == "auto" else [prior]
    chosen: dict[str, Setting] = {}
    for name in prior:
        setting = SETTINGS[name]
        setting = replace(setting, prior=replace(setting.prior, degrees_of_freedom=degrees_of_freedom))
        if order != "auto":
            setting = replace(setting, prior=replace(setting.prior, smoothness_order=int(order)))
        if levels != "auto":
            setting = replace(setting, levels=int(levels), most_rank=Setting.most_rank)
        if setting not in chosen.values():
            chosen[name] = setting
    return chosen


class Stage(NamedTuple):
    """Sweeps on a number of rows: dropped, and of which every so many is kept."""

    rows: int
    burn: int
    draws: int
    thin: int


@dataclass(frozen=True)
class Job:
    """A chain to run: its problem and prior, where it starts, its random numbers, and how missing cells are drawn.

    pmf : None where they are averaged over; heed : see `run_chain`.
    by_blocks : whether a sweep over all rows sees but a block of them, mixed with those before it.
    """

    problem: Problem
    prior: Prior
    chain: Chain
    rng: np.random.Generator
    pmf: LevelPMF | None = None
    heed: float = 1.0
    by_blocks: bool = False

    @property
    def n_blocks(self) -> int:
        """Into how many blocks the rows are cut."""
        if not self.by_blocks:
            return 1
        return number_of_blocks(self.problem.n_rows, self.chain.state.factors, MOST_BLOCKS_OF_SAMPLER)

    def stages(self, n_burn: int, n_draws: int, thin: int) -> list["Stage"]:
        """What the chain does, on parts of the rows first.

        By blocks, it passes over all rows twice at least until the sums are of states that it has come to, and draws in
        as many passes.
        """
        *parts, (rows, sweeps) = burn_in(self.problem.n_rows, n_burn)
        every = 1
        if self.n_blocks > 1:
            passes = _PASSES_BY_BLOCKS * self.n_blocks
            sweeps, every = max(sweeps, passes), max(1, passes // n_draws)
        return [*(Stage(*part, 0, 1) for part in parts), Stage(rows, sweeps, every * n_draws, every * thin)]

    @classmethod
    def new(
        cls,
        problem: Problem,
        setting: Setting,
        error: Array | None,
        rank: int,
        rng: np.random.Generator,
        start: str,
        scores: Sequence[Array],
        pmf: LevelPMF | None = None,
        heed: float = 1.0,
    ) -> "Job":
        """A new chain, whose start is drawn, or fitted by ALS from a start that is; or has predictors act alike.

        scores : of the levels, see `Encoding.scores`.
        """
        rank = min(rank, setting.most_rank)
        if setting.alike > 0.0:
            state = alike_state(LocalSamples(problem), scores, rank, setting.alike, rng)
        elif start == "als":
            state = als_state(problem, rank, rng)
        else:
            state = random_state(problem, rank, rng)
        return cls(problem, adapted_prior(setting, problem, error), Chain(state), rng, pmf, heed)


def adapted_prior(setting: Setting, known: Known, error: Array | None) -> Prior:
    """The prior of a setting for some samples, given mean squared errors (K,) on held-out rows, if known.

    Factors are held nearer to 1 when rows are few per pair of predictors: a product of N factors that vary by more than
    1 / N has heavy tails, which a few rows do not cut. With caution, the prior of the noise is worth that many times
    the rows, with the noise as large as the error.
    """
    M, prior = known.total_weight, setting.prior
    prior = replace(prior, nu=max(prior.nu, known.n_modes**2 / M))
    if setting.caution == 0.0 or error is None:
        return prior
    rows = 0.5 * setting.caution * M
    return replace(prior, noise=(rows, rows * np.maximum(error, 1e-12)))


def burn_in(n_rows: int, n_burn: int) -> list[tuple[int, int]]:
    """On how many rows a chain forgets its start, and for how many sweeps; last on all rows.

    Of many rows a part does: what it does not tell apart yet, the others do within a few sweeps.
    """
    stages, rows, sweeps = [], _ROWS_OF_BURN_IN, n_burn
    while rows < n_rows:
        stages.append((rows, sweeps))
        rows, sweeps = _GROWTH * rows, min(n_burn, _SWEEPS_TO_ADAPT)
    return [*stages, (n_rows, sweeps)]


def run_jobs(
    jobs: Sequence[Job],
    n_burn: int,
    n_draws: int,
    thin: int,
    threads: int,
    go_on: Callable[[Chain], bool],
    stop: threading.Event,
) -> None:
    """Run the chains, as many at a time as there are threads; with fewer, or many rows, each has several threads.

    An error, or an interrupt of the caller, sets `stop` and waits for the chains to end before it is passed on.
    """
    at_once = 1 if max(job.problem.n_rows for job in jobs) >= _MANY_ROWS else min(threads, len(jobs))

    def run(job: Job) -> None:
        order = job.rng.permutation(job.problem.n_rows) if job.problem.n_rows > _ROWS_OF_BURN_IN else None
        with Workers(max(1, threads // at_once)) as workers:
            for stage in job.stages(n_burn, n_draws, thin):
                last = stage.rows == job.problem.n_rows
                problem = job.problem if last or order is None else job.problem.take(np.sort(order[: stage.rows]))
                samples: Samples = LocalSamples(problem, workers)
                if last and job.n_blocks > 1:
                    samples = BlockSamples(LocalSamples(problem, workers), job.n_blocks, job.rng)
                given = (stage.burn, stage.draws, stage.thin, go_on, job.pmf, job.heed)
                if not stop.is_set():
                    run_chain(samples, job.prior, job.chain, job.rng, *given)

    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def stacking_shares(predictions: Array, targets: Array, weights: Array, lean: Array | None = None) -> Array:
    """Non-negative shares (S,), summing to one, of the predictions (S, M, K) whose mixture misses the targets least.

    Small shares are dropped, and the others found anew: what they add is less than what they cost.

    lean : (S,) shares to hold to, where rows are too few to find any: away from them by one in the square counts as
        much as the errors of some rows.
    """
    root = np.sqrt(weights)[:, None]
    columns = (root * predictions).reshape(len(predictions), -1).T
    goal = (root * targets).ravel()
    if lean is not None:
        least = float(((columns - goal[:, None]) ** 2).mean(axis=0).min())
        firmly = np.sqrt(_FIRMNESS * least)
        columns, goal = np.vstack([columns, firmly * np.eye(len(lean))]), np.append(goal, firmly * lean)
    firm = 1e3 * max(1.0, float(np.sqrt((columns**2).sum())))  # the sum of the shares, held as one more equation
    shares, kept = np.zeros(len(predictions)), np.arange(len(predictions))
    while True:
        found, _ = nnls(np.vstack([columns[:, kept], np.full(len(kept), firm)]), np.append(goal, firm))
        large = found >= _LEAST_SHARE * found.sum()
        if large.all():
            shares[kept] = found / found.sum()
            return shares
        kept = kept[large]


def strongest(shares: Array, n: int) -> Array:
    """The n largest shares, made to sum to one; the others are zero."""
    kept = np.zeros_like(shares)
    largest = np.argsort(-shares, kind="stable")[:n]
    kept[largest] = shares[largest]
    return np.asarray(kept / kept.sum())


def chains_per_setting(shares: Array, n_chains: int) -> list[int]:
    """Numbers of chains n_i, at least one for each setting with a share s_i, that minimise sum(s_i^2 / n_i).

    That is the variance of the mean when chains under different settings vary alike.
    """
    counts = (shares > 0.0).astype(np.intp)
    while counts.sum() < n_chains:
        counts[np.argmax(shares**2 / np.maximum(counts * (counts + 1), 1))] += 1
    return [int(count) for count in counts]


def values_at(problem: Problem, chains: Sequence[Chain], pmf: LevelPMF | None = None) -> Array:
    """Values (D, M, K) of the draws of chains at the rows of another problem on the same levels."""
    workers, draws = Workers(), [draw.factors for chain in chains for draw in chain.draws]
    if pmf is None:
        return np.array([values_of_rows(problem, factors, workers) for factors in draws])
    expected = np.mean([expected_values(problem, factors, pmf, workers) for factors in draws], axis=0)
    return completed_values(problem, draws, np.full(len(draws), 1.0 / len(draws)), expected, pmf, workers)
