"""Curves of predicted probabilities, against their definitions."""

import numpy as np
import pytest
from scipy.stats import binom

from csid.fitted.class_curves import precision_recall_curve, reliability_curve, roc_curve


def test_bins_have_means_frequencies_and_binomial_bounds() -> None:
    p = np.array([0.0, 0.04, 0.05, 0.31, 0.39, 1.0, 1.0])
    seen = np.array([False, False, True, False, True, True, True])
    found = reliability_curve(seen, p)
    assert found.rows.tolist() == [3, 2, 2]
    np.testing.assert_allclose(found.predicted, [0.03, 0.35, 1.0])
    np.testing.assert_allclose(found.observed, [1 / 3, 0.5, 1.0])
    np.testing.assert_allclose(found.low, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(found.high, [1 / 3, 1.0, 1.0])


def test_frequencies_of_a_calibrated_model_are_inside_the_bounds_with_95_percent() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    inside = []
    for _ in range(200):
        found = reliability_curve(rng.uniform(size=200) < p, p)
        inside += ((found.low <= found.observed) & (found.observed <= found.high)).tolist()
    assert binom.ppf(0.001, len(inside), 0.94) <= sum(inside) <= 0.99 * len(inside)


def test_curves_are_those_of_all_thresholds() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(size=60).round(1)  # with ties
    seen = rng.uniform(size=60) < p
    rates, precision = roc_curve(seen, p), precision_recall_curve(seen, p)
    assert rates is not None
    assert precision is not None
    for threshold in np.unique(p):
        chosen = p >= threshold
        recall, false = chosen[seen].mean(), chosen[~seen].mean()
        along = np.interp(false + recall, rates.x + rates.y, rates.y)  # both rise along the curve
        np.testing.assert_allclose(along, recall, atol=1e-12)
        at = np.flatnonzero(np.isclose(precision.x, recall) & np.isclose(precision.y, seen[chosen].mean()))
        assert len(at) > 0
    pairs = p[seen][:, None] - p[~seen]
    assert rates.area == pytest.approx(np.mean(pairs > 0) + 0.5 * np.mean(pairs == 0))
    steps = np.diff(precision.x) @ precision.y[1:]
    assert precision.area == pytest.approx(steps)


def test_curves_of_one_kind_of_rows_are_not_defined() -> None:
    p = np.array([0.2, 0.7])
    assert roc_curve(np.array([True, True]), p) is None
    assert roc_curve(np.array([False, False]), p) is None
    assert precision_recall_curve(np.array([False, False]), p) is None
