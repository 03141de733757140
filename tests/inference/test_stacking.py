"""The weights of priors, and the chains that each gets."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from csid.inference.stacking import chains_per_prior, largest_weights, stack_densities, stack_means

Array = np.ndarray
SUM_TO_ONE = {"type": "eq", "fun": lambda weights: weights.sum() - 1.0}


@pytest.mark.parametrize("outputs", [1, 2])
def test_weights_minimise_the_squared_error(outputs: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((200, outputs))
    predictions = np.array([truth + s * rng.standard_normal(truth.shape) for s in (0.5, 0.7, 3.0)])
    row_weights = rng.uniform(0.5, 2.0, 200)

    def error(weights: Array) -> float:
        return float(row_weights @ ((truth - np.tensordot(weights, predictions, 1)) ** 2).sum(axis=1))

    best = minimize(error, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[SUM_TO_ONE])
    weights = stack_means(predictions, truth, row_weights)
    assert_allclose(weights.sum(), 1.0)
    assert weights[2] == 0.0  # below the least weight that is kept
    assert error(weights) < 1.02 * best.fun


@pytest.mark.parametrize("rows", [20, 2000])
def test_weights_are_shrunk_as_much_as_some_rows_pull(rows: int) -> None:
    """The minimum of the squared errors plus ten times the least mean of them, for each unit away in the square."""
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((rows, 1))
    predictions = np.array([truth + 0.5 * rng.standard_normal(truth.shape) for _ in range(3)])
    row_weights, target = np.ones(rows), np.array([0.0, 0.0, 1.0])
    least = float(((truth - predictions) ** 2).mean(axis=(1, 2)).min())

    def objective(weights: Array) -> float:
        missed = float(((truth - np.tensordot(weights, predictions, 1)) ** 2).sum())
        return missed + 10.0 * least * float(((weights - target) ** 2).sum())

    best = minimize(objective, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[SUM_TO_ONE], tol=1e-10)
    assert_allclose(stack_means(predictions, truth, row_weights, target), best.x, atol=1e-4)
    assert (best.x[2] > 0.5) == (rows == 20)


def test_a_perfect_prediction_takes_all() -> None:
    truth = np.random.default_rng(0).standard_normal((50, 1))
    assert_allclose(stack_means(np.array([truth, truth + 1.0]), truth, np.ones(50)), [1.0, 0.0])


@pytest.mark.parametrize("shrunk", [False, True])
def test_weights_by_density_maximise_the_log_density_of_the_mixture(shrunk: bool) -> None:
    """With a target w0, ten pseudo-rows of each prior's weight: sum(10 w0 log w) is added."""
    rng = np.random.default_rng(2)
    densities = rng.normal(-1.0, 0.7, (3, 300)) + np.array([[0.2], [0.0], [0.1]])
    row_weights, target = rng.uniform(0.5, 2.0, 300), np.array([0.2, 0.5, 0.3]) if shrunk else None

    def loss(weights: Array) -> float:
        prior = 0.0 if target is None else float(10.0 * target @ np.log(np.maximum(weights, 1e-12)))
        return -float(row_weights @ np.log(weights @ np.exp(densities))) - prior

    best = minimize(loss, np.full(3, 1 / 3), bounds=[(1e-9, 1)] * 3, constraints=[SUM_TO_ONE], tol=1e-12)
    weights = stack_densities(densities, row_weights, target)
    assert_allclose(weights.sum(), 1.0)
    assert_allclose(weights, best.x, atol=2e-3)


def test_a_prior_under_which_rows_are_unlikely_is_dropped() -> None:
    densities = np.array([[-1.0] * 40, [-9.0] * 40])
    assert_allclose(stack_densities(densities, np.ones(40)), [1.0, 0.0])


def test_every_weight_has_a_chain() -> None:
    assert chains_per_prior(np.array([0.9, 0.06, 0.0, 0.04]), 6) == [4, 1, 0, 1]
    assert chains_per_prior(np.array([0.5, 0.3, 0.2]), 1) == [1, 1, 1]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=4).filter(any), st.integers(1, 9))
def test_chains_are_where_they_lower_the_variance_most(parts: list[int], n_chains: int) -> None:
    """No other way to give every prior with a weight one chain at least has a smaller sum of w^2 / n."""
    weights = np.array(parts) / sum(parts)
    some = np.flatnonzero(weights)
    total = max(n_chains, len(some))

    def variance(counts: Sequence[int]) -> float:
        return sum(weight**2 / count for weight, count in zip(weights[some], counts, strict=True))

    counts = chains_per_prior(weights, n_chains)
    assert [count > 0 for count in counts] == (weights > 0.0).tolist()
    assert sum(counts) == total
    ways = (way for way in product(range(1, total + 1), repeat=len(some)) if sum(way) == total)
    assert_allclose(variance([counts[at] for at in some]), min(map(variance, ways)))


def test_only_the_largest_weights_are_kept() -> None:
    assert_allclose(largest_weights(np.array([0.1, 0.5, 0.0, 0.4]), 2), [0.0, 5 / 9, 0.0, 4 / 9])
    assert_allclose(largest_weights(np.array([0.1, 0.5, 0.4]), 8), [0.1, 0.5, 0.4])
