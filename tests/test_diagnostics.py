"""Split R-hat and effective sample size on chains whose answers are known."""

import numpy as np
import pytest

from csid.diagnostics import effective_sample_size, monte_carlo_error, split_rhat


def _autoregressive(correlation: float, chains: int = 4, sweeps: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = np.empty((chains, sweeps))
    x[:, 0] = rng.standard_normal(chains)
    for t in range(1, sweeps):
        x[:, t] = correlation * x[:, t - 1] + np.sqrt(1 - correlation**2) * rng.standard_normal(chains)
    return x


def test_independent_draws_agree() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 1000))
    assert 0.99 < split_rhat(draws) < 1.01
    assert 0.8 * 4000 < effective_sample_size(draws) < 1.2 * 4000


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_chain(correlation: float) -> None:
    """Known: n (1 - rho) / (1 + rho)."""
    expected = 4 * 4000 * (1 - correlation) / (1 + correlation)
    assert 0.75 * expected < effective_sample_size(_autoregressive(correlation)) < 1.25 * expected


def test_chains_in_different_places_and_chains_that_drift_are_seen() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 100))
    assert split_rhat(draws + np.arange(4)[:, None]) > 1.5
    assert split_rhat(draws + np.linspace(0, 9, 100)) > 1.5


def test_constant_and_very_short_chains() -> None:
    assert split_rhat(np.ones((2, 10))) == 1.0
    assert split_rhat(np.array([[1.0] * 6, [2.0] * 6])) == np.inf
    assert np.isnan(split_rhat(np.ones((2, 3))))
    assert np.isnan(effective_sample_size(np.ones((2, 5))))


def test_the_error_of_a_mean_of_chains_is_what_other_chains_would_give() -> None:
    rng = np.random.default_rng(0)
    weights = np.array([0.5, 0.3, 0.1, 0.1])
    means = rng.standard_normal((2000, 4, 3))
    found = np.sqrt(np.mean([monte_carlo_error(each, weights) ** 2 for each in means]))
    assert found == pytest.approx((weights @ means).std(), rel=0.05)
    assert np.isnan(monte_carlo_error(means[0, :1], np.ones(1)))
    assert np.isnan(monte_carlo_error(means[0, :2], np.array([1.0, 0.0])))
    assert monte_carlo_error(np.ones((3, 5)), np.full(3, 1 / 3)) == 0.0
