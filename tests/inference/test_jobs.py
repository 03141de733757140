"""Chains to run: what they start from, on how many rows, and in how many threads."""

import threading
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.encoding import Encoding, OrdinalMode
from csid.inference import jobs as chain_jobs
from csid.inference.gibbs import SampledModel, Sweeps
from csid.inference.jobs import ChainOptions, Job, burn_in, model_of, new_job, run_jobs, thinning
from csid.inference.state import Chain
from csid.inference.treatments import EncodedFold
from csid.likelihoods.gaussian import Gaussian
from csid.priors import CATALOGUE, PriorSpec
from fit.strategies import build_problem

Array = np.ndarray
SWEEPS = Sweeps(8, 5)


def _fold(problem: Problem) -> EncodedFold:
    modes = tuple(OrdinalMode(f"x{n}", np.arange(float(I_n)), False, False) for n, I_n in enumerate(problem.levels))
    return EncodedFold(Encoding(modes, problem.marginals), problem, None, None, None)


def _job(problem: Problem, spec: PriorSpec, rank: int = 2, seed: int = 0) -> Job:
    fold = _fold(problem)
    model = model_of(fold, spec, Gaussian(), None, 1.0)
    return new_job(fold, spec, ChainOptions(Gaussian(), rank), model, np.random.default_rng(seed))


def test_a_prior_bounds_the_rank_of_its_chains() -> None:
    problem = build_problem(0, levels=(3, 3), rows=40)
    ranks = {name: _job(problem, CATALOGUE[name], 32).chain.state.factors.rank for name in ("medium", "finest_grid")}
    assert ranks == {"medium": 32, "finest_grid": 16}


def test_priors_of_informed_noise_are_told_the_held_out_error() -> None:
    problem, error = build_problem(0, levels=(3, 3), rows=400, outputs=2), np.array([0.3, 0.5])
    for name, known, told in [
        ("informed_noise", error, True),
        ("informed_noise", None, False),
        ("medium", error, False),
    ]:
        likelihood = model_of(_fold(problem), CATALOGUE[name], Gaussian(), known, 1.0).likelihood
        assert (likelihood != Gaussian()) == told
        if told:
            assert likelihood.precision_prior.shape == 0.5 * 0.25 * 400
            assert_allclose(likelihood.precision_prior.rate, 0.5 * 0.25 * 400 * error)


def test_slopes_are_shared_under_the_priors_that_say_so() -> None:
    problem = build_problem(0, levels=(4, 5), ordered=[4, 5], rows=50)
    for name, spec in CATALOGUE.items():
        job = _job(problem, spec, 3)
        assert (job.chain.state.prior_mean != 1.0).any() == (name in ("shared_slope", "loose_shared_slope"))


def test_many_rows_are_burnt_in_on_part_of_them() -> None:
    assert burn_in(60_000, 40) == [(60_000, 40)]
    assert burn_in(1_000_000, 40) == [(60_000, 40), (480_000, 3), (1_000_000, 3)]
    assert burn_in(100_000, 0) == [(60_000, 0), (100_000, 0)]


def test_about_ten_draws_are_kept_of_few_and_every_fourth_of_many() -> None:
    assert [thinning(n) for n in (1, 9, 10, 20, 39, 40, 48, 1000)] == [1, 1, 1, 2, 3, 4, 4, 4]


@pytest.mark.parametrize("thin", [1, 2, 3])
def test_every_thin_th_draw_after_the_burn_in_is_kept(thin: int) -> None:
    job = _job(build_problem(0, levels=(3, 3), rows=40), CATALOGUE["medium"])
    run_jobs([job], Sweeps(4, 7, thin), 1, lambda chain: True, threading.Event())
    assert job.chain.kept == list(range(4 + thin - 1, 11, thin))
    assert len(job.chain.draws) == 7 // thin
    assert len(job.chain.trace) == 11
    for draw, sweep in zip(job.chain.draws, job.chain.kept, strict=True):
        assert_allclose(1.0 / np.sqrt(draw.alpha), job.chain.trace[sweep])


def test_chains_see_all_rows_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """First some, drawn at random and the same ones every time, then all, which draws are kept of."""
    monkeypatch.setattr(chain_jobs, "_ROWS_OF_BURN_IN", 10)
    monkeypatch.setattr(chain_jobs, "_GROWTH", 3)
    problem = build_problem(0, rows=50)
    seen: list[tuple[int, int, int]] = []

    def run(samples: LocalSamples, model: SampledModel, chain: Chain, rng: Any, sweeps: Sweeps, *rest: Any) -> None:
        part = samples.problem
        assert set(map(float, part.targets.ravel())) <= set(map(float, problem.targets.ravel()))
        seen.append((part.n_rows, sweeps.burn, sweeps.draws))

    monkeypatch.setattr(chain_jobs, "run_chain", run)
    job = _job(problem, CATALOGUE["medium"])
    run_jobs([job], SWEEPS, 1, lambda chain: True, threading.Event())
    assert seen == [(10, 8, 0), (30, 3, 0), (50, 3, 5)]
    stopped = threading.Event()
    stopped.set()
    run_jobs([job], SWEEPS, 1, lambda chain: True, stopped)
    assert len(seen) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_chains_on_many_rows_run_one_after_another(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(chain_jobs, "_MANY_ROWS", 50)
    problem = build_problem(1, rows=50)
    running: list[int] = []

    def run(*given: Any) -> None:
        running.append(1)
        assert len(running) == 1
        running.pop()

    monkeypatch.setattr(chain_jobs, "run_chain", run)
    jobs = [_job(problem, CATALOGUE["medium"], seed=n) for n in range(4)]
    run_jobs(jobs, Sweeps(1, 1), threads, lambda chain: True, threading.Event())


def test_a_chain_stops_after_its_sweep_when_the_caller_is_interrupted() -> None:
    problem = build_problem(0, levels=(3, 3), rows=50)
    jobs = [_job(problem, CATALOGUE["medium"], seed=n) for n in range(3)]
    stop = threading.Event()

    def keep_going(chain: Any) -> bool:
        if chain is jobs[0].chain:
            raise KeyboardInterrupt
        return not stop.wait(10)

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, Sweeps(5, 5), 1, keep_going, stop)
    assert stop.is_set()
    assert max(len(job.chain.trace) for job in jobs) == 1  # of ten sweeps
