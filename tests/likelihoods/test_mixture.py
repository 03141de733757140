"""Mixtures of noise over draws, against their definitions."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.mixture import Mixture, StandardNoise
from csid.likelihoods.student_t import StudentT

Array = np.ndarray


def _mixture(seed: int, noise: StandardNoise | None = None, draws: int = 5) -> Mixture:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(draws))
    centres, scales = 3.0 * rng.standard_normal((draws, 4, 2)), rng.uniform(0.1, 2.0, (draws, 4, 2))
    return Mixture(centres, scales, weights, noise or Gaussian())


@given(st.integers(0, 1000), st.floats(0.001, 0.999))
@example(176, 0.685546875)  # Newton's steps alone jump to and fro over it
@settings(deadline=None, max_examples=100)
def test_a_quantile_is_where_the_distribution_function_reaches_it(seed: int, q: float) -> None:
    mixture = _mixture(seed)
    x = mixture.ppf(q)
    below = norm.cdf((x - mixture.centres) / mixture.scales)
    assert_allclose(np.tensordot(mixture.weights, below, 1), q, atol=1e-8)
    assert_allclose(mixture.cdf(x), q, atol=1e-8)


@pytest.mark.parametrize("noise", [Gaussian(), StudentT()])
def test_the_density_is_the_slope_of_the_distribution_function(noise: StandardNoise) -> None:
    mixture, y, h = _mixture(3, noise), np.random.default_rng(1).normal(0.0, 3.0, (4, 2)), 1e-5
    assert_allclose(mixture.pdf(y), (mixture.cdf(y + h) - mixture.cdf(y - h)) / (2.0 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("q", [0.01, 0.3, 0.95])
def test_quantiles_and_samples_of_heavy_tails(q: float) -> None:
    plain, mixture = _mixture(2), _mixture(2, StudentT())
    x = mixture.ppf(q)
    below = t.cdf((x - mixture.centres) / mixture.scales, 4.0)
    assert_allclose(np.tensordot(mixture.weights, below, 1), q, atol=1e-8)
    samples = mixture.sample(100_000, np.random.default_rng(0))
    assert_allclose((samples < x[:, None]).mean(axis=1), q, atol=0.01)
    assert_allclose(mixture.noise_variance, 2.0 * plain.noise_variance)


def test_a_single_draw_has_the_quantiles_of_a_normal() -> None:
    mixture = Mixture(np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 3.0), np.ones(1), Gaussian())
    assert_allclose(mixture.ppf(0.9), norm.ppf(0.9, 2.0, 3.0), rtol=1e-12)


def test_variances_add_up_to_that_of_samples() -> None:
    mixture = _mixture(1)
    samples = mixture.sample(200_000, np.random.default_rng(0))
    assert samples.shape == (4, 200_000, 2)
    assert_allclose(samples.mean(axis=1), mixture.mean, atol=0.05)
    assert_allclose(samples.var(axis=1), mixture.model_variance + mixture.noise_variance, rtol=0.02)
