"""Metrics of predictions, against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, r2_score, root_mean_squared_error

from csid.fitted.metrics import QUANTILES, metrics_of

Array = np.ndarray


def _rows(weighted: bool) -> tuple[Array, Array, Array, Array | None]:
    rng = np.random.default_rng(0)
    predicted = rng.standard_normal(400)
    truth = predicted + rng.standard_normal(400)
    quantiles = predicted[:, None] + norm.ppf(QUANTILES)
    return truth, predicted, quantiles, rng.uniform(0.0, 2.0, 400) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_those_of_scikit_learn(weighted: bool) -> None:
    truth, predicted, quantiles, w = _rows(weighted)
    found = metrics_of(truth, predicted, quantiles, w, 0)
    assert_allclose(found["rmse"]["value"], root_mean_squared_error(truth, predicted, sample_weight=w))
    assert_allclose(found["mae"]["value"], mean_absolute_error(truth, predicted, sample_weight=w))
    assert_allclose(found["r2"]["value"], r2_score(truth, predicted, sample_weight=w))
    losses = [mean_pinball_loss(truth, quantiles[:, at], alpha=q, sample_weight=w) for at, q in enumerate(QUANTILES)]
    assert_allclose(found["crps"]["value"], 2.0 * np.mean(losses))
    inside = (quantiles[:, 0] <= truth) & (truth <= quantiles[:, -1])
    assert_allclose(found["coverage"]["value"], np.average(inside, weights=w))


def test_confidence_is_that_of_the_mean() -> None:
    """The mean absolute error is a mean: its confidence interval is two standard errors either side."""
    truth, predicted, _, _ = _rows(weighted=False)
    found = metrics_of(truth, predicted, None, None, 0)
    error = np.std(np.abs(truth - predicted)) / np.sqrt(len(truth))
    assert_allclose(found["mae"]["high"] - found["mae"]["low"], 2 * 1.96 * error, rtol=0.15)
    assert set(found) == {"rows", "rmse", "mae", "r2"}


def test_a_constant_truth_has_no_r2() -> None:
    assert np.isnan(metrics_of(np.ones(5), np.zeros(5), None, None, 0)["r2"]["value"])
