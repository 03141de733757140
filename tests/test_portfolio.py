"""The choice and the weights of priors."""

import threading
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from csid import portfolio
from csid._fit.gibbs import Chain
from csid._fit.samples import LocalSamples
from csid.portfolio import (
    SETTINGS,
    Job,
    adapted_prior,
    burn_in,
    chains_per_setting,
    chosen_settings,
    leaning,
    run_jobs,
    stacking_shares,
    strongest,
)
from fit.strategies import build_problem

FEW_ROWS = (100, 10)


def test_parameters_narrow_the_settings() -> None:
    assert chosen_settings("auto", "auto", "auto", np.inf, FEW_ROWS) == SETTINGS
    assert list(chosen_settings(["fine", "stiff"], "auto", "auto", np.inf, FEW_ROWS)) == ["fine", "stiff"]
    with_levels = chosen_settings("auto", 25, "auto", np.inf, FEW_ROWS)
    assert {setting.levels for setting in with_levels.values()} == {25}
    assert not {"fine", "finest"} & set(with_levels)  # with the levels given they are "medium" once more
    of_order_two = chosen_settings("auto", "auto", 2, np.inf, FEW_ROWS)
    assert {setting.prior.smoothness_order for setting in of_order_two.values()} == {2}
    heavy = chosen_settings("auto", "auto", "auto", 4.0, FEW_ROWS)
    assert {setting.prior.degrees_of_freedom for setting in heavy.values()} == {4.0}


@pytest.mark.parametrize(("rows", "few"), [(199, True), (200, False)])
def test_predictors_act_alike_only_where_rows_are_few_or_a_user_says_so(rows: int, few: bool) -> None:
    alike = {name for name, setting in SETTINGS.items() if setting.alike}
    assert alike == {"alike", "akin"}
    assert alike & set(chosen_settings("auto", "auto", "auto", np.inf, (rows, 10))) == (alike if few else set())
    assert list(chosen_settings("alike", "auto", "auto", np.inf, (rows, 10))) == ["alike"]


@pytest.mark.parametrize("outputs", [1, 2])
def test_shares_minimise_the_weighted_squared_error(outputs: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((200, outputs))
    predictions = np.array([truth + s * rng.standard_normal(truth.shape) for s in (0.5, 0.7, 3.0)])
    weights = rng.uniform(0.5, 2.0, 200)

    def error(shares: np.ndarray) -> float:
        return float(weights @ ((truth - np.tensordot(shares, predictions, 1)) ** 2).sum(axis=1))

    whole = {"type": "eq", "fun": lambda shares: shares.sum() - 1.0}
    best = minimize(error, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[whole])
    shares = stacking_shares(predictions, truth, weights)
    assert_allclose(shares.sum(), 1.0)
    assert shares[2] == 0.0  # below the least share that is kept
    assert error(shares) < 1.02 * best.fun


@pytest.mark.parametrize("rows", [20, 2000])
def test_shares_lean_as_much_as_some_rows_do(rows: int) -> None:
    """The minimum of the squared errors plus ten times the least mean of them, for each unit away in the square."""
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((rows, 1))
    predictions = np.array([truth + 0.5 * rng.standard_normal(truth.shape) for _ in range(3)])
    weights, lean = np.ones(rows), np.array([0.0, 0.0, 1.0])
    least = float(((truth - predictions) ** 2).mean(axis=(1, 2)).min())

    def objective(shares: np.ndarray) -> float:
        missed = float(((truth - np.tensordot(shares, predictions, 1)) ** 2).sum())
        return missed + 10.0 * least * float(((shares - lean) ** 2).sum())

    whole = {"type": "eq", "fun": lambda shares: shares.sum() - 1.0}
    best = minimize(objective, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[whole], tol=1e-10)
    assert_allclose(stacking_shares(predictions, truth, weights, lean), best.x, atol=1e-4)
    assert (best.x[2] > 0.5) == (rows == 20)


def test_shares_lean_to_the_settings_for_few_rows_alone() -> None:
    medium, stiff, alike, akin = (SETTINGS[name] for name in ("medium", "stiff", "alike", "akin"))
    assert leaning([medium, stiff]) is None
    assert_allclose(leaning([medium, alike, stiff, akin]), [0.0, 0.5, 0.0, 0.5])


def test_a_perfect_prediction_takes_all() -> None:
    truth = np.random.default_rng(0).standard_normal((50, 1))
    assert_allclose(stacking_shares(np.array([truth, truth + 1.0]), truth, np.ones(50)), [1.0, 0.0])


def test_every_share_has_a_chain() -> None:
    assert chains_per_setting(np.array([0.9, 0.06, 0.0, 0.04]), 6) == [4, 1, 0, 1]
    assert chains_per_setting(np.array([0.5, 0.3, 0.2]), 1) == [1, 1, 1]


@pytest.mark.parametrize("shares", [(0.6, 0.4, 0.0), (0.5, 0.3, 0.2), (1 / 3, 1 / 3, 1 / 3)])
def test_chains_are_where_they_lower_the_variance_most(shares: tuple[float, ...]) -> None:
    def variance(counts: Sequence[int]) -> float:
        return sum(share**2 / count for share, count in zip(shares, counts, strict=True) if share)

    ways = [way for way in product(range(9), repeat=3) if sum(way) == 8]
    ways = [way for way in ways if all((n > 0) == (s > 0) for n, s in zip(way, shares, strict=True))]
    assert_allclose(variance(chains_per_setting(np.array(shares), 8)), min(map(variance, ways)))


def test_a_setting_bounds_the_rank_of_its_chains() -> None:
    problem, rng = build_problem(0, levels=(3, 3), rows=40), np.random.default_rng(0)
    ranks = {
        name: Job.new(problem, SETTINGS[name], None, 32, rng, "random", ()).chain.state.factors.rank
        for name in ("medium", "finest")
    }
    assert ranks == {"medium": 32, "finest": 16}


def test_few_rows_tighten_the_prior() -> None:
    medium = SETTINGS["medium"]
    assert adapted_prior(medium, build_problem(0, levels=(3, 3), rows=400), None) == medium.prior
    assert adapted_prior(medium, build_problem(0, levels=(3,) * 10, rows=20), None).nu == 5.0


def test_a_cautious_setting_heeds_the_error_on_held_out_rows() -> None:
    problem, error = build_problem(0, levels=(3, 3), rows=400, outputs=2), np.array([0.3, 0.5])
    shape, rate = adapted_prior(SETTINGS["steady"], problem, error).noise
    assert shape == 0.5 * 0.25 * 400
    assert_allclose(rate, shape * error)
    assert adapted_prior(SETTINGS["steady"], problem, None).noise == SETTINGS["steady"].prior.noise
    assert adapted_prior(SETTINGS["medium"], problem, error).noise == SETTINGS["medium"].prior.noise


def test_only_the_largest_shares_are_kept() -> None:
    assert_allclose(strongest(np.array([0.1, 0.5, 0.0, 0.4]), 2), [0.0, 5 / 9, 0.0, 4 / 9])
    assert_allclose(strongest(np.array([0.1, 0.5, 0.4]), 8), [0.1, 0.5, 0.4])


def test_many_rows_are_burnt_in_on_part_of_them() -> None:
    assert burn_in(60_000, 40) == [(60_000, 40)]
    assert burn_in(1_000_000, 40) == [(60_000, 40), (480_000, 3), (1_000_000, 3)]
    assert burn_in(100_000, 0) == [(60_000, 0), (100_000, 0)]


def test_chains_see_all_rows_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """First some, drawn at random and the same ones every time, then all, which draws are kept of."""
    monkeypatch.setattr(portfolio, "_ROWS_OF_BURN_IN", 10)
    monkeypatch.setattr(portfolio, "_GROWTH", 3)
    problem = build_problem(0, rows=50)
    seen: list[tuple[int, int, int]] = []

    def run(samples: LocalSamples, prior: Any, chain: Chain, rng: Any, burn: int, draws: int, *_: Any) -> None:
        part = samples.problem
        assert set(map(float, part.targets.ravel())) <= set(map(float, problem.targets.ravel()))
        seen.append((part.n_rows, burn, draws))

    monkeypatch.setattr(portfolio, "run_chain", run)
    job = Job.new(problem, SETTINGS["medium"], None, 2, np.random.default_rng(0), "random", ())
    run_jobs([job], 8, 5, 1, 1, lambda chain: True, threading.Event())
    assert seen == [(10, 8, 0), (30, 3, 0), (50, 3, 5)]
    stopped = threading.Event()
    stopped.set()
    run_jobs([job], 8, 5, 1, 1, lambda chain: True, stopped)
    assert len(seen) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_chains_on_many_rows_run_one_after_another(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(portfolio, "_MANY_ROWS", 50)
    problem = build_problem(1, rows=50)
    running: list[int] = []

    def run(*given: Any) -> None:
        running.append(1)
        assert len(running) == 1
        running.pop()

    monkeypatch.setattr(portfolio, "run_chain", run)
    jobs = [Job.new(problem, SETTINGS["medium"], None, 2, np.random.default_rng(n), "random", ()) for n in range(4)]
    run_jobs(jobs, 1, 1, 1, threads, lambda chain: True, threading.Event())


def test_predictors_have_a_slope_in_common_under_the_settings_that_say_so() -> None:
    problem = build_problem(0, levels=(4, 5), ordered=[4, 5], rows=50)
    scores = [np.linspace(-1.0, 1.0, 4), np.linspace(-1.0, 1.0, 5)]
    for name, setting in SETTINGS.items():
        job = Job.new(problem, setting, None, 3, np.random.default_rng(0), "random", scores)
        assert (job.chain.state.centre != 1.0).any() == (name in ("alike", "akin"))
