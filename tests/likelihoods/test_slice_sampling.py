"""Slice sampling leaves a density invariant."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest, norm

from csid.likelihoods.slice_sampling import slice_sample


def _chain(log_density: Callable[[float], float], start: float, n: int) -> np.ndarray:
    rng, now, found = np.random.default_rng(0), start, []
    for _ in range(n):
        now, density = slice_sample(log_density, now, rng)
        assert density == log_density(now)
        found.append(now)
    return np.array(found)


def _skewed(x: float) -> float:
    return math.log(x) - x if x > 0.0 else -math.inf


@pytest.mark.parametrize(
    ("log_density", "cdf", "thin"),
    [
        (lambda x: -2.0 * (x - 1.0) ** 2, norm(1.0, 0.5).cdf, 10),
        (lambda x: -1250.0 * x**2, norm(0.0, 0.02).cdf, 20),
        (_skewed, gamma(2.0).cdf, 40),
    ],
    ids=["wide", "narrow", "skewed"],
)
def test_draws_follow_the_density(log_density: Callable[[float], float], cdf: Any, thin: int) -> None:
    assert kstest(_chain(log_density, 0.5, 1500 * thin)[50 * thin :: thin], cdf).pvalue > 1e-3


@pytest.mark.parametrize("density", [np.nan, -np.inf])
def test_the_present_value_stays_where_no_density_is_known(density: float) -> None:
    drawn, found = slice_sample(lambda x: density, 0.7, np.random.default_rng(0))
    assert drawn == 0.7
    assert found == density or np.isnan(found)
