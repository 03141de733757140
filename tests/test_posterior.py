"""Predictive distributions from weighted draws, against their definitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, t

from csid.cpd import CPD
from csid.encoding import CategoricalMode, Encoding, OrdinalMode
from csid.posterior import Draws, Mixture, Posterior

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
    modes = (CategoricalMode("a", ("x", "y", "z"), False), CategoricalMode("b", (False, True), False))
    p = (np.full(3, 1 / 3), np.full(2, 0.5))
    draws = tuple(
        CPD((rng.standard_normal((3, 2)), rng.standard_normal((2, 2))), rng.standard_normal((1, 2)), np.ones(1), p)
        for _ in range(4)
    )
    codes = np.array([[0, 1], [2, 0], [3, 1]], dtype=np.uint8)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    noise = rng.uniform(0.5, 1.0, (4, 1))
    parts = [slice(0, 1), slice(1, 4)]
    groups = tuple(Draws.of(modes, draws[part], noise[part], shares[part]) for part in parts)
    return Posterior(groups, Encoding(modes, p)), codes


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


def test_draws_of_few_levels_move_to_more_without_change() -> None:
    """Linear between levels, and of different ranks."""
    rng = np.random.default_rng(0)
    coarse, fine = (OrdinalMode("a", grid, True, True) for grid in (np.arange(3.0), np.linspace(0.0, 2.0, 9)))
    p = (np.full(4, 0.25),)
    cpds = [
        CPD((rng.standard_normal((4, rank)),), rng.standard_normal((2, rank)), rng.standard_normal(2), p)
        for rank in (2, 3)
    ]
    draws = Draws.of((coarse,), cpds, np.ones((2, 2)), np.full(2, 0.5))
    moved = draws.on(Encoding((fine,), (np.full(10, 0.1),)))
    at_levels = np.array([[0], [1], [2], [3]], np.uint8)
    for cpd, other in zip(cpds, moved, strict=True):
        expected = cpd.evaluate(at_levels, np.zeros((4, 1)))
        assert_allclose(other.evaluate(np.array([[0], [4], [8], [9]], np.uint8), np.zeros((4, 1))), expected, 1e-6)
        between = other.evaluate(np.array([[2]], np.uint8), np.zeros((1, 1)))
        assert_allclose(between, expected[:2].mean(axis=0, keepdims=True), rtol=1e-6)


def test_a_pickle_holds_no_more_than_the_draws() -> None:
    posterior, codes = _posterior()
    before = len(pickle.dumps(posterior))
    expected = posterior.mean.evaluate(codes, np.zeros((0, 2)))
    assert len(pickle.dumps(posterior)) == before
    again = pickle.loads(pickle.dumps(posterior))
    assert_array_equal(again.mean.evaluate(codes, np.zeros((0, 2))), expected)
