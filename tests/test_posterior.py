"""Predictive distributions from weighted draws, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from csid.cpd import CPD
from csid.posterior import Mixture, Posterior

Array = np.ndarray


def _mixture(seed: int, draws: int = 5, rows: int = 4, outputs: int = 2) -> Mixture:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(draws))
    return Mixture(
        3.0 * rng.standard_normal((draws, rows, outputs)), rng.uniform(0.1, 2.0, (draws, rows, outputs)), shares
    )


@given(st.integers(0, 1000), st.floats(0.001, 0.999))
@settings(deadline=None, max_examples=100)
def test_a_quantile_is_where_the_distribution_function_reaches_it(seed: int, q: float) -> None:
    mixture = _mixture(seed)
    x = mixture.quantile(q)
    below = norm.cdf((x - mixture.centres) / mixture.scales)
    assert_allclose(np.tensordot(mixture.shares, below, 1), q, atol=1e-8)


@pytest.mark.parametrize("q", [0.01, 0.3, 0.95])
def test_quantiles_and_samples_of_heavy_tails(q: float) -> None:
    plain = _mixture(2)
    mixture = Mixture(plain.centres, plain.scales, plain.shares, 4.0)
    x = mixture.quantile(q)
    below = t.cdf((x - mixture.centres) / mixture.scales, 4.0)
    assert_allclose(np.tensordot(mixture.shares, below, 1), q, atol=1e-8)
    samples = mixture.sample(100_000, np.random.default_rng(0))
    assert_allclose((samples < x[:, None]).mean(axis=1), q, atol=0.01)
    assert_allclose(mixture.noise_variance, 2.0 * plain.noise_variance)


def test_a_single_draw_has_the_quantiles_of_a_normal() -> None:
    mixture = Mixture(np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 3.0), np.ones(1))
    assert_allclose(mixture.quantile(0.9), norm.ppf(0.9, 2.0, 3.0), rtol=1e-12)


def test_variances_add_up_to_that_of_samples() -> None:
    mixture = _mixture(1)
    samples = mixture.sample(200_000, np.random.default_rng(0))
    assert samples.shape == (4, 200_000, 2)
    assert_allclose(samples.mean(axis=1), mixture.mean, atol=0.05)
    assert_allclose(samples.var(axis=1), mixture.model_variance + mixture.noise_variance, rtol=0.02)


def _posterior() -> tuple[Posterior, Array]:
    rng = np.random.default_rng(0)
    p = (np.full(3, 1 / 3), np.full(2, 0.5))
    draws = tuple(
        CPD((rng.standard_normal((3, 2)), rng.standard_normal((2, 2))), rng.standard_normal((1, 2)), np.ones(1), p)
        for _ in range(4)
    )
    codes = np.array([[0, 1], [2, 0], [3, 1]], dtype=np.uint8)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    return Posterior(draws, shares, rng.uniform(0.5, 1.0, (4, 1))), codes


def test_the_mean_tensor_predicts_the_mean_of_the_draws() -> None:
    posterior, codes = _posterior()
    none = np.zeros((0, 2), np.float32)
    each = posterior.each(codes, none)
    assert_allclose(posterior.mean.evaluate(codes, none), np.tensordot(posterior.shares, each, 1), rtol=1e-12)
    assert posterior.mean.rank == 8


def test_noise_is_that_of_the_draws_in_every_row() -> None:
    posterior, codes = _posterior()
    predictive = posterior.predictive(posterior.each(codes, np.zeros((0, 2), np.float32)))
    assert_allclose(predictive.noise_variance, [posterior.shares @ posterior.noise**2], rtol=1e-12)
    rows = Mixture(predictive.centres, np.repeat(predictive.scales, 3, axis=1), predictive.shares)
    assert_allclose(predictive.quantile(0.3), rows.quantile(0.3), rtol=1e-12)
    one, other = (mixture.sample(5, np.random.default_rng(0)) for mixture in (predictive, rows))
    assert_allclose(one, other, rtol=1e-12)
