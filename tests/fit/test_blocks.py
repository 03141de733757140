"""Block-banded systems against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels import block_banded, block_cholesky, factor_update
from csid.tensor.factors import padded_rank
from fit.strategies import seeds
from fit.systems import assemble
from naive import dense_bands, one_pass

Array = np.ndarray
CLOSE = {"rtol": 1e-9, "atol": 1e-9}

widths, levels, ranks = st.integers(0, 2), st.integers(1, 7), st.integers(1, 18)


def _random_bands(width: int, levels: int, F: int, rng: np.random.Generator) -> Array:
    """Symmetric blocks of rows that each touch `width + 1` neighbouring levels with one vector, plus a little ridge."""
    bands = np.zeros((width + 1, levels, F, F))
    for i in range(levels):
        reach = min(width + 1, levels - i)
        X, w = rng.standard_normal((F + 2, F)), rng.standard_normal((F + 2, reach))
        for a in range(reach):
            for b in range(a, reach):
                bands[b - a, i + a] += (X * (w[:, a] * w[:, b])[:, None]).T @ X
    bands[0] += 0.1 * np.eye(F)
    return bands


def _random_missing(levels: int, F: int, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Marginals p, and the Gram matrix of some rows: fewer than F leave it singular, none zero."""
    Q = rng.standard_normal((rows, F))
    return rng.dirichlet(np.ones(levels)), Q.T @ Q


# --- the compiled pieces, which take padded arrays, on plain ones ---------------------------------------------------


def _padded(array: Array, axes: int) -> Array:
    """Zeros up to a multiple of the SIMD width on the last axes."""
    more = padded_rank(array.shape[-1]) - array.shape[-1]
    return np.pad(array, [(0, 0)] * (array.ndim - axes) + [(0, more)] * axes)


def _or_none(G: Array) -> Array | None:
    """No rows without the predictor: that part of the system is not even compiled."""
    return _padded(G, 2) if G.any() else None


_factor = njit(lambda H, F: block_cholesky.factor(H, F))
_lower = njit(lambda H, F, x: block_cholesky.solve_lower(H, F, x))
_upper = njit(lambda H, F, x: block_cholesky.solve_upper(H, F, x))
_solve = njit(lambda H, F, rhs, p, G, noise, x: block_banded.solve(H, F, rhs, p, G, noise, x))
_relax = njit(lambda H, F, rhs, p, G, x: block_banded.relax(H, F, rhs, p, G, x))
_product = njit(lambda H, F, p, G, x, out: block_banded.product(H, F, p, G, x, out))


def factor(bands: Array) -> tuple[int, Array]:
    """What `factor` returns, and its output."""
    H = _padded(bands, 2)
    return _factor(H, bands.shape[2]), H


def solve(bands: Array, rhs: Array, p: Array, G: Array, noise: Array | None = None) -> tuple[int, Array]:
    F, x = rhs.shape[1], np.zeros_like(_padded(rhs, 1))
    failed = _solve(_padded(bands, 2), F, _padded(rhs, 1), p, _or_none(G), noise, x)
    return failed, x[:, :F]


def relax(bands: Array, rhs: Array, p: Array, G: Array, A: Array) -> tuple[int, Array]:
    F, x = rhs.shape[1], _padded(A, 1)
    failed = _relax(_padded(bands, 2), F, _padded(rhs, 1), p, _or_none(G), x)
    return failed, x[:, :F]


def product(bands: Array, p: Array, G: Array, A: Array) -> Array:
    F, x = A.shape[1], _padded(A, 1)
    out = np.empty_like(x)
    _product(_padded(bands, 2), F, p, _or_none(G), x, out)
    return out[:, :F]


# --- against dense algebra ------------------------------------------------------------------------------------------


@given(widths, levels, ranks, seeds)
@settings(deadline=None, max_examples=60)
def test_factor_and_triangular_solves(width: int, levels: int, F: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, rhs = _random_bands(width, levels, F, rng), rng.standard_normal((levels, F))
    x = _padded(rhs, 1)
    failed, H = factor(bands)
    assert failed == -1
    _lower(H, F, x)
    U = np.linalg.cholesky(dense_bands(bands)).T
    assert_allclose(x[:, :F].ravel(), np.linalg.solve(U.T, rhs.ravel()), **CLOSE)
    _upper(H, F, x)
    assert_allclose(x[:, :F].ravel(), np.linalg.solve(dense_bands(bands), rhs.ravel()), **CLOSE)
    assert not x[:, F:].any()


@given(widths, levels, ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_factor_is_the_cholesky_factor(width: int, levels: int, F: int, seed: int) -> None:
    """Above the diagonal the entries of U, on it their reciprocals, below it U^T."""
    bands = _random_bands(width, levels, F, np.random.default_rng(seed))
    U = np.linalg.cholesky(dense_bands(bands)).T.reshape(levels, F, levels, F)
    _, H = factor(bands)
    for i in range(levels):
        assert_allclose(np.triu(H[0, i, :F, :F], 1), np.triu(U[i, :, i, :], 1), **CLOSE)
        assert_array_equal(H[0, i, :F, :F], H[0, i, :F, :F].T)
        assert_allclose(1.0 / np.diag(H[0, i])[:F], np.diag(U[i, :, i, :]), **CLOSE)
        for d in range(1, min(width, levels - 1 - i) + 1):
            assert_allclose(H[d, i, :F, :F], U[i, :, i + d, :], **CLOSE)


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=80)
def test_solve_with_rows_without_the_predictor(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    rhs = rng.standard_normal((levels, F))
    H = dense_bands(bands) + np.kron(np.outer(p, p), G)
    failed, A = solve(bands, rhs, p, G)
    assert failed == -1
    assert_allclose(A.ravel(), np.linalg.solve(H, rhs.ravel()), **CLOSE)


@pytest.mark.parametrize("rows", [0, 1, 20])
def test_noise_makes_a_draw_with_the_inverse_system_as_covariance(rows: int) -> None:
    """A draw is linear in its noise: the noise's map T has T T^T = H^-1, exactly and not only on average."""
    rng = np.random.default_rng(3)
    bands, (p, G) = _random_bands(1, 4, 3, rng), _random_missing(4, 3, rows, rng)
    rhs = rng.standard_normal((4, 3))
    _, mean = solve(bands, rhs, p, G)
    T = np.array([(solve(bands, rhs, p, G, unit.reshape(5, 3))[1] - mean).ravel() for unit in np.eye(15)]).T
    H = dense_bands(bands) + np.kron(np.outer(p, p), G)
    assert_allclose(T @ T.T, np.linalg.inv(H), **CLOSE)


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=80)
def test_relax_is_one_pass_over_the_rows(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    rhs, A = rng.standard_normal((2, levels, F))
    expected = one_pass(dense_bands(bands) + np.kron(np.outer(p, p), G), rhs.ravel(), A)
    failed, after = relax(bands, rhs, p, G, A)
    assert failed == -1
    assert_allclose(after, expected, **CLOSE)


@pytest.mark.parametrize("width", [0, 1, 2])
@pytest.mark.parametrize("rows", [0, 20])
def test_relax_repeated_converges_to_solve(width: int, rows: int) -> None:
    rng = np.random.default_rng(5)
    bands, (p, G) = _random_bands(width, 6, 4, rng), _random_missing(6, 4, rows, rng)
    bands[0] += 2.0 * np.eye(4)
    rhs, A = rng.standard_normal((2, 6, 4))
    for _ in range(2000):
        _, A = relax(bands, rhs, p, G, A)
    assert_allclose(A, solve(bands, rhs, p, G)[1], rtol=1e-8, atol=1e-10)


@given(widths, levels, ranks, seeds, st.data())
@settings(deadline=None, max_examples=40)
def test_the_first_indefinite_level_is_reported(
    width: int, levels: int, F: int, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    bad = data.draw(st.integers(0, levels - 1))
    bands = _random_bands(width, levels, F, rng)
    bands[0, bad:] -= 1000.0 * np.eye(F)
    rhs, p, G = rng.standard_normal((levels, F)), np.zeros(levels), np.zeros((F, F))
    assert relax(bands, rhs, p, G, np.zeros((levels, F)))[0] == bad
    assert solve(bands, rhs, p, G)[0] == bad
    assert factor(bands)[0] == bad


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_reported(entry: float) -> None:
    bands = _random_bands(1, 4, 3, np.random.default_rng(0))
    bands[0, 2, 1, 1] = entry
    assert factor(bands)[0] == 2


def test_a_level_known_only_through_its_neighbour_is_reported() -> None:
    """Rows between two levels alone leave them singular together; what elimination leaves is only rounding."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        t = rng.uniform(0.01, 0.99)
        q = rng.standard_normal(1)
        G = q[:, None] * q
        bands = np.zeros((2, 2, 1, 1))
        bands[0, 0], bands[1, 0], bands[0, 1] = (1 - t) ** 2 * G, t * (1 - t) * G, t**2 * G
        assert factor(bands)[0] == 1


@given(widths, levels, ranks, st.sampled_from([0, 1, 20]), seeds)
@settings(deadline=None, max_examples=40)
def test_product(width: int, levels: int, F: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bands, (p, G) = _random_bands(width, levels, F, rng), _random_missing(levels, F, rows, rng)
    A = rng.standard_normal((levels, F))
    H = dense_bands(bands) + np.kron(np.outer(p, p), G)
    assert_allclose(product(bands, p, G, A).ravel(), H @ A.ravel(), rtol=1e-12, atol=1e-11 * np.abs(H).max())


@given(levels, ranks, st.floats(0.0, 3.0), seeds)
@settings(deadline=None, max_examples=40)
def test_lowers_says_whether_the_quadratic_falls(levels: int, F: int, length: float, seed: int) -> None:
    """Along the way to the minimum, a step lowers the quadratic up to twice the way."""
    rng = np.random.default_rng(seed)
    H, (rhs, A) = dense_bands(_random_bands(1, levels, F, rng)), rng.standard_normal((2, levels * F))
    residual = rhs - H @ A
    step = length * np.linalg.solve(H, residual)
    arrays = [array.reshape(levels, F) for array in (step, A, residual, H @ step, np.diag(H).copy())]
    if length == 0.0 or 1e-6 < length < 2.0 - 1e-6:
        assert block_banded.lowers(*arrays)
    elif length > 2.0 + 1e-6:
        assert not block_banded.lowers(*arrays)


def test_a_gain_within_rounding_does_not_count() -> None:
    """A step along a flat direction gains nothing, whatever its sums round to."""
    one = np.ones((1, 1))
    assert not block_banded.lowers(1e9 * one, one, 1e-17 * one, 0.0 * one, one)
    assert not block_banded.lowers(np.nan * one, one, one, one, one)


@given(st.booleans(), st.integers(1, 7), ranks, st.integers(1, 3), seeds)
@settings(deadline=None, max_examples=60)
def test_assemble(linear: bool, levels: int, F: int, outputs: int, seed: int) -> None:
    """From upper triangles: what stands below the diagonal of a sum is not read."""
    rng = np.random.default_rng(seed)
    S = padded_rank(F)
    full = _padded(_random_bands(1, levels + 1, F, rng), 2)
    D, O = (np.triu(sums) + np.tril(np.full((S, S), np.nan), -1) for sums in full)
    R, V = _padded(rng.standard_normal((levels + 1, outputs, F)), 1), _padded(rng.standard_normal((outputs, F)), 1)
    scale, p = rng.random(outputs), rng.dirichlet(np.ones(levels))
    system = assemble((D, O if linear else O[:0], R), V, scale, p, F)
    VtV = (V[:, :F].T * scale) @ V[:, :F]
    expected = dense_bands(VtV * full[: 1 + linear, :levels, :F, :F])
    assert_allclose(dense_bands(system.bands), expected, rtol=1e-12, atol=1e-12)
    contracted = np.einsum("ijf,jf,j->if", R, V, scale)[:, :F]
    assert_allclose(system.rhs, contracted[:-1] + p[:, None] * contracted[-1], rtol=1e-12, atol=1e-12)
    assert_allclose(system.missing, VtV * full[0, levels, :F, :F], rtol=1e-12, atol=1e-12)


def test_an_overflow_is_reported_and_changes_nothing() -> None:
    A, R = np.zeros((2, 8)), np.zeros((2, 1, 8))
    A[0, 0] = R[0, 0, 0] = 1e200
    D = np.zeros((2, 8, 8))
    D[0, 0, 0] = 1e200
    before = A.copy()
    none, one = np.zeros((0, 8, 8)), np.ones(1)
    equations = factor_update.NormalEquations((D, none, R), np.ones((1, 8)), one, one, 1)
    status = factor_update.minimise(equations, None, np.zeros((1, 1)), None, A)
    assert status == factor_update.OVERFLOW
    assert_array_equal(A, before)
