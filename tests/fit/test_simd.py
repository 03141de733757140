"""SIMD vectors behave as eight numbers: each operation against NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

from csid._kernels.simd import WIDTH, add_to, load, load_splat, mul, mul_add, peek, splat, splat_like, store, sub, total

_numbers = arrays(np.float64, 3 * WIDTH, elements=st.floats(-1e6, 1e6))


@njit
def _sub(x: Any, at: int, out: Any) -> None:
    store(out, sub(load(x, at), load(x, at + WIDTH)), at)


@njit
def _mul(x: Any, at: int, out: Any) -> None:
    store(out, mul(load(x, at), load(x, at + WIDTH)), at)


@njit
def _mul_add(x: Any, at: int, out: Any) -> None:
    store(out, mul_add(load(x, 0), load(x, at), load(x, at + WIDTH)), at)


@njit
def _splat(x: Any, at: int, out: Any) -> None:
    store(out, splat(x[at]), at)


@njit
def _splat_like(x: Any, at: int, out: Any) -> None:
    store(out, splat_like(out, x[at]), at)


@njit
def _add_to(x: Any, at: int, out: Any) -> None:
    add_to(out, mul(load(x, at), load(x, at)), at)


@njit
def _load_splat(x: Any, at: int, out: Any) -> None:
    store(out, load_splat(x, at), at)


@njit
def _peek(x: Any, at: int, out: Any) -> None:
    out[at] = peek(x, at)


@njit
def _total(x: Any, at: int, out: Any) -> None:
    out[at] = total(load(x, at))


def _pairwise_total(x: np.ndarray) -> float:
    """The documented order of the additions: halves onto halves."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return float(x[0])


@given(_numbers, st.integers(0, WIDTH))
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize(("compiled", "twin"), [(_sub, np.subtract), (_mul, np.multiply)], ids=["sub", "mul"])
def test_arithmetic_is_lane_by_lane(compiled: Any, twin: Any, x: np.ndarray, at: int) -> None:
    expected = np.full(3 * WIDTH, np.nan)
    expected[at : at + WIDTH] = twin(x[at : at + WIDTH], x[at + WIDTH : at + 2 * WIDTH])
    out = np.full(3 * WIDTH, np.nan)
    compiled(x, at, out)
    np.testing.assert_array_equal(out, expected)


@given(_numbers, st.integers(0, WIDTH))
@settings(deadline=None, max_examples=30)
def test_mul_add_rounds_once_or_twice(x: np.ndarray, at: int) -> None:
    """A fused product differs from NumPy's by at most the rounding of the product."""
    a, b, c = x[:WIDTH], x[at : at + WIDTH], x[at + WIDTH : at + 2 * WIDTH]
    out = np.empty(3 * WIDTH)
    _mul_add(x, at, out)
    slack = np.finfo(float).eps * (np.abs(a * b) + np.abs(c))
    assert (np.abs(out[at : at + WIDTH] - (a * b + c)) <= slack).all()


@given(_numbers, st.integers(0, 2 * WIDTH))
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("compiled", [_splat, _load_splat], ids=["splat", "load_splat"])
def test_splat_fills_exactly_one_vector(compiled: Any, x: np.ndarray, at: int) -> None:
    out = np.full(3 * WIDTH, np.nan)
    compiled(x, at, out)
    expected = np.full(3 * WIDTH, np.nan)
    expected[at : at + WIDTH] = x[at]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_splat_like_has_the_precision_of_an_array(dtype: Any) -> None:
    out = np.zeros(2 * WIDTH, dtype)
    _splat_like(np.array([0.0, 1.0 / 3.0]), 1, out)
    np.testing.assert_array_equal(out[1 : 1 + WIDTH], dtype(1.0 / 3.0))
    assert not out[1 + WIDTH :].any()


@pytest.mark.parametrize(("precision", "sums"), [("f4", "f4"), ("f4", "f8"), ("f8", "f8")])
def test_vectors_are_added_in_the_precision_of_the_sums(precision: str, sums: str) -> None:
    """Operations on vectors round to their own precision; adding them to doubles does not round again."""
    rng = np.random.default_rng(0)
    x, out = rng.standard_normal(3 * WIDTH).astype(precision), rng.standard_normal(3 * WIDTH).astype(sums)
    expected = out.copy()
    expected[5 : 5 + WIDTH] += (x * x)[5 : 5 + WIDTH]
    _add_to(x, 5, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.intp, np.float64])
def test_peek_reads_every_type_of_array(dtype: Any) -> None:
    x = np.arange(250, 274).astype(dtype)
    out = np.zeros(len(x))
    for at in range(len(x)):
        _peek(x, at, out)
    np.testing.assert_array_equal(out, x)


def test_indices_are_flat() -> None:
    x = np.arange(6.0 * WIDTH).reshape(3, 2 * WIDTH)
    out = np.zeros(3 * WIDTH)
    _peek(x, 2 * WIDTH + 3, out)
    assert out[2 * WIDTH + 3] == x[1, 3]


@given(_numbers, st.integers(0, 2 * WIDTH))
@settings(deadline=None, max_examples=50)
def test_total_adds_pairwise(x: np.ndarray, at: int) -> None:
    out = np.zeros(3 * WIDTH)
    _total(x, at, out)
    assert out[at] == _pairwise_total(x[at : at + WIDTH])
