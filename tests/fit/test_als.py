"""Alternating least squares: Eq. (7), its minimisers, and the promises of a fit."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

from csid import CSIDRegressor
from csid._kernels.threads import Workers
from csid.data import samples
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.data.statistics import LevelSums
from csid.inference import als
from csid.inference.als import (
    ALSOptions,
    ALSResult,
    ALSRun,
    ModeSystem,
    Penalties,
    balance_scales,
    fit_als,
    mean_scale,
    mean_squared_error,
    minimise,
    update_bias,
    update_outputs,
)
from csid.inference.numerics import NumericalError
from csid.inference.starts import random_factors
from csid.likelihoods import Likelihood
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.student_t import StudentT
from csid.tensor.factors import Factors, stack_factors
from fit.strategies import als_options, build_factors, build_problem, problems, seeds, with_cells
from fit.systems import data_system, sums_of_mode
from naive import (
    Model,
    gradient,
    level_weights,
    model_of,
    naive_als,
    objective,
    products,
    student_t_losses,
    values,
)

Array = np.ndarray
UPDATES = ("mode", "row", "cg")
GAUSSIAN = Gaussian()
GOLDEN = Path(__file__).parent / "golden" / "smooth_product.json"


def _start(problem: Problem, rank: int = 3, seed: int = 0) -> Factors:
    return random_factors(problem, rank, np.random.default_rng(seed))


def _squared_error_of(held_out: Problem) -> Callable[[Factors, dict[str, Array]], float]:
    """The held-out error of a run, which hands it the parameters of the likelihood as well."""
    return lambda factors, parameters: mean_squared_error(LocalSamples(held_out), factors)


def _fit(
    problem: Problem,
    options: ALSOptions,
    factors: Factors,
    held_out: Problem | None = None,
    likelihood: Likelihood = GAUSSIAN,
) -> ALSResult:
    run = None if held_out is None else ALSRun(held_out_error=_squared_error_of(held_out))
    return fit_als(LocalSamples(problem), options, factors, likelihood, run)


def _minimised(problem: Problem, factors: Factors, k: int, penalty: Array, update: str = "mode") -> tuple[Array, float]:
    """`A_k` after its update, and the size of its system; the row of a missing cell is checked on the way."""
    F, p, sums = factors.rank, problem.marginals[k], sums_of_mode(problem, factors, k)
    padded = factors.padded_factor(k).copy()
    quadratic = ModeSystem(sums, factors.V, mean_scale(problem), penalty, p, bool(problem.any_missing[k]))
    minimise(quadratic, F, padded, update == "row")
    assert_allclose(padded[-1], p @ padded[:-1], rtol=1e-12, atol=1e-12)
    assert not padded[:, F:].any()
    system = data_system(problem, factors, k, sums)
    return padded[:-1, :F], np.abs(system.bands).max() + np.abs(penalty).max() + np.abs(system.missing).max()


def _of_factor(problem: Problem, options: ALSOptions, model: Model, k: int) -> Callable[[Array], float]:
    """Eq. (7) as a function of `A_k` alone."""
    return lambda A: objective(problem, options, _with_factor(model, k, A))


def _with_factor(model: Model, k: int, A: Array) -> Model:
    return model._replace(A=[*model.A[:k], A, *model.A[k + 1 :]])


def _assert_flat(function: Callable[[Array], float], at: Array) -> None:
    """Central differences vanish beside those a step away."""

    def slopes(where: Array) -> Array:
        steps = 1e-5 * np.eye(at.size).reshape(-1, *at.shape)
        return np.array([function(where + step) - function(where - step) for step in steps])

    assert np.abs(slopes(at)).max() < 1e-5 * np.abs(slopes(at + 0.1)).max()


# --- the objective ------------------------------------------------------------------------------------------------


@given(problems(max_modes=3), st.integers(1, 5), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_reported_objective_is_eq_7(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    options = data.draw(als_options(problem.n_modes, max_iter=3))
    factors = _start(problem, rank, seed)
    expected: list[float] = []

    def watch(value: float, held_out: float | None) -> None:
        assert held_out is None
        expected.append(objective(problem, options, model_of(factors)))

    result = fit_als(LocalSamples(problem), options, factors, GAUSSIAN, ALSRun(on_sweep=watch))
    assert_allclose(result.objective, expected, rtol=1e-10, atol=1e-12)
    assert not result.factors.table[:, rank:].any()  # the padding is as it was


@pytest.mark.parametrize("update", UPDATES)
@given(problems(), st.integers(1, 6), seeds, st.data())
@settings(deadline=None, max_examples=60)
def test_no_sweep_raises_the_objective(
    update: str, problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    """With interpolation or not, cells missing, several outputs, any penalty, and none at all."""
    options = data.draw(als_options(problem.n_modes, update=update, max_iter=8, tol=0.0))
    factors = _start(problem, rank, seed)
    before = objective(problem, options, model_of(factors))
    after = np.array([before, *_fit(problem, options, factors).objective])
    # where the data are met exactly, what is left of the targets' squares is rounding too
    rounding = 1e-10 * after[:-1] + 1e-13 * (problem.targets**2).sum(axis=1).mean()
    assert (np.diff(after) <= rounding).all()
    assert np.isfinite(factors.table).all()


def test_a_long_fit_without_ridge_never_rises() -> None:
    """Rows without a predictor, hardly any others, and no ridge: systems that are singular but for rounding."""
    kw: dict[str, Any] = {"levels": (4, 5, 1, 6), "ordered": (3, 5, 0, 5), "rows": 45, "outputs": 3}
    problem = build_problem(594562133, **kw, linear=True, missing=0.9, weighted=True)
    options = ALSOptions(0.0, (1e-3, 1e-3, 0.5, 1e-3), 2, output_smoothness=0.1, max_iter=150, tol=0.0)
    result = _fit(problem, options, _start(problem, 4, 594562133))
    assert (np.diff(result.objective) <= 1e-10 * result.objective[0]).all()


# --- one mode -----------------------------------------------------------------------------------------------------


@given(problems(max_modes=3, max_levels=4, max_rows=30), st.integers(1, 3), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_a_mode_update_zeroes_the_gradient(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    options = data.draw(als_options(problem.n_modes, ridges=(1e-3, 1.0)))
    factors, penalties = build_factors(problem, rank, seed), Penalties.of(problem, options)
    for k in range(problem.n_modes):
        of_factor = _of_factor(problem, options, model_of(factors), k)
        A, scale = _minimised(problem, factors, k, penalties.modes.bands[k])
        size = max(1.0, np.abs(A).max())
        assert_allclose(gradient(of_factor, A), 0.0, atol=1e-9 * scale * size + 1e-11 * of_factor(A))


@given(problems(max_modes=3, max_levels=4, max_rows=30), st.integers(1, 3), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_a_row_update_zeroes_the_gradient_of_each_row_in_turn(
    problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    """When row i is updated, the rows before it are new and those behind it still old."""
    options = data.draw(als_options(problem.n_modes, ridges=(1e-3, 1.0)))
    factors, penalties = build_factors(problem, rank, seed), Penalties.of(problem, options)
    for k in range(problem.n_modes):
        of_factor = _of_factor(problem, options, model_of(factors), k)
        old = factors.factor(k).copy()
        new, scale = _minimised(problem, factors, k, penalties.modes.bands[k], "row")
        for i in range(len(new)):
            A = np.vstack([new[: i + 1], old[i + 1 :]])
            size = max(1.0, np.abs(A).max())
            slope = gradient(of_factor, A)[i]
            assert_allclose(slope, 0.0, atol=1e-9 * scale * size + 1e-11 * of_factor(A))


def test_the_printed_row_update_does_not_minimise_its_own_objective() -> None:
    """The paper's closed form, right under its row objective, has the neighbours' sign wrong and lost the 1/M."""
    problem, rho, mu, k, i = build_problem(0, levels=(5, 4, 3), rows=80), 0.05, 0.3, 0, 2
    options = ALSOptions(ridge=rho, smoothness=(mu,) * 3)
    factors = build_factors(problem, 3, 0)
    factors.V[:, :3] = 1.0
    model = model_of(factors)
    on_level = problem.cells.codes[:, k] == i
    Q = products(level_weights(problem), model.A, [1, 2])[on_level]
    y = problem.targets[on_level, 0] - model.bias[0]
    neighbours = model.A[k][i - 1] + model.A[k][i + 1]

    def slope_after(sign: float, M: float) -> float:
        """Largest slope of Eq. (7) in row i, once it is set by the closed form with this sign and divisor."""
        A = model.A[k].copy()
        H = Q.T @ Q / M + (rho + 2.0 * mu) * np.eye(3)
        A[i] = np.linalg.solve(H, Q.T @ y / M + sign * mu * neighbours)
        return float(np.abs(gradient(_of_factor(problem, options, model, k), A)[i]).max())

    assert slope_after(+1.0, M=problem.total_weight) < 1e-10
    assert slope_after(-1.0, M=1.0) > 1e-2  # as printed
    assert slope_after(-1.0, M=problem.total_weight) > 1e-2  # the sign alone
    assert slope_after(+1.0, M=1.0) > 1e-2  # the 1/M alone


@pytest.mark.parametrize("update", ["mode", "row"])
def test_a_singular_mode_moves_only_where_the_data_speak(update: str) -> None:
    """No ridge, and a level without rows: its row stays, the other rows reach their minimum."""
    problem = build_problem(1, levels=(5, 3), rows=200)
    problem.cells.codes[problem.cells.codes[:, 0] == 2, 0] = 1
    factors = build_factors(problem, 2, 1)
    old = factors.factor(0).copy()
    new, _ = _minimised(problem, factors, 0, np.zeros((1, 5)), update)
    assert_array_equal(new[2], old[2])
    bare = ALSOptions(ridge=0.0, smoothness=(0.0, 0.0))
    slope = gradient(_of_factor(problem, bare, model_of(factors), 0), new)
    assert_allclose(slope, 0.0, atol=1e-8)


@given(problems(max_modes=3, max_levels=4), st.integers(1, 4), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_output_update_zeroes_the_gradient(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    options = data.draw(als_options(problem.n_modes, ridges=(1e-3, 1.0)))
    problem = replace(problem, targets=np.random.default_rng(seed).standard_normal((problem.n_rows, 3)))
    factors = build_factors(problem, rank, seed)
    update_outputs(LocalSamples(problem), Penalties.of(problem, options), factors)
    model = model_of(factors)
    slope = gradient(lambda V: objective(problem, options, model._replace(V=V)), model.V)
    scale = (products(level_weights(problem), model.A, range(problem.n_modes)) ** 2).max() + 1.0
    assert_allclose(slope, 0.0, atol=1e-9 * scale * max(1.0, np.abs(model.V).max()))


@given(problems(max_modes=3), st.integers(1, 5), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_bias_update_zeroes_the_gradient_and_reports_the_objective(
    problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    options = data.draw(als_options(problem.n_modes))
    factors = build_factors(problem, rank, seed)
    value = update_bias(LocalSamples(problem), Penalties.of(problem, options), factors)
    model = model_of(factors)

    def of_bias(bias: Array) -> float:
        return objective(problem, options, model._replace(bias=bias))

    assert_allclose(gradient(of_bias, model.bias), 0.0, atol=1e-10 * max(1.0, of_bias(model.bias)))
    assert_allclose(value, of_bias(model.bias), rtol=1e-9, atol=1e-11)


# --- scales -------------------------------------------------------------------------------------------------------


@given(problems(), st.integers(1, 5), seeds, st.data())
@settings(deadline=None, max_examples=60)
def test_balancing_keeps_predictions_and_never_raises_the_penalty(
    problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    penalties = Penalties.of(problem, data.draw(als_options(problem.n_modes)))
    factors = build_factors(problem, rank, seed)
    if problem.n_outputs == 1:
        factors.V[:, :rank] = 1.0
    before, cost = values(problem, model_of(factors)), penalties.per_component(factors)
    balance_scales(penalties.per_component(factors), factors)
    balanced = penalties.per_component(factors)
    assert_allclose(values(problem, model_of(factors)), before, rtol=1e-9, atol=1e-9 * np.abs(before).max())
    assert (balanced.sum(axis=0) <= cost.sum(axis=0) * (1 + 1e-12)).all()
    paying = (cost > 0).all(axis=0)
    assert_allclose(balanced[:, paying], np.broadcast_to(balanced[0, paying], balanced[:, paying].shape), rtol=1e-9)
    assert_array_equal(balanced[:, ~paying], cost[:, ~paying])
    for n, p in enumerate(problem.marginals):  # rows of missing cells move along
        assert_allclose(factors.table[factors.offsets[n] + len(p), :rank], p @ factors.factor(n), atol=1e-12)


@pytest.mark.parametrize("update", UPDATES)
def test_a_dead_component_stays_harmless(update: str) -> None:
    """A component that is zero in two factors has no gradient in either: it stays zero, and the rest fits on."""
    problem = build_problem(2, levels=(4, 3, 5), rows=60, linear=True, missing=0.1)
    options = ALSOptions(ridge=1e-3, smoothness=(1e-2,) * 3, update=update, max_iter=20, tol=0.0)
    alive, dead = _start(problem, 2), _start(problem, 3)
    for n in range(3):
        A = np.hstack([alive.factor(n), np.full((int(problem.levels[n]), 1), 0.0 if n < 2 else 1.0)])
        dead.set_factor(n, A)
    results = [_fit(problem, options, factors) for factors in (alive, dead)]
    assert not any(dead.factor(n)[:, 2].any() for n in range(2))
    assert np.isfinite(dead.table).all()
    assert_allclose(values(problem, model_of(dead)), values(problem, model_of(alive)), rtol=1e-6, atol=1e-6)
    wasted = Penalties.of(problem, options).per_component(dead)[:, 2].sum()  # of its third factor, until it is gone too
    assert_allclose(results[1].objective[-1] - wasted, results[0].objective[-1], rtol=1e-6)


@pytest.mark.parametrize("update", ["mode", "row"])
def test_no_component_lingers_below_the_rounding_of_the_targets(update: str) -> None:
    """A ridge that is too strong brings components to zero, and sums over rows meet none on the way there."""
    sizes: list[float] = []

    class Watched(LocalSamples):
        def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
            for k, sums in super().sums_by_mode(factors):
                norms = [np.linalg.norm(factors.factor(n), axis=0) for n in range(factors.n_modes)]
                sizes.extend(np.prod(norms, axis=0).tolist())
                yield k, sums

    problem = build_problem(2, levels=(4, 3, 5, 4), rows=60, linear=True)
    options = ALSOptions(ridge=0.5, smoothness=(1e-2,) * 4, update=update, max_iter=20, tol=0.0)
    factors = _start(problem)
    fit_als(Watched(problem), options, factors, GAUSSIAN)
    assert min(sizes[:3]) > 0.0
    assert not factors.table[:-1].any()
    assert all(size == 0.0 or size > 1e-16 for size in sizes)


def test_components_that_are_gone_are_not_summed_over() -> None:
    """And those that are left fit as if they had been alone from the start."""
    ranks = []

    class Watched(LocalSamples):
        def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
            ranks.append(factors.rank)
            return super().sums_by_mode(factors)

    problem = build_problem(2, levels=(4, 3, 5), rows=60, linear=True, missing=0.1, outputs=2)
    options = ALSOptions(ridge=1e-4, smoothness=(1e-2,) * 3, max_iter=5, tol=0.0)
    alone, among = _start(problem, 2), _start(problem, 4)
    among.table[:-1, :4] = 0.0
    among.set_components(np.array([1, 3]), alone)
    results = [fit_als(Watched(problem), options, factors, GAUSSIAN) for factors in (alone, among)]
    assert set(ranks) == {2}
    assert_array_equal(results[0].objective, results[1].objective)
    assert_array_equal(among.table[:, [1, 3]], alone.table[:, :2])
    assert not among.table[:-1, [0, 2]].any()


# --- a whole fit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["complete", "missing"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_three_sweeps_are_those_of_the_naive_twin(linear: bool, missing: float, outputs: int, order: int) -> None:
    kw: dict[str, Any] = {"levels": (6, 1, 4, 5), "ordered": (6, 1, 0, 4), "rows": 200, "outputs": outputs}
    problem = build_problem(3, **kw, linear=linear, missing=missing, weighted=True)
    options = ALSOptions(1e-3, (0.1, 0.1, 0.1, 0.02), order, output_smoothness=0.05, max_iter=3)
    model, history = naive_als(problem, options, _start(problem), 3)
    result = _fit(problem, options, _start(problem))
    fitted = model_of(result.factors)
    assert_allclose(result.objective, history, rtol=1e-9)
    for fast, slow in zip(fitted.A, model.A, strict=True):
        assert_allclose(fast, slow, rtol=1e-8, atol=1e-8)
    assert_allclose(fitted.V, model.V, rtol=1e-8, atol=1e-8)
    assert_allclose(fitted.bias, model.bias, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_all_updates_reach_the_same_objective(linear: bool, outputs: int) -> None:
    """Where the data leave one solution, the way there does not matter."""
    problem = build_problem(4, levels=(5, 4, 3), rows=400, outputs=outputs, linear=linear, missing=0.1)
    truth = build_factors(problem, 2, 4)
    noise = np.random.default_rng(4).normal(0.0, 0.1, problem.targets.shape)
    problem = replace(problem, targets=values(problem, model_of(truth)) + noise)
    final = {}
    for update in UPDATES:
        options = ALSOptions(1e-3, (1e-3,) * 3, update=update, max_iter=3000, tol=1e-13)
        result = _fit(problem, options, _start(problem, 2, seed=1))
        assert result.status == "converged"
        final[update] = result.objective[-1]
    assert_allclose([final["row"], final["cg"]], final["mode"], rtol=1e-8)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
def test_no_ridge_and_empty_levels(update: str, linear: bool) -> None:
    """Levels that no row touches, rank beyond the rows of others: singular everywhere, and still a fit."""
    problem = build_problem(5, levels=(12, 9, 3), rows=25, outputs=2, linear=linear, missing=0.1)
    empty = [np.bincount(problem.cells.codes[:, n], minlength=13)[: problem.levels[n]] == 0 for n in range(2)]
    assert any(e.any() for e in empty)
    options = ALSOptions(0.0, (0.0,) * 3, update=update, max_iter=40, tol=0.0)
    start = _start(problem, 6)
    before = objective(problem, options, model_of(start))
    result = _fit(problem, options, start)
    assert np.isfinite(result.factors.table).all()
    assert np.isfinite(result.factors.V).all()
    assert (np.diff([before, *result.objective]) <= 1e-10 * before).all()
    assert result.objective[-1] < 0.1 * before


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("size", [1e60, 1e120, 1e200])
def test_overflow_is_a_numerical_error(update: str, size: float) -> None:
    """And nothing else: no warning of NumPy's comes before it, in any thread."""
    problem = build_problem(6, levels=(4, 3, 2), rows=30, linear=True, missing=0.2)
    A = tuple(np.full((int(I_n), 3), size) for I_n in problem.levels)
    options = ALSOptions(1e-3, (1e-3,) * 3, update=update)
    start = stack_factors(A, np.ones((1, 3)), np.zeros(1), problem.marginals)
    with Workers(2) as workers, pytest.raises(NumericalError, match="overflow"):
        fit_als(LocalSamples(problem, workers), options, start, GAUSSIAN)


def test_early_stopping_returns_the_factors_of_the_best_sweep() -> None:
    """On pure noise the held-out error soon rises; what is returned predicts as it did at its lowest."""
    problem, held_out = (build_problem(seed, levels=(6, 5, 4), rows=60) for seed in (7, 8))
    problem = replace(problem, marginals=held_out.marginals)
    options = ALSOptions(1e-4, (0.0,) * 3, max_iter=50, n_iter_no_change=4)
    result = _fit(problem, options, _start(problem, 4), held_out)
    best = int(np.argmin(result.validation))
    assert result.status == "early_stopped"
    assert best < len(result.validation) - 1
    assert result.best_sweep == best
    assert result.criterion == result.validation[best]
    assert mean_squared_error(LocalSamples(held_out), result.factors) == result.validation[best]
    again = _fit(problem, replace(options, max_iter=best + 1), _start(problem, 4))
    assert_array_equal(result.factors.table, again.factors.table)


def test_the_held_out_error_is_a_weighted_mean() -> None:
    problem = build_problem(9, levels=(3, 4), rows=50, outputs=2, linear=True, missing=0.2, weighted=True)
    factors = build_factors(problem, 3, 9)
    errors = ((problem.targets - values(problem, model_of(factors))) ** 2).sum(axis=1)
    error = mean_squared_error(LocalSamples(problem), factors)
    assert_allclose(error, np.average(errors, weights=problem.weights), rtol=1e-12)


def test_when_a_fit_stops() -> None:
    problem = build_problem(10, levels=(4, 3), rows=40)
    options = ALSOptions(1e-2, (1e-2,) * 2, max_iter=3, tol=0.0, n_iter_no_change=50)
    cut_short = _fit(problem, options, _start(problem))
    assert (cut_short.status, len(cut_short.objective)) == ("max_iter", 3)
    converged = _fit(problem, replace(options, max_iter=500, tol=1e-3, n_iter_no_change=4), _start(problem))
    assert converged.status == "converged"
    steps = np.array(converged.objective)
    progress = steps[1:] < np.minimum.accumulate(steps)[:-1] * (1 - 1e-3)
    assert not progress[-4:].any()
    assert converged.validation == []


# --- heavy tails --------------------------------------------------------------------------------------------------


class _Watched(StudentT):
    """Remembers the precisions at which losses were taken."""

    taken: ClassVar[list[float]] = []

    def losses(self, targets: Array, eta: Array, parameters: dict[str, Array]) -> Array:
        self.taken.append(float(parameters["alpha"].min()))
        return super().losses(targets, eta, parameters)


@given(problems(max_modes=3), st.integers(1, 5), seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_reported_objective_is_that_of_students_t(
    problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    """Eq. (7) with the logarithm of the density in place of the squared error."""
    options, df = data.draw(als_options(problem.n_modes, max_iter=3)), data.draw(st.sampled_from([2.5, 4.0, 30.0]))
    factors, expected = _start(problem, rank, seed), []

    def watch(value: float, held_out: float | None) -> None:
        expected.append(objective(problem, options, model_of(factors), student_t_losses(df, _Watched.taken[-1])))

    run = ALSRun(on_sweep=watch)
    result = fit_als(LocalSamples(problem), options, factors, _Watched(degrees_of_freedom=df), run)
    size = (problem.targets**2).sum(axis=1).mean()
    assert_allclose(result.objective, expected, rtol=1e-7, atol=1e-12 * size)


@pytest.mark.parametrize("update", UPDATES)
@given(problems(), st.integers(1, 6), seeds, st.data())
@settings(deadline=None, max_examples=60)
def test_no_sweep_raises_the_objective_of_students_t(
    update: str, problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    """With the scale of the noise found on the way, for tails of any weight, and targets far off."""
    options = data.draw(als_options(problem.n_modes, update=update, max_iter=8, tol=0.0))
    likelihood = StudentT(degrees_of_freedom=data.draw(st.sampled_from([2.5, 4.0, 30.0])))
    far_off = np.random.default_rng([seed, 3]).random((problem.n_rows, 1)) < data.draw(st.sampled_from([0.0, 0.1]))
    problem = replace(problem, targets=np.where(far_off, 50.0 * problem.targets, problem.targets))
    factors = _start(problem, rank, seed)
    losses = student_t_losses(likelihood.degrees_of_freedom, float(likelihood.start(problem)["alpha"].min()))
    before = objective(problem, options, model_of(factors), losses)
    after = np.array([before, *_fit(problem, options, factors, likelihood=likelihood).objective])
    rounding = 1e-10 * after[:-1] + 1e-13 * (problem.targets**2).sum(axis=1).mean()
    assert (np.diff(after) <= rounding).all()
    assert np.isfinite(factors.table).all()


@pytest.mark.parametrize("linear", [False, True], ids=["constant", "linear"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_fixed_point_of_students_t_is_stationary(outputs: int, linear: bool) -> None:
    """The objective is flat in all factors and the bias, and the precision is its likeliest value, or just above.

    Above, because it only rises on the way: see `LocationScale.maximised`.
    """
    kw: dict[str, Any] = {"levels": (4, 3, 2), "ordered": (4, 3, 0), "rows": 150, "outputs": outputs}
    problem = build_problem(4, **kw, linear=linear, missing=0.1, weighted=True)
    truth, rng = build_factors(problem, 2, 4), np.random.default_rng(4)
    noise = 0.3 * rng.standard_t(3.0, problem.targets.shape)
    problem = replace(problem, targets=values(problem, model_of(truth)) + noise)
    options = ALSOptions(1e-3, (1e-2,) * 3, max_iter=2000, tol=0.0, n_iter_no_change=2000)
    likelihood = _Watched(degrees_of_freedom=3.0)
    model = model_of(_fit(problem, options, _start(problem, 2), likelihood=likelihood).factors)
    alpha, df, K = likelihood.taken[-1], likelihood.degrees_of_freedom, outputs
    losses = student_t_losses(df, alpha)

    for k in range(3):
        of_factor = partial(lambda k, A: objective(problem, options, _with_factor(model, k, A), losses), k)
        _assert_flat(of_factor, model.A[k])
    _assert_flat(lambda bias: objective(problem, options, model._replace(bias=bias), losses), model.bias)
    if K > 1:
        _assert_flat(lambda V: objective(problem, options, model._replace(V=V), losses), model.V)

    squares = ((problem.targets - values(problem, model)) ** 2).sum(axis=1)

    def slope_of_likelihood(alpha: float) -> float:
        return K * problem.total_weight / alpha - problem.weights @ ((df + K) * squares / (df + alpha * squares))

    likeliest = brentq(slope_of_likelihood, 1e-3, 1e6, xtol=1e-12)
    assert likeliest * (1.0 - 1e-4) <= alpha < 1.05 * likeliest


def test_gross_outliers_pull_less_under_students_t() -> None:
    """One row in ten is far off: the fit is nearly as good as without them, and far better than the Gaussian one."""
    problem, rng = build_problem(5, levels=(6, 5, 4), rows=800, linear=True), np.random.default_rng(5)
    x = problem.cells.codes + problem.cells.fractions
    exact = (np.sin(x[:, 0]) * np.sqrt(1.0 + x[:, 1]) + 0.3 * x[:, 2])[:, None]
    exact = (exact - exact.mean()) / exact.std()
    clean = exact + 0.1 * rng.standard_normal(exact.shape)
    far_off = np.where(rng.random(exact.shape) < 0.1, 10.0 + 10.0 * rng.random(exact.shape), 0.0)
    options = ALSOptions(1e-4, (1e-3,) * 3, max_iter=200)

    def error(targets: Array, likelihood: Likelihood) -> float:
        rows = replace(problem, targets=targets)
        result = _fit(rows, options, _start(rows), likelihood=likelihood)
        return float(np.sqrt(np.mean((values(problem, model_of(result.factors)) - exact) ** 2)))

    heavy, normal = error(clean + far_off, StudentT()), error(clean + far_off, GAUSSIAN)
    assert heavy < 0.1 * normal
    assert heavy < 1.1 * error(clean, GAUSSIAN)


def test_a_constant_output_leaves_the_others_alone_under_students_t() -> None:
    """Its own precision would be huge, as it has no variance: least squares has one precision for all outputs."""
    problem, rng = build_problem(6, levels=(5, 4), rows=300, outputs=2), np.random.default_rng(6)
    truth = values(problem, model_of(build_factors(problem, 2, 6)))[:, 0]
    exact = (truth - truth.mean()) / truth.std()
    targets = np.column_stack([exact + 0.1 * rng.standard_normal(300), np.zeros(300)])
    options = ALSOptions(1e-4, (1e-3,) * 2, max_iter=200)
    result = _fit(replace(problem, targets=targets), options, _start(problem), likelihood=StudentT())
    fitted = values(problem, model_of(result.factors))
    assert np.sqrt(np.mean((fitted[:, 0] - exact) ** 2)) < 0.1
    assert_allclose(fitted[:, 1], 0.0, atol=0.02)


# --- the paper's examples of low rank -----------------------------------------------------------------------------


def _recover(function: Callable[[Array], Array], rank: int) -> float:
    """Largest error over all 1024 cells, of a fit to 400 of them."""
    cells = np.array(list(itertools.product([-2.0, -1.0, 1.0, 2.0], repeat=5)))
    seen = np.random.default_rng(0).choice(len(cells), 400, replace=False)
    model = CSIDRegressor(
        rank,
        interpolation="constant",
        ridge=1e-12,
        smoothness=0.0,
        n_init=10,  # one start in two or three finds it
        max_iter=500,
        tol=1e-6,
        early_stopping=False,
        random_state=0,
    )
    model.fit(cells[seen], function(cells[seen]))
    return float(np.abs(model.predict(cells) - function(cells)).max())


def test_a_product_of_signs_is_recovered_at_rank_one() -> None:
    assert _recover(lambda X: np.sign(X).prod(axis=1), rank=1) < 1e-6


def test_a_sum_of_signs_is_recovered_at_rank_n() -> None:
    assert _recover(lambda X: np.sign(X).sum(axis=1), rank=5) < 1e-6


def test_als_recovers_a_product_of_signs_from_a_bias_at_the_mean() -> None:
    """The same cells without the estimator's choice of start: what the algorithm itself can do, best of ten starts."""
    cells = np.array(list(itertools.product(range(4), repeat=5)))
    signs = np.where(cells < 2, -1.0, 1.0).prod(axis=1)[:, None]
    every = with_cells(build_problem(0, levels=(4,) * 5, rows=1024), codes=cells.astype(np.uint8))
    every = replace(every, targets=signs)
    problem = every.take(np.random.default_rng(0).choice(1024, 400, replace=False))
    options = ALSOptions(ridge=1e-12, smoothness=(0.0,) * 5, max_iter=500, tol=1e-6)
    results = []
    for seed in range(10):
        factors = _start(problem, 1, seed)
        factors.bias[:] = problem.targets.mean(axis=0)
        results.append(_fit(problem, options, factors))
    best = min(results, key=lambda result: result.criterion)
    assert_allclose(values(every, model_of(best.factors)), signs, atol=1e-6)


# --- a stored fit -------------------------------------------------------------------------------------------------


def golden_fit() -> dict[str, Any]:
    """A small fit that a change may not move unnoticed; `python tests/fit/test_als.py` stores it anew."""
    seed, rows, rank = 2020, 120, 3
    chosen: dict[str, Any] = {"ridge": 1e-3, "smoothness": [1e-2, 1e-2, 1e-2], "smoothness_order": 1, "max_iter": 15}
    problem = build_problem(seed, levels=(6, 5, 4), ordered=(6, 5, 0), rows=rows, linear=True, missing=0.1)
    x = problem.cells.codes + problem.cells.fractions
    targets = np.sin(x[:, 0]) * np.sqrt(1.0 + x[:, 1]) + 0.3 * x[:, 2]
    problem = replace(problem, targets=targets[:, None])
    result = _fit(problem, ALSOptions(**chosen, tol=0.0), _start(problem, rank, seed))
    predictions = values(problem, model_of(result.factors))[:8, 0]
    return {
        "seed": seed,
        "rows": rows,
        "rank": rank,
        "options": chosen,
        "objective": result.objective[-1],
        "predictions": predictions.tolist(),
    }


def test_the_golden_fit_has_not_moved() -> None:
    stored, fitted = json.loads(GOLDEN.read_text()), golden_fit()
    assert {key: fitted[key] for key in ("seed", "rows", "rank", "options")} == {
        key: stored[key] for key in ("seed", "rows", "rank", "options")
    }
    assert_allclose(fitted["objective"], stored["objective"], rtol=1e-6)
    assert_allclose(fitted["predictions"], stored["predictions"], rtol=1e-6)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden_fit(), indent=2) + "\n")


def test_single_precision_is_for_early_sweeps_over_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it the objective falls all the way, and ends where double precision ends."""
    problem = build_problem(3, levels=(6, 5, 7), rows=400, linear=True)
    options = ALSOptions(ridge=1e-3, smoothness=(1e-2,) * 3, max_iter=200, tol=1e-12)
    start = random_factors(problem, 3, np.random.default_rng(0))
    double = _fit(problem, options, start.copy())
    types: list[str] = []
    sums = samples.level_sums

    def watched(problem: Problem, factors: Factors, *rest: Any) -> Any:
        types.append(factors.table.dtype.name)
        return sums(problem, factors, *rest)

    monkeypatch.setattr(als, "_MANY_ROWS", 400)
    monkeypatch.setattr(samples, "level_sums", watched)
    result = _fit(problem, options, start.copy())
    assert types[:3] == ["float32"] * 3
    assert types[-3:] == ["float64"] * 3
    assert (np.diff(result.objective) <= 1e-12).all()
    assert_allclose(result.objective[-1], double.objective[-1], rtol=1e-3)
    assert not np.array_equal(result.objective[:5], double.objective[:5])
