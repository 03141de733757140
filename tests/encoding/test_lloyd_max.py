"""Levels are optimal, and follow the data when it is shifted, scaled, shuffled, weighted or repeated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid.encoding.lloyd_max import _optimal_means, distinct, lloyd_max_levels

Array = NDArray[np.float64]

seeds = st.integers(0, 2**32 - 1)


def distortion(values: Array, levels: Array, weights: Array | None = None) -> float:
    """Weighted sum of squared distances to the nearest level."""
    at = np.searchsorted(0.5 * (levels[1:] + levels[:-1]), values)
    return float(np.average((values - levels[at]) ** 2, weights=weights))


def least_distortion(values: Array, weights: Array, levels: int) -> float:
    """The least over every way to assign each value to a cell, neighbouring or not."""
    cells = np.array(list(product(range(levels), repeat=len(values))))[:, :, None] == np.arange(levels)
    mass = (cells * weights[:, None]).sum(axis=1)
    first = (cells * (weights * values)[:, None]).sum(axis=1)
    means = first / np.where(mass > 0, mass, 1.0)
    errors = (values - (cells * means[:, None, :]).sum(axis=2)) ** 2
    return float((errors @ weights).min() / weights.sum())


@st.composite
def columns(draw: st.DrawFn) -> tuple[Array, Array, int]:
    """A few values, often repeated, their weights over many orders of magnitude, and a number of levels."""
    n = draw(st.integers(1, 7))
    numbers = st.one_of(st.integers(-5, 5).map(float), st.floats(-100, 100, width=16))
    values = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    weights = 10.0 ** np.array(draw(st.lists(st.floats(-30, 2), min_size=n, max_size=n)))
    return values, weights, draw(st.integers(1, 3))


# --- the optimum --------------------------------------------------------------------------------------------------


@given(columns())
def test_levels_are_as_good_as_the_best_of_all_partitions(column: tuple[Array, Array, int]) -> None:
    values, _, levels = column
    found = distortion(values, lloyd_max_levels(values, None, levels))
    assert_allclose(found, least_distortion(values, np.ones(len(values)), levels), rtol=1e-10, atol=1e-12)


@given(columns())
def test_weighted_levels_are_as_good_as_the_best_of_all_partitions(column: tuple[Array, Array, int]) -> None:
    values, weights, levels = column
    found = distortion(values, lloyd_max_levels(values, weights, levels), weights)
    assert_allclose(found, least_distortion(values, weights, levels), rtol=1e-10, atol=1e-10)


@given(columns())
def test_there_are_no_more_levels_than_asked_for_and_they_increase(column: tuple[Array, Array, int]) -> None:
    values, weights, levels = column
    found = lloyd_max_levels(values, weights, levels)
    assert len(found) == min(levels, len(set(values.tolist())))
    assert (np.diff(found) > 0).all()
    assert values.min() <= found[0]
    assert found[-1] <= values.max()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10), st.integers(0, 5))
def test_a_column_with_few_distinct_values_keeps_each_exactly(values: list[float], more: int) -> None:
    distinct = sorted(set(values))
    assert lloyd_max_levels(np.array(values), None, len(distinct) + more).tolist() == distinct


# --- laws ---------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 8))
def test_the_order_of_rows_does_not_matter(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=60).round(1), rng.integers(1, 5, 60).astype(float)
    shuffled = rng.permutation(60)
    assert_array_equal(lloyd_max_levels(values[shuffled], None, levels), lloyd_max_levels(values, None, levels))
    assert_array_equal(
        lloyd_max_levels(values[shuffled], weights[shuffled], levels), lloyd_max_levels(values, weights, levels)
    )


@given(seeds, st.integers(2, 8))
def test_a_whole_weight_is_that_many_rows(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    values, times = rng.normal(size=40), rng.integers(1, 6, 40)
    assert_array_equal(
        lloyd_max_levels(values, times.astype(float), levels), lloyd_max_levels(np.repeat(values, times), None, levels)
    )


@given(seeds, st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_levels_shift_and_scale_with_the_values(seed: int, scale: float, shift: float) -> None:
    assume(abs(scale) > 1e-3)
    values = np.random.default_rng(seed).normal(size=50)
    expected = np.sort(scale * lloyd_max_levels(values, None, 6) + shift)
    assert_allclose(lloyd_max_levels(scale * values + shift, None, 6), expected, rtol=1e-9, atol=1e-9 * abs(scale))


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-40, 2.0**40, 2.0**1000])
def test_very_small_and_very_large_values_have_the_same_levels(scale: float) -> None:
    values = np.random.default_rng(0).normal(size=500)
    assert_array_equal(lloyd_max_levels(scale * values, None, 10), scale * lloyd_max_levels(values, None, 10))


def test_weights_that_decay_to_nothing_are_legal() -> None:
    values = np.random.default_rng(0).normal(size=3000)
    weights = 0.97 ** np.arange(3000)  # down to 1e-40
    levels = lloyd_max_levels(values, weights, 10)
    heavy = weights > 1e-17
    assert_allclose(
        distortion(values, levels, weights),
        distortion(values, lloyd_max_levels(values[heavy], weights[heavy], 10), weights),
        rtol=1e-6,
    )


# --- long columns -------------------------------------------------------------------------------------------------


def _long_column(kind: str, n: int = 200_000) -> Array:
    rng = np.random.default_rng(0)
    uniform, exponential, rare = rng.uniform(size=n), rng.exponential(size=n), rng.uniform(size=n) < 0.1
    return {
        "uniform": uniform,
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(0, 2, n),
        "cauchy": rng.standard_cauchy(n),
        "mostly zero": np.where(uniform < 0.6, 0.0, exponential),
        "a code of -1e7 for unknown": np.where(rare, -1e7, uniform),
        "a code of 1e7 for unknown": np.where(rare, 1e7, uniform),
        "seconds since 1970": 1.7e9 + 1e3 * uniform,
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "uniform",
        "normal",
        "lognormal",
        "cauchy",
        "mostly zero",
        "a code of -1e7 for unknown",
        "a code of 1e7 for unknown",
        "seconds since 1970",
    ],
)
def test_the_sketch_of_a_long_column_costs_less_than_one_percent(kind: str) -> None:
    values = _long_column(kind)
    exact = _optimal_means(*distinct(values, None), 25)
    sketched = lloyd_max_levels(values, None, 25)
    assert len(sketched) == 25
    assert distortion(values, sketched) <= 1.01 * distortion(values, exact)


def test_the_sketch_of_a_long_weighted_column_costs_less_than_one_percent() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=100_000), rng.exponential(size=100_000)
    exact = _optimal_means(*distinct(values, weights), 25)
    sketched = lloyd_max_levels(values, weights, 25)
    assert distortion(values, sketched, weights) <= 1.01 * distortion(values, exact, weights)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_outlier_does_not_blur_the_levels_of_the_others(side: float) -> None:
    values = np.random.default_rng(0).uniform(size=1000)
    alone = distortion(values, lloyd_max_levels(values, None, 10))
    beside = lloyd_max_levels(np.append(values, side * 1e12), None, 11)
    assert_allclose(distortion(values, beside), alone, rtol=1e-3)


@pytest.mark.parametrize("levels", [5_000, 65_535])
def test_thousands_of_levels_are_within_reach_and_beat_equal_counts(levels: int) -> None:
    values = np.random.default_rng(0).normal(size=100_000)
    found = lloyd_max_levels(values, None, levels)  # a table of levels times points would need gigabytes
    medians = np.sort(values)[((np.arange(levels) + 0.5) / levels * len(values)).astype(int)]
    assert len(found) <= levels
    assert (np.diff(found) > 0).all()
    assert distortion(values, found) < distortion(values, medians)
