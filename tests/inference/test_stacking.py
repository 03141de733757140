"""The weights of priors, and the chains that each gets."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from csid.inference.stacking import (
    _without_small_weights,
    chains_per_prior,
    largest_weights,
    stack_densities,
    stack_means,
)

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


@pytest.mark.parametrize("shrunk", [False, True])
@pytest.mark.parametrize("unit", [1e2, 1e6])
def test_weights_do_not_depend_on_the_unit_of_the_targets(unit: float, shrunk: bool) -> None:
    """Without the constraint, the sum of the weights of these predictions would be 2."""
    rng = np.random.default_rng(3)
    truth = 3.0 * rng.standard_normal((50, 1))
    predictions = np.array([0.5 * truth + s * rng.standard_normal(truth.shape) for s in (0.5, 0.6, 0.9)])
    row_weights, target = rng.uniform(0.5, 2.0, 50), np.array([0.0, 0.0, 1.0]) if shrunk else None
    weights = stack_means(predictions, truth, row_weights, target)
    assert 0.05 < weights.min() < weights.max() < 0.6
    assert_allclose(stack_means(unit * predictions, unit * truth, row_weights, target), weights, atol=1e-4)


def test_the_weights_of_rows_count_as_repeated_rows() -> None:
    """In both kinds of stacking; by density, also if the weights are shrunk."""
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 4, 30)
    truth = rng.standard_normal((30, 1))
    predictions = np.array([truth + s * rng.standard_normal(truth.shape) for s in (0.5, 0.6, 0.7)])
    densities = rng.normal(-1.0, 0.7, (3, 30))
    target = np.array([0.1, 0.2, 0.7])
    assert_allclose(
        stack_means(predictions, truth, counts.astype(float)),
        stack_means(predictions.repeat(counts, axis=1), truth.repeat(counts, axis=0), np.ones(counts.sum())),
        atol=1e-6,
    )
    for to in (None, target):
        repeated = stack_densities(densities.repeat(counts, axis=1), np.ones(counts.sum()), to)
        assert_allclose(stack_densities(densities, counts.astype(float), to), repeated, atol=1e-6)


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


@pytest.mark.parametrize("shrunk", [False, True])
def test_a_factor_that_the_densities_of_a_row_share_changes_nothing(shrunk: bool) -> None:
    """Also if those densities are too small or too large for floating-point numbers."""
    rng = np.random.default_rng(5)
    densities, target = rng.normal(-1.0, 0.7, (3, 100)), np.array([0.2, 0.5, 0.3]) if shrunk else None
    shared = rng.choice([-2000.0, -3.0, 0.0, 500.0], 100)
    weights = stack_densities(densities, np.ones(100), target)
    assert_allclose(stack_densities(densities + shared, np.ones(100), target), weights, atol=1e-6)


def test_a_weight_of_four_percent_is_kept_and_a_smaller_one_is_dropped() -> None:
    assert_allclose(_without_small_weights(lambda kept: np.array([1.0, 24.0]), 2), [0.04, 0.96])
    solutions = {3: np.array([1.0, 24.0, 1.0]), 1: np.array([7.0])}
    assert_allclose(_without_small_weights(lambda kept: solutions[len(kept)], 3), [0.0, 1.0, 0.0])


def test_small_weights_are_dropped_until_none_is_small() -> None:
    """A weight that was large enough can be small among those that remain."""
    solutions = {4: [0.01, 0.05, 0.47, 0.47], 3: [0.03, 0.47, 0.5], 2: [2.0, 6.0]}
    seen: list[list[int]] = []

    def solve(kept: Array) -> Array:
        seen.append(kept.tolist())
        return np.array(solutions[len(kept)])

    assert_allclose(_without_small_weights(solve, 4), [0.0, 0.0, 0.25, 0.75])
    assert seen == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]


def test_every_weight_has_a_chain() -> None:
    assert chains_per_prior(np.array([0.9, 0.06, 0.0, 0.04]), 6) == [4, 1, 0, 1]
    assert chains_per_prior(np.array([0.5, 0.3, 0.2]), 1) == [1, 1, 1]


def _least_variance(weights: Array, total: int) -> float:
    """The smallest sum of w^2 / n over all ways to split chains among priors, at least one for each, by trying all."""
    cuts = combinations(range(1, total), len(weights) - 1)
    ways = np.diff([(0, *cut, total) for cut in cuts])
    return float((weights**2 / ways).sum(axis=1).min())


def _check_chains(weights: Array, n_chains: int) -> None:
    some = np.flatnonzero(weights)
    counts = chains_per_prior(weights, n_chains)
    assert all(type(count) is int for count in counts)
    assert [count > 0 for count in counts] == (weights > 0.0).tolist()
    assert sum(counts) == max(n_chains, len(some))
    least = _least_variance(weights[some], sum(counts))
    assert_allclose((weights[some] ** 2 / np.array(counts)[some]).sum(), least, rtol=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5).filter(lambda parts: sum(parts) > 0.1), st.integers(1, 14))
def test_chains_are_where_they_lower_the_variance_most(parts: list[float], n_chains: int) -> None:
    """No other way to give every prior with a weight one chain at least has a smaller sum of w^2 / n."""
    weights = np.array(parts)
    _check_chains(np.where(weights < 1e-3, 0.0, weights) / weights.sum(), n_chains)


@pytest.mark.parametrize("n_chains", range(1, 11))
def test_chains_of_small_shares_are_where_they_lower_the_variance_most(n_chains: int) -> None:
    """All weights of three priors in the ratios of numbers up to 6: a step in the counts is at a ratio like 3 to 2."""
    for parts in product(range(7), repeat=3):
        if any(parts):
            _check_chains(np.array(parts) / sum(parts), n_chains)


def test_priors_of_equal_weight_get_chains_in_their_order() -> None:
    assert chains_per_prior(np.full(3, 1 / 3), 4) == [2, 1, 1]
    assert chains_per_prior(np.full(3, 1 / 3), 5) == [2, 2, 1]


def test_only_the_largest_weights_are_kept() -> None:
    assert_allclose(largest_weights(np.array([0.1, 0.5, 0.0, 0.4]), 2), [0.0, 5 / 9, 0.0, 4 / 9])
    assert_allclose(largest_weights(np.array([0.1, 0.5, 0.4]), 8), [0.1, 0.5, 0.4])
    assert_allclose(largest_weights(np.full(3, 1 / 3), 2), [0.5, 0.5, 0.0])  # the first of equals
