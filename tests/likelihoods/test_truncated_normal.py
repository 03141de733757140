"""The normal distribution between bounds: probabilities, means and draws, also far out in the tails."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest, truncnorm

from csid.likelihoods.intervals import log_probabilities_between, values_between
from csid.likelihoods.truncated_normal import log_mass, truncated_mean, truncated_variance

INTERVALS = [
    (-np.inf, 0.3),
    (0.2, np.inf),
    (5.0, np.inf),
    (5.0, 5.05),
    (-1.0, 1.0),
    (-4.0, 4.0),
    (-0.1, 2.9),
    (2.0, 7.0),
    (-np.inf, -30.0),
    (-0.1, 0.2),
    (-8.1, -8.0),
]
in_each_interval = pytest.mark.parametrize(("low", "high"), INTERVALS)


@in_each_interval
def test_mass_mean_and_variance_are_integrals(low: float, high: float) -> None:
    """Relative to the density at the nearest point to zero, so that tails do not underflow."""
    nearest = float(np.clip(0.0, low, high))
    start, stop = max(low, nearest - 12.0), min(high, nearest + 12.0)

    def density(z: float) -> float:
        return float(np.exp(0.5 * (nearest**2 - z**2)))

    mass = quad(density, start, stop, epsrel=1e-12)[0]
    mean = quad(lambda z: z * density(z), start, stop, epsrel=1e-12)[0] / mass
    expected = np.log(mass) - 0.5 * nearest**2 - 0.5 * np.log(2.0 * np.pi)
    assert_allclose(log_mass(np.array([low]), np.array([high])), expected, rtol=1e-9)
    assert_allclose(truncated_mean(np.array([low]), np.array([high])), mean, rtol=1e-8, atol=1e-9)
    variance = quad(lambda z: (z - mean) ** 2 * density(z), start, stop, epsrel=1e-12)[0] / mass
    assert_allclose(truncated_variance(np.array([low]), np.array([high])), variance, rtol=1e-5, atol=1e-9)


@given(low=st.floats(-40.0, 40.0), width=st.floats(0.0, 50.0))
@settings(deadline=None)
def test_the_mean_is_inside_and_mirrors(low: float, width: float) -> None:
    a, b = np.array([low]), np.array([low + width])
    mean = truncated_mean(a, b)[0]
    assert a[0] <= mean <= b[0]
    assert 0.0 <= truncated_variance(a, b)[0] <= min(1.0, width**2 / 4.0)
    assert_allclose(truncated_mean(-b, -a), -mean, rtol=1e-7, atol=1e-7)
    assert log_mass(a, b)[0] <= 0.0


def test_an_empty_interval_has_no_mass() -> None:
    one = np.ones(1)
    assert log_mass(one, one)[0] == -np.inf
    assert truncated_mean(one, one)[0] == 1.0


@in_each_interval
def test_draws_follow_the_truncated_normal_distribution(low: float, high: float) -> None:
    n = 20_000
    drawn = values_between(np.full(n, low), np.full(n, high), np.full(n, 0.4), np.random.default_rng(3))
    assert low <= drawn.min()
    assert drawn.max() <= high
    assert kstest(drawn, truncnorm(low - 0.4, high - 0.4, 0.4, 1.0).cdf).pvalue > 1e-4


def test_expected_values_and_probabilities_are_around_the_mean() -> None:
    low, high, eta = np.array([0.0, -np.inf]), np.array([np.inf, 1.0]), np.array([0.7, 2.0])
    assert_allclose(values_between(low, high, eta, None), truncnorm.mean(low - eta, high - eta, eta), rtol=1e-9)
    assert_allclose(np.exp(log_probabilities_between(low, high, eta)), [0.7580363477769270, 0.15865525393145707])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_means_that_are_no_numbers_do_not_hang(bad: float) -> None:
    values = values_between(np.zeros(2), np.full(2, np.inf), np.array([bad, 1.0]), np.random.default_rng(0))
    assert np.isfinite(values[1])
