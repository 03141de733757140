"""Predictive distributions of counts against SciPy's, their quantiles and draws, and their calibration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import nbinom, poisson
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

from csid.likelihoods.count_predictive import (
    CountPredictive,
    DispersionCalibration,
    as_counts,
    explained_deviance,
    fit_dispersion_calibration,
    poisson_deviance,
)
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.mixture import Mixture, as_mixture

Array = np.ndarray


def _predictive(rows: int, mean: float, r: float | None, draws: int = 4, seed: int = 0) -> CountPredictive:
    """r : about the dispersion; None for Poisson."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(draws))
    dispersions = np.full((draws, 1), np.inf) if r is None else r * rng.uniform(0.5, 2.0, (draws, 1))
    return CountPredictive(np.log(mean) + rng.normal(0.0, 0.4, (draws, rows)), dispersions, weights)


def _by_scipy(rows: CountPredictive, name: str, counts: Array) -> Array:
    """The pmf or cdf (M,) of the mixture."""
    found = []
    for log_mean, r in zip(rows.log_means, rows.dispersions[:, 0], strict=True):
        mean = np.exp(log_mean)
        one = poisson(mean) if np.isinf(r) else nbinom(r, r / (r + mean))
        found.append(getattr(one, name)(counts))
    return rows.weights @ np.array(found)


shapes = pytest.mark.parametrize("r", [None, 0.2, 3.0, 2000.0])


@shapes
@pytest.mark.parametrize("mean", [0.02, 1.0, 9.0, 240.0, 5000.0])
def test_probabilities_are_those_of_scipy(mean: float, r: float | None) -> None:
    """On both sides of where sums of probabilities give way to special functions."""
    rows = _predictive(30, mean, r)
    counts = np.concatenate([np.arange(20), np.linspace(0.5 * mean, 2.0 * mean, 10).round()])
    assert_allclose(rows.pmf(counts[:, None])[:, 0], _by_scipy(rows, "pmf", counts), rtol=1e-7, atol=1e-300)
    assert_allclose(rows.cdf(counts[:, None])[:, 0], _by_scipy(rows, "cdf", counts), rtol=1e-7, atol=1e-14)
    assert_array_equal(rows.cdf(counts[:, None] + 0.7), rows.cdf(counts[:, None]))
    assert_array_equal(rows.cdf(np.full((30, 1), -0.5)), np.zeros((30, 1)))


@shapes
def test_probabilities_sum_to_one_and_give_the_moments(r: float | None) -> None:
    rows = _predictive(5, 4.0, None if r is None else max(r, 1.0))
    y = np.arange(4000.0)
    p = np.hstack([rows.pmf(np.full((5, 1), each)) for each in y])
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    assert_allclose(p @ y, rows.mean[:, 0], rtol=1e-9)
    assert_allclose(p @ y**2 - (p @ y) ** 2, rows.variance[:, 0], rtol=1e-8)
    assert (rows.model_variance > 0.0).all()


@given(
    mean=st.floats(0.01, 1e5),
    r=st.one_of(st.none(), st.floats(0.1, 100.0)),
    q=st.floats(0.001, 0.999),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=60)
def test_a_quantile_is_the_smallest_count_with_enough_probability(
    mean: float, r: float | None, q: float, seed: int
) -> None:
    rows = _predictive(6, mean, r, seed=seed)
    found = rows.ppf(q)
    assert_array_equal(found, np.rint(found))
    assert (rows.cdf(found) >= q).all()
    assert (rows.cdf(found - 1.0) < q).all()


@shapes
def test_draws_follow_the_distribution(r: float | None) -> None:
    rows, n = _predictive(3, 5.0, r), 40_000
    drawn = rows.sample(n, np.random.default_rng(0))[..., 0]
    assert drawn.shape == (3, n)
    for count in (0, 2, 6, 15):
        p = rows.cdf(np.full((3, 1), float(count)))[:, 0]
        assert (np.abs((drawn <= count).mean(axis=1) - p) < 4.0 * np.sqrt(p * (1.0 - p) / n) + 1e-4).all()


def test_exposure_multiplies_the_mean() -> None:
    rows, exposure = _predictive(4, 2.0, 3.0), np.array([0.1, 1.0, 5.0, 40.0])
    assert_allclose(rows.with_exposure(exposure).mean[:, 0], rows.mean[:, 0] * exposure)
    y = np.array([0.0, 2.0, 9.0, 77.0])
    log_p = rows.log_density(np.column_stack([y, np.log(exposure)]))
    assert_allclose(log_p, rows.with_exposure(exposure).log_pmf(y[:, None])[:, 0])
    some = np.array([2, 0])
    assert_allclose(rows.take(some).mean, rows.mean[some])


def test_calibration_finds_a_wrong_dispersion_where_rows_are_many() -> None:
    rng = np.random.default_rng(0)
    truth = rng.poisson(5.0 * rng.gamma(2.0, 0.5, 3000)).astype(float)
    targets, weights = np.column_stack([truth, np.zeros(3000)]), np.ones(3000)
    wrong = CountPredictive(np.full((2, 3000), np.log(5.0)), np.full((2, 1), 8.0), np.full(2, 0.5))
    found = fit_dispersion_calibration(wrong, targets, weights)
    assert 0.2 < found.factor < 0.32  # 8 is four times too large
    few = fit_dispersion_calibration(wrong.take(np.arange(5)), targets[:5], weights[:5])
    assert abs(np.log(few.factor)) < abs(np.log(found.factor))
    assert_allclose(DispersionCalibration(0.25).of(wrong).dispersions, 2.0)
    assert found.in_units(np.zeros(1), np.full(1, 3.0)) == found


def test_deviances_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, means, weights = rng.poisson(2.0, 50).astype(float), rng.uniform(0.5, 4.0, 50), rng.uniform(0.1, 2.0, 50)
    assert_allclose(poisson_deviance(y, means).mean(), mean_poisson_deviance(y, means))
    expected = d2_tweedie_score(y, means, power=1, sample_weight=weights)
    assert_allclose(explained_deviance(y, means, np.ones(50), weights), expected)
    assert_allclose(explained_deviance(y, means, np.full(50, 3.0), weights), expected)
    assert np.isnan(explained_deviance(np.zeros(50), means, np.ones(50), weights))


def test_other_distributions_are_refused() -> None:
    normal = Mixture(np.zeros((1, 2, 1)), np.ones((1, 1, 1)), np.ones(1), Gaussian())
    with pytest.raises(TypeError, match="not that of counts"):
        as_counts(normal)
    with pytest.raises(TypeError, match="additive noise"):
        as_mixture(_predictive(2, 1.0, None))
