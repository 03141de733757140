"""Sums over rows: the systems of the paper's quadratics, whatever the grouping of modes and the number of threads."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels import threads
from csid._kernels.threads import Workers, row_parts
from csid.data import statistics
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.data.statistics import LevelSums, level_sums, output_sums, partial_products, residual_sums
from csid.inference.als import ALSOptions, ALSRun, fit_als, mean_squared_error
from csid.inference.starts import random_factors
from csid.likelihoods.gaussian import Gaussian
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors
from fit.strategies import build_factors, build_problem, problems, ranks, seeds
from fit.systems import data_system
from naive import gradient, mode_system, model_of, objective, output_system, values

Array = np.ndarray
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
GAUSSIAN = Gaussian()


def _sums(problem: Problem, factors: Factors, workers: Workers) -> list[LevelSums]:
    """Those of every mode, at fixed factors."""
    visits = partial_products(problem, factors, workers)
    return [level_sums(problem, factors, k, outside, modes, workers) for k, outside, modes in visits]


def _systems(problem: Problem, factors: Factors) -> list[tuple[Array, Array]]:
    """The data's part of every mode's quadratic, densely."""
    sums = _sums(problem, factors, Workers())
    return [data_system(problem, factors, k, sums[k]).dense(problem.marginals[k]) for k in range(problem.n_modes)]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small problems into many parts."""
    monkeypatch.setattr(threads, "_ROWS_PER_PART", 7)


@pytest.fixture
def two_threads() -> Iterator[Workers]:
    with Workers(2) as workers:
        yield workers


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=60)
def test_normal_equations(problem: Problem, rank: int, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    for k, (H, r) in enumerate(_systems(problem, factors)):
        expected_H, expected_r = mode_system(problem, model_of(factors), k)
        assert_allclose(H, expected_H, **TIGHT)
        assert_allclose(r, expected_r, **TIGHT)


@given(problems(max_modes=3, max_levels=4, max_rows=20), st.integers(1, 4), seeds)
@settings(deadline=None, max_examples=40)
def test_the_gradient_of_the_objective_is_twice_h_a_minus_r(problem: Problem, rank: int, seed: int) -> None:
    """Finite differences of Eq. (7) without penalties, independent of any normal equations."""
    factors = build_factors(problem, rank, seed)
    model = model_of(factors)
    bare = ALSOptions(ridge=0.0, smoothness=(0.0,) * problem.n_modes)
    for k, (H, r) in enumerate(_systems(problem, factors)):

        def of_mode(A: Array, k: int = k) -> float:
            return objective(problem, bare, model._replace(A=[*model.A[:k], A, *model.A[k + 1 :]]))

        slopes = gradient(of_mode, model.A[k])
        scale = max(1.0, of_mode(model.A[k]), np.abs(H).max())
        assert_allclose(2.0 * (H @ model.A[k].ravel() - r), slopes.ravel(), rtol=1e-9, atol=1e-11 * scale)


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_output_sums(problem: Problem, rank: int, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    gram, rhs = output_sums(problem, factors, Workers())
    expected_gram, expected_rhs = output_system(problem, model_of(factors))
    assert_allclose(gram[:rank, :rank] / problem.total_weight, expected_gram, **TIGHT)
    assert_allclose(rhs[:, :rank] / problem.total_weight, expected_rhs, **TIGHT)


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_residual_sums(problem: Problem, rank: int, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    residuals = problem.targets - values(problem, model_of(factors))
    first, second = residual_sums(problem, factors, Workers())
    assert_allclose(first, problem.weights @ residuals, rtol=1e-10, atol=1e-10 * np.abs(residuals).sum())
    assert_allclose(second, problem.weights @ residuals**2, **TIGHT)


def test_residual_sums_of_factors_in_single_precision() -> None:
    problem = build_problem(0, levels=(3, 4, 5), rows=2000, outputs=2, linear=True, missing=0.2, weighted=True)
    factors = build_factors(problem, 11, 0)
    exact, rounded = (residual_sums(problem, read, Workers()) for read in (factors, factors.rounded()))
    assert_allclose(rounded, exact, rtol=1e-5)
    assert not np.array_equal(rounded, exact)


def _many_modes(linear: bool) -> tuple[Problem, Factors]:
    problem = build_problem(0, levels=(3, 2, 4, 1) * 5, rows=50, outputs=2, linear=linear, missing=0.2, weighted=True)
    return problem, random_factors(problem, 5, np.random.default_rng(0))


@pytest.mark.parametrize("linear", [False, True])
def test_grouped_modes_give_the_same_equations(monkeypatch: pytest.MonkeyPatch, linear: bool) -> None:
    problem, factors = _many_modes(linear)
    monkeypatch.setattr(statistics, "_MODES_MULTIPLIED_DIRECTLY", 3)
    grouped = _sums(problem, factors, Workers())
    monkeypatch.setattr(statistics, "_MODES_MULTIPLIED_DIRECTLY", 100)
    anew = _sums(problem, factors, Workers())
    for f, g in zip(grouped, anew, strict=True):
        for x, y in zip(f, g, strict=True):
            assert_allclose(x, y, rtol=1e-12, atol=1e-13)


def test_when_modes_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more than 6 predictors, unless the products would not fit in memory; each mode is visited once."""
    problem, factors = _many_modes(linear=False)

    def visits() -> list[tuple[int, tuple[int, ...], set[int]]]:
        return [(k, outside.shape, set(modes.tolist())) for k, outside, modes in partial_products(problem, factors, w)]

    w = Workers()
    grouped = visits()
    assert [k for k, _, _ in grouped] == list(range(20))
    assert {shape for _, shape, _ in grouped} == {(50, 8)}
    assert all(k not in modes and len(modes) == 4 for k, _, modes in grouped)
    monkeypatch.setattr(statistics, "_MODES_MULTIPLIED_DIRECTLY", 3)
    assert [k for k, _, _ in visits()] == list(range(20))
    assert all(k not in modes and len(modes) < 3 for k, _, modes in visits())
    monkeypatch.setattr(statistics, "_PARTIAL_PRODUCT_BYTES", 0)
    monkeypatch.setattr(statistics, "_PARTIAL_PRODUCT_FRACTION", 0)
    anew = visits()
    assert [k for k, _, _ in anew] == list(range(20))
    assert all(shape == (50, 1) and modes == set(range(20)) - {k} for k, shape, modes in anew)


@pytest.mark.parametrize("linear", [False, True])
def test_grouping_sees_the_factors_already_updated(monkeypatch: pytest.MonkeyPatch, linear: bool) -> None:
    """A whole fit is the same with and without groups, so no group works with stale factors."""
    problem, _ = _many_modes(linear)
    options = ALSOptions(ridge=1e-2, smoothness=(1e-2,) * 20, max_iter=4, tol=0.0)
    fits = []
    for limit in (3, 12, 100):
        monkeypatch.setattr(statistics, "_MODES_MULTIPLIED_DIRECTLY", limit)
        start = random_factors(problem, 3, np.random.default_rng(1))
        fits.append(fit_als(LocalSamples(problem), options, start, GAUSSIAN))
    for fit in fits[:2]:
        assert_allclose(fit.objective, fits[2].objective, rtol=1e-9)
        assert_allclose(fit.factors.table, fits[2].factors.table, rtol=1e-6, atol=1e-8)


@given(st.integers(1, 10**7), st.integers(0, 10**9))
@settings(deadline=None, max_examples=100)
def test_row_parts_cover_the_rows_once(rows: int, bytes_per_part: int) -> None:
    parts = row_parts(rows, bytes_per_part)
    assert parts[0][0] == 0
    assert parts[-1][1] == rows
    assert all(stop == start for (_, stop), (start, _) in pairwise(parts))
    assert all(start < stop for start, stop in parts)
    assert len(parts) == 1 or len(parts) * bytes_per_part <= 64 << 20


@pytest.mark.parametrize("rows", [200_000, 1_000_000, 3_000_000, 10_000_000])
def test_parts_of_many_rows_go_evenly_into_a_few_threads(rows: int) -> None:
    assert len(row_parts(rows)) % 8 == 0


def test_no_rows_are_one_empty_part() -> None:
    assert row_parts(0) == [(0, 0)]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("linear", [False, True])
def test_threads_never_change_a_bit_of_the_sums(two_threads: Workers, linear: bool) -> None:
    problem = build_problem(1, levels=(4, 3, 1), rows=500, outputs=2, linear=linear, missing=0.2, weighted=True)
    factors = build_factors(problem, 11, 1)
    assert len(row_parts(problem.n_rows)) == 64
    for f, g in zip(_sums(problem, factors, Workers()), _sums(problem, factors, two_threads), strict=True):
        for x, y in zip(f, g, strict=True):
            assert_array_equal(x, y)
    for sums in (output_sums, residual_sums):
        for x, y in zip(sums(problem, factors, Workers()), sums(problem, factors, two_threads), strict=True):
            assert_array_equal(x, y)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("update", ["mode", "row", "cg"])
@pytest.mark.parametrize("modes", [3, 20], ids=["anew", "grouped"])
def test_threads_never_change_a_bit_of_a_fit(two_threads: Workers, update: str, modes: int) -> None:
    levels = ((4, 3, 1, 2) * 5)[:modes]
    problem = build_problem(2, levels=levels, rows=300, outputs=2, linear=True, missing=0.1)
    options = ALSOptions(ridge=1e-2, smoothness=(1e-2,) * modes, update=update, max_iter=3)
    fits = []
    for workers in (Workers(), two_threads):
        samples, start = LocalSamples(problem, workers), random_factors(problem, 3, np.random.default_rng(0))
        run = ALSRun(held_out_error=lambda factors, parameters, samples=samples: mean_squared_error(samples, factors))
        fits.append(fit_als(samples, options, start, GAUSSIAN, run))
    assert fits[0].objective == fits[1].objective
    assert fits[0].validation == fits[1].validation
    assert_array_equal(fits[0].factors.table, fits[1].factors.table)
    assert_array_equal(fits[0].factors.V, fits[1].factors.V)


@pytest.mark.usefixtures("small_parts")
@given(problems(max_rows=200), st.integers(1, 9), seeds)
@settings(deadline=None, max_examples=30)
def test_sums_over_parts_are_the_sums_over_rows(problem: Problem, rank: int, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    for k, (H, r) in enumerate(_systems(problem, factors)):
        expected_H, expected_r = mode_system(problem, model_of(factors), k)
        assert_allclose(H, expected_H, **TIGHT)
        assert_allclose(r, expected_r, **TIGHT)


def test_workers_keep_the_order_of_parts_and_pass_errors_on(two_threads: Workers) -> None:
    parts = [(i, i + 1) for i in range(50)]
    assert two_threads.map(lambda part: part[0], parts) == list(range(50))
    with pytest.raises(ZeroDivisionError):
        two_threads.map(lambda part: 1 // part[0], parts)


@pytest.mark.usefixtures("small_parts")
def test_values_of_rows(two_threads: Workers) -> None:
    problem = build_problem(1, rows=40, outputs=2, linear=True, missing=0.2)
    factors = build_factors(problem, 3, 1)
    assert_allclose(values_of_rows(problem.cells, factors, two_threads), values(problem, model_of(factors)), **TIGHT)
