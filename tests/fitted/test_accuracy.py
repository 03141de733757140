"""How good a fit is, from held-out rows: what the metrics are, and that coverage is honest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import r2_score, root_mean_squared_error

from csid import BayesianCSIDRegressor
from csid.fitted.accuracy import accuracy_of
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.mixture import Mixture

Array = np.ndarray


def _predictive(means: Array, scale: float = 1.0) -> Mixture:
    return Mixture(means[None], np.full((1, 1, means.shape[1]), scale), np.ones(1), Gaussian())


def test_metrics_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    means, weights = rng.standard_normal((300, 2)), rng.uniform(0.5, 2.0, 300)
    truth = means + np.array([0.5, 2.0]) * rng.standard_normal((300, 2))
    found = accuracy_of(_predictive(means), truth, weights, Gaussian()).in_units(np.array([10.0, 1.0]))
    error = root_mean_squared_error(truth, means, sample_weight=weights, multioutput="raw_values")
    assert found.rows == 300
    assert_allclose(found.rmse, error * [10.0, 1.0])
    assert_allclose(found.r2, r2_score(truth, means, sample_weight=weights, multioutput="raw_values"))


def test_intervals_are_calibrated_on_other_rows() -> None:
    """Every second error is tiny. A calibration that had seen its own rows would cover 90 % of each half."""
    means = np.linspace(-1.0, 1.0, 2000)[:, None]
    truth = means + np.where(np.arange(2000) % 2 == 0, 1e-3, 1.0)[:, None]
    found = accuracy_of(_predictive(means), truth, np.ones(2000), Gaussian())
    assert_allclose(found.coverage, 0.5, atol=0.01)


def test_a_constant_target_has_no_r2() -> None:
    assert np.isnan(accuracy_of(_predictive(np.ones((20, 1))), np.zeros((20, 1)), np.ones(20), Gaussian()).r2).all()


def test_a_fit_knows_its_accuracy_in_the_units_of_y() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (500, 2))
    y = np.stack([1000.0 * X[:, 0] + 100.0 * rng.standard_normal(500), X[:, 1]], axis=1)
    model = BayesianCSIDRegressor(
        rank=4, prior=["medium", "smooth"], effort="fast", n_chains=2, n_burn=30, random_state=0
    ).fit(X, y)
    assert model.accuracy_ is not None
    assert model.accuracy_.rmse[0] == pytest.approx(100.0, rel=0.3)
    assert model.accuracy_.rmse[1] < 0.1
    assert (model.accuracy_.r2 > 0.9).all()
    assert model.set_params(prior="medium").fit(X, y).accuracy_ is None
