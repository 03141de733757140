"""Conjugate gradients: the operator is the dense system, and the solution its solution."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.statistics import partial_products
from csid.inference import conjugate_gradients
from csid.inference.conjugate_gradients import NormalOperator, solve_mode
from csid.tensor.factors import Factors
from csid.tensor.penalties import penalty_bands
from fit.strategies import build_factors, build_problem, problems, ranks, seeds
from naive import dense_penalty, mode_system, model_of

Array = np.ndarray


def _operators(problem: Problem, factors: Factors, rho: float, mu: float, order: int) -> list[tuple]:
    """For each mode its operator, and the dense H (data and penalty) and r."""
    found = []
    for k, outside, modes in partial_products(problem, factors, Workers()):
        levels, ordered = int(problem.levels[k]), int(problem.ordered[k])
        bands = penalty_bands(levels, ordered, rho, mu, order)
        H, r = mode_system(problem, model_of(factors), k)
        H = H + np.kron(dense_penalty(bands), np.eye(factors.rank))
        found.append((NormalOperator(problem, factors, k, outside, modes, bands, Workers()), H, r))
    return found


@given(problems(), ranks, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.7]), st.sampled_from([1, 2]), seeds)
@settings(deadline=None, max_examples=50)
def test_the_operator_is_the_dense_system(
    problem: Problem, rank: int, rho: float, mu: float, order: int, seed: int
) -> None:
    factors = build_factors(problem, rank, seed)
    for operator, H, r in _operators(problem, factors, rho, mu, order):
        X = np.random.default_rng(seed).standard_normal(operator.rhs.shape)
        assert_allclose(operator(X).ravel(), H @ X.ravel(), rtol=1e-10, atol=1e-10)
        assert_allclose(operator.rhs.ravel(), r, rtol=1e-10, atol=1e-10)
        assert_allclose(operator.diagonal.ravel(), np.diag(H), rtol=1e-10, atol=1e-10)


@given(problems(max_levels=4), st.integers(1, 4), st.sampled_from([0.0, 0.7]), seeds)
@settings(deadline=None, max_examples=50)
def test_solve_mode_is_the_dense_solution(problem: Problem, rank: int, mu: float, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    for operator, H, r in _operators(problem, factors, 0.5, mu, 1):
        start = np.random.default_rng(seed).standard_normal(operator.rhs.shape)
        given_start = start.copy()
        A = solve_mode(operator, start)
        expected = np.linalg.solve(H, r)
        assert_allclose(A.ravel(), expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
        assert np.array_equal(start, given_start)


def test_every_product_lowers_the_quadratic(monkeypatch) -> None:
    """Stopped after 0, 1, 2, ... products, the quadratic falls each time."""
    problem = build_problem(0, levels=(6, 5), rows=60, linear=True, missing=0.2)
    ((operator, H, r), _) = _operators(problem, build_factors(problem, 4, 0), 1e-3, 0.1, 1)
    quadratic = []
    for products in range(15):
        monkeypatch.setattr(conjugate_gradients, "_MAX_PRODUCTS", products)
        a = solve_mode(operator, np.ones(operator.rhs.shape)).ravel()
        quadratic.append(0.5 * a @ H @ a - r @ a)
    assert (np.diff(quadratic) < 0).all()


def test_a_solution_is_left_alone() -> None:
    problem = build_problem(1, levels=(4, 3), rows=60)
    ((operator, H, r), _) = _operators(problem, build_factors(problem, 3, 1), 0.1, 0.1, 1)
    solution = np.linalg.solve(H, r).reshape(operator.rhs.shape)
    assert_allclose(solve_mode(operator, solution), solution, rtol=1e-10)


def test_levels_without_rows_and_ridge_stay_where_they_were() -> None:
    """A singular system moves only what the data speak of, and divides by no zero on the diagonal."""
    problem = build_problem(2, levels=(5, 3), rows=60)
    problem.cells.codes[problem.cells.codes[:, 0] == 2, 0] = 1
    operator, H, r = _operators(problem, build_factors(problem, 3, 2), 0.0, 0.0, 1)[0]
    start = np.random.default_rng(2).standard_normal(operator.rhs.shape)
    A = solve_mode(operator, start)
    assert np.array_equal(A[2], start[2])
    assert_allclose(H @ A.ravel(), r, atol=1e-8 * np.abs(r).max())


def test_nothing_to_fit_gives_nothing() -> None:
    """Targets equal to the bias leave a zero right-hand side."""
    problem = build_problem(3, levels=(4, 3), rows=60)
    factors = build_factors(problem, 3, 3)
    problem.targets[:] = factors.bias
    ((operator, _, r), _) = _operators(problem, factors, 0.1, 0.0, 1)
    assert not r.any()
    assert_allclose(solve_mode(operator, np.ones(operator.rhs.shape)), 0.0, atol=1e-12)
