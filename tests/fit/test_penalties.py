"""Penalties by their diagonals against the dense `rho I + mu T^T T`."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid.tensor.penalties import Penalty, penalty_bands
from fit.strategies import seeds
from naive import dense_penalty, penalty_matrix

strengths = st.just(0.0) | st.floats(1e-9, 10.0)
orders = st.sampled_from([1, 2])
sizes = st.integers(1, 9).flatmap(lambda levels: st.tuples(st.just(levels), st.integers(0, levels)))


def test_differences_are_the_paper_s() -> None:
    """rows (1, -1) of `T_n`, and (-1, 2, -1) for order 2, worked out by hand."""
    assert_array_equal(dense_penalty(penalty_bands(3, 3, 0.0, 1.0, 1)), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
    second = [[1, -2, 1, 0], [-2, 5, -4, 1], [1, -4, 5, -2], [0, 1, -2, 1]]
    assert_array_equal(dense_penalty(penalty_bands(4, 4, 0.0, 1.0, 2)), second)


@given(sizes, orders, strengths, strengths)
@settings(deadline=None, max_examples=100)
def test_bands_are_those_of_the_dense_penalty(size: tuple[int, int], order: int, rho: float, mu: float) -> None:
    """Also for levels without neighbours, and for fewer levels than a difference needs."""
    levels, ordered = size
    bands = penalty_bands(levels, ordered, rho, mu, order)
    assert_allclose(dense_penalty(bands), penalty_matrix(levels, ordered, rho, mu, order), rtol=1e-14, atol=1e-14)


@given(sizes, orders, strengths, strengths)
@settings(deadline=None, max_examples=50)
def test_bands_have_no_entries_beyond_the_last_level(size: tuple[int, int], order: int, rho: float, mu: float) -> None:
    """Entry (d, i) couples i with i + d; where there is no level i + d it is zero, for whoever sums over all."""
    bands = penalty_bands(*size, rho, mu, order)
    for d in range(1, len(bands)):
        assert not bands[d, size[0] - d :].any()


def test_no_smoothness_leaves_the_diagonal_alone() -> None:
    assert_array_equal(penalty_bands(5, 5, 0.3, 0.0, 2), np.full((1, 5), 0.3))


def _penalty(size: tuple[int, int], rho: float, mu: float, order: int) -> Penalty:
    """That of two factors alike."""
    levels, ordered = (np.full(2, number, dtype=np.intp) for number in size)
    return Penalty(levels, ordered, np.full(2, rho), np.full(2, mu), order, np.array([0, size[0] + 1]), 2 * size[0] + 3)


@given(sizes, orders, strengths, strengths, st.integers(1, 5), seeds)
@settings(deadline=None, max_examples=50)
def test_penalty_of_each_component(
    size: tuple[int, int], order: int, rho: float, mu: float, rank: int, seed: int
) -> None:
    penalty = _penalty(size, rho, mu, order)
    table = np.random.default_rng(seed).standard_normal((2 * size[0] + 3, rank + 2))
    P = penalty_matrix(*size, rho, mu, order)
    expected = [[a @ P @ a for a in table[first : first + size[0], :rank].T] for first in penalty.offsets]
    assert_allclose(penalty.per_component(table, rank), expected, rtol=1e-12, atol=1e-12 * (rho + mu))
    for bands in penalty.bands:
        assert_array_equal(bands, penalty_bands(*size, rho, mu, order))


def test_a_flat_column_pays_for_no_rounding() -> None:
    """Without ridge a constant column is free, however large; from the bands it would cost what rounding leaves."""
    flat = np.full((17, 1), 1e9 / 3.0)
    for order in (1, 2):
        assert not _penalty((7, 7), 0.0, 0.3, order).per_component(flat, 1).any()
