"""Block-banded systems against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._fit import blocks
from csid._fit.penalties import penalty_bands
from fit.strategies import seeds
from naive import dense_bands, dense_penalty, one_pass

Array = np.ndarray
CLOSE = {"rtol": 1e-9, "atol": 1e-9}

widths, levels, ranks = st.integers(0, 2), st.integers(1, 7), st.integers(1, 9)


def _random_bands(width: int, levels: int, F: int, rng: np.random.Generator) -> Array:
    """Blocks of X^T X for random rows X that each touch `width + 1` neighbouring levels, plus a little ridge."""
    bands = np.zeros((width + 1, levels, F, F))
    for i in range(levels):
        reach = min(width + 1, levels - i)
        X = rng.standard_normal((F + 2, reach, F))
        for a in range(reach):
            for b in range(a, reach):
                bands[b - a, i + a] += X[:, a].T @ X[:, b]
    bands[0] += 0.1 * np.eye(F)
    return bands


def _random_missing(levels: int, F: int, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Marginals p, and the Gram matrix of some rows: fewer than F leave it singular, none zero."""
    Q = rng.standard_normal((rows, F))
    return rng.dirichlet(np.ones(levels)), Q.T @ Q


@given(widths, levels, ranks, st.integers(1, 3), seeds)
@settings(deadline=None, max_examples=60)
def test_factor_and_solve_factored(width: int, levels: int, F: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands = _random_bands(width, levels, F, rng)
    rhs = rng.standard_normal((levels, F, columns))
    expected = np.linalg.solve(dense_bands(bands), rhs.reshape(levels * F, columns))
    assert blocks.factor(bands) == -1
    blocks.solve_factored(bands, rhs)
    assert_allclose(rhs.reshape(levels * F, columns), expected, **CLOSE)


@given(widths, levels, ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_factor_is_the_cholesky_factor(width: int, levels: int, F: int, seed: int) -> None:
    """Diagonal blocks as lower factors, blocks beside them as they stand in U = L^T."""
    bands = _random_bands(width, levels, F, np.random.default_rng(seed))
    U = np.linalg.cholesky(dense_bands(bands)).T.reshape(levels, F, levels, F)
    blocks.factor(bands)
    for i in range(levels):
        assert_allclose(np.tril(bands[0, i]), U[i, :, i, :].T, **CLOSE)
        for d in range(1, min(width, levels - 1 - i) + 1):
            assert_allclose(bands[d, i], U[i, :, i + d, :], **CLOSE)


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=80)
def test_solve_with_rows_without_the_predictor(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    rhs = rng.standard_normal((levels, F))
    given_rhs = rhs.copy()
    H = dense_bands(bands) + np.kron(np.outer(p, p), G)
    A = np.empty_like(rhs)
    assert blocks.solve(bands, rhs, p, blocks.root(G), A) == -1
    assert_allclose(A.ravel(), np.linalg.solve(H, rhs.ravel()), **CLOSE)
    assert_array_equal(rhs, given_rhs)


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=80)
def test_relax_is_one_pass_over_the_rows(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    rhs, A = rng.standard_normal((2, levels, F))
    expected = one_pass(dense_bands(bands) + np.kron(np.outer(p, p), G), rhs.ravel(), A)
    assert blocks.relax(bands, rhs, p, G, A) == -1
    assert_allclose(A, expected, **CLOSE)


@pytest.mark.parametrize("width", [0, 1, 2])
@pytest.mark.parametrize("rows", [0, 20])
def test_relax_repeated_converges_to_solve(width: int, rows: int) -> None:
    rng = np.random.default_rng(5)
    bands, (p, G) = _random_bands(width, 6, 4, rng), _random_missing(6, 4, rows, rng)
    bands[0] += 2.0 * np.eye(4)
    rhs, A = rng.standard_normal((2, 6, 4))
    for _ in range(2000):
        blocks.relax(bands, rhs, p, G, A)
    solution = np.empty_like(rhs)
    blocks.solve(bands, rhs, p, blocks.root(G), solution)
    assert_allclose(A, solution, rtol=1e-8, atol=1e-10)


@given(widths, levels, ranks, seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_first_indefinite_level_is_reported(
    width: int, levels: int, F: int, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    bad = data.draw(st.integers(0, levels - 1))
    bands = _random_bands(width, levels, F, rng)
    bands[0, bad:] -= 100.0 * np.eye(F)
    rhs, p, G = rng.standard_normal((levels, F)), np.zeros(levels), np.zeros((F, F))
    assert blocks.relax(bands, rhs, p, G, np.zeros((levels, F))) == bad
    assert blocks.solve(bands.copy(), rhs, p, blocks.root(G), np.empty_like(rhs)) == bad
    assert blocks.factor(bands) == bad


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_reported(entry: float) -> None:
    bands = _random_bands(1, 4, 3, np.random.default_rng(0))
    bands[0, 2, 1, 1] = entry
    assert blocks.factor(bands) == 2


def test_a_level_known_only_through_its_neighbour_is_reported() -> None:
    """Rows between two levels alone leave them singular together; what elimination leaves is only rounding."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        t = rng.uniform(0.01, 0.99)
        q = rng.standard_normal(1)
        G = q[:, None] * q
        bands = np.zeros((2, 2, 1, 1))
        bands[0, 0], bands[1, 0], bands[0, 1] = (1 - t) ** 2 * G, t * (1 - t) * G, t**2 * G
        assert blocks.factor(bands) == 1


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=40)
def test_product_and_gradient(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    A = rng.standard_normal((levels, F))
    H = dense_bands(bands) + np.kron(np.outer(p, p), G)
    assert_allclose(blocks.product(bands, p, G, A).ravel(), H @ A.ravel(), rtol=1e-12, atol=1e-12 * np.abs(H).max())
    rhs, residual, size = rng.standard_normal((levels, F)), np.empty_like(A), np.empty_like(A)
    largest = blocks.gradient(bands, rhs, p, G, A, residual, size)
    assert_allclose(residual.ravel(), rhs.ravel() - H @ A.ravel(), rtol=1e-12, atol=1e-12 * np.abs(H).max())
    assert_allclose(size.ravel(), np.diag(H), rtol=1e-14)
    assert largest == size.max()


def test_a_gradient_that_overflows_is_reported() -> None:
    residual, size = np.empty((1, 1)), np.empty((1, 1))
    G = np.zeros((1, 1))
    huge = np.full((1, 1), 1e200)
    assert np.isnan(blocks.gradient(np.full((1, 1, 1, 1), 1e200), huge, np.ones(1), G, huge, residual, size))


def test_only_a_step_that_lowers_is_taken() -> None:
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    A = one.copy()
    assert not blocks.take_step(3.0 * one, np.ones((1, 1, 1, 1)), np.ones(1), none, one, one, A)
    assert_array_equal(A, one)
    assert blocks.take_step(one, np.ones((1, 1, 1, 1)), np.ones(1), none, one, one, A)
    assert_array_equal(A, 2.0 * one)


@given(levels, ranks, st.floats(0.0, 3.0), seeds)
@settings(deadline=None, max_examples=40)
def test_lowers_says_whether_the_quadratic_falls(levels: int, F: int, length: float, seed: int) -> None:
    """Along the way to the minimum, a step lowers the quadratic up to twice the way."""
    rng = np.random.default_rng(seed)
    bands, p, G = _random_bands(1, levels, F, rng), np.zeros(levels), np.zeros((F, F))
    H, (rhs, A) = dense_bands(bands), rng.standard_normal((2, levels, F))
    residual = rhs - (H @ A.ravel()).reshape(A.shape)
    step = length * np.linalg.solve(H, residual.ravel()).reshape(A.shape)
    image, diagonal = blocks.product(bands, p, G, step), np.diag(H).reshape(A.shape)
    if length == 0.0 or 1e-6 < length < 2.0 - 1e-6:
        assert blocks.lowers(step, A, residual, image, diagonal)
    elif length > 2.0 + 1e-6:
        assert not blocks.lowers(step, A, residual, image, diagonal)


def test_a_gain_within_rounding_does_not_count() -> None:
    """A step along a flat direction gains nothing, whatever its sums round to."""
    one = np.ones((1, 1))
    assert not blocks.lowers(1e9 * one, one, 1e-17 * one, 0.0 * one, one)
    assert not blocks.lowers(np.nan * one, one, one, one, one)


@given(widths, st.integers(1, 7), ranks, st.sampled_from([1, 2]), st.floats(0, 5), seeds)
@settings(deadline=None, max_examples=40)
def test_add_penalty(width: int, levels: int, F: int, order: int, damping: float, seed: int) -> None:
    """The same numbers on every component, of a bandwidth that may differ from the data's; inputs unchanged."""
    bands = _random_bands(width, levels, F, np.random.default_rng(seed))
    penalty = penalty_bands(levels, levels, 0.3, 0.7, order)
    given_bands = bands.copy()
    total = blocks.add_penalty(bands, penalty, damping)
    expected = dense_bands(bands) + np.kron(dense_penalty(penalty), np.eye(F)) + damping * np.eye(levels * F)
    assert_allclose(dense_bands(total), expected, rtol=1e-13, atol=1e-13)
    assert_array_equal(bands, given_bands)
