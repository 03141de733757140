"""Intervals over weighted draws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from csid.explain.bands import band


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.floats(0.01, 0.99))
def test_a_draw_counts_by_its_weight(seed: int, draws: int, coverage: float) -> None:
    """Quantiles by hand: each draw at the middle of its own weight, and straight lines between."""
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(draws, 3)), rng.dirichlet(np.ones(draws))
    found = band(values, weights, coverage)
    assert_allclose(found.mean, weights @ values)
    for column, lower, upper in zip(values.T, found.lower, found.upper, strict=True):
        order = np.argsort(column)
        reached = np.cumsum(weights[order]) - 0.5 * weights[order]
        expected = np.interp([0.5 - coverage / 2, 0.5 + coverage / 2], reached, column[order])
        assert_allclose([lower, upper], expected, atol=1e-9)


def test_draws_that_agree_have_no_width() -> None:
    found = band(np.full((4, 2), 7.0), np.full(4, 0.25), 0.9)
    assert (found.lower == 7.0).all()
    assert (found.upper == 7.0).all()
