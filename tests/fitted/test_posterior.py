"""Weighted draws: their mean, their predictive distribution, their levels, and what a pickle holds of them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid.encoding import CategoricalMode, Encoding, OrdinalMode
from csid.fitted.posterior import Draws, Posterior
from csid.likelihoods.gaussian import Gaussian
from csid.missing.latent_classes import LatentClasses
from csid.missing.level_pmf import LevelPMF
from csid.tensor.cpd import CPD

Array = np.ndarray


def _noise(scales: Array) -> list[dict[str, Array]]:
    """Own parameters of draws whose noise has these scales (D, K)."""
    return [{"noise": scale} for scale in scales]


def _posterior() -> tuple[Posterior, Array]:
    rng = np.random.default_rng(0)
    modes = (CategoricalMode("a", ("x", "y", "z"), False), CategoricalMode("b", (False, True), False))
    p = (np.full(3, 1 / 3), np.full(2, 0.5))
    draws = tuple(
        CPD((rng.standard_normal((3, 2)), rng.standard_normal((2, 2))), rng.standard_normal((1, 2)), np.ones(1), p)
        for _ in range(4)
    )
    codes = np.array([[0, 1], [2, 0], [3, 1]], dtype=np.uint8)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    noise = rng.uniform(0.5, 1.0, (4, 1))
    parts = [slice(0, 1), slice(1, 4)]
    groups = tuple(Draws.of(modes, draws[part], _noise(noise[part]), weights[part]) for part in parts)
    return Posterior(groups, Encoding(modes, p), Gaussian()), codes


def test_the_mean_tensor_predicts_the_mean_of_the_draws() -> None:
    posterior, codes = _posterior()
    none = np.zeros((0, 2), np.float32)
    each = posterior.values(codes, none)
    assert_allclose(posterior.mean.evaluate(codes, none), np.tensordot(posterior.weights, each, 1), rtol=1e-12)
    assert posterior.mean.rank == 8


def _conditional_pmf(posterior: Posterior) -> LevelPMF:
    """Two classes of rows with 3 and 2 levels."""
    lifts = (np.array([[1.5, 0.5], [0.9, 1.1], [0.6, 1.4]]), np.array([[0.4, 1.6], [1.6, 0.4]]))
    bins = (np.arange(3), np.arange(2))
    return LevelPMF(LatentClasses(np.array([0.3, 0.7]), lifts), bins, posterior.encoding.marginals)


def test_missing_cells_follow_the_observed_ones_under_a_joint_pmf() -> None:
    """By summing over all cells: the first of the last row is missing, and the second tells of it."""
    posterior, codes = _posterior()
    posterior = replace(posterior, pmf=_conditional_pmf(posterior))
    assert posterior.pmf is not None
    none = np.zeros((0, 2), np.float32)
    of_classes = posterior.pmf.classes.weights * posterior.pmf.given_class[1][1]
    of_levels = posterior.pmf.given_class[0] @ of_classes / of_classes.sum()
    whole = np.array([[0, 1], [1, 1], [2, 1]], np.uint8)
    by_hand = of_levels @ posterior.mean.evaluate(whole, none)
    expected = posterior.expectation.evaluate(codes, none)
    assert_allclose(expected[2], by_hand, rtol=1e-10)
    assert_allclose(expected[:2], posterior.mean.evaluate(codes[:2], none), rtol=1e-12)
    values = posterior.values(codes, none)
    assert_allclose(np.tensordot(posterior.weights, values, 1), expected, rtol=1e-10)
    assert_allclose(values[:, :2], replace(posterior, pmf=None).values(codes[:2], none), rtol=1e-12)


def test_a_draw_on_other_predictors_is_refused() -> None:
    posterior, _ = _posterior()
    longer = replace(posterior.draws[0], factors=(*posterior.draws[0].factors, np.ones((2, 2))))
    with pytest.raises(ValueError, match="zip"):
        Draws.of(posterior.groups[0].modes, [posterior.draws[0], longer], _noise(np.ones((2, 1))), np.full(2, 0.5))


def test_an_encoding_of_other_predictors_is_refused() -> None:
    posterior, _ = _posterior()
    encoding = posterior.encoding
    longer = Encoding((*encoding.modes, encoding.modes[0]), (*encoding.marginals, encoding.marginals[0]))
    for other in (longer, Encoding(encoding.modes[:1], encoding.marginals[:1])):
        with pytest.raises(ValueError, match="zip"):
            posterior.groups[0].on(other)


def test_noise_is_that_of_the_draws_in_every_row() -> None:
    posterior, codes = _posterior()
    predictive = posterior.predictive(posterior.values(codes, np.zeros((0, 2), np.float32)))
    assert_allclose(predictive.noise_variance, [posterior.weights @ posterior.noise**2], rtol=1e-12)
    rows = replace(predictive, scales=np.repeat(predictive.scales, 3, axis=1))
    assert_allclose(predictive.ppf(0.3), rows.ppf(0.3), rtol=1e-12)
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
    draws = Draws.of((coarse,), cpds, _noise(np.ones((2, 2))), np.full(2, 0.5))
    moved = draws.on(Encoding((fine,), (np.full(10, 0.1),)))
    at_levels = np.array([[0], [1], [2], [3]], np.uint8)
    for cpd, other in zip(cpds, moved, strict=True):
        expected = cpd.evaluate(at_levels, np.zeros((4, 1)))
        assert_allclose(other.evaluate(np.array([[0], [4], [8], [9]], np.uint8), np.zeros((4, 1))), expected, 1e-6)
        between = other.evaluate(np.array([[2]], np.uint8), np.zeros((1, 1)))
        assert_allclose(between, expected[:2].mean(axis=0, keepdims=True), rtol=1e-6)


def _of_factors(*factors: Array, half: bool = False) -> Draws:
    """A single draw of rank two with these factors."""
    modes = tuple(OrdinalMode(f"x{n}", np.arange(float(len(A))), True, False) for n, A in enumerate(factors))
    marginals = tuple(np.full(len(A), 1.0 / len(A)) for A in factors)
    cpd = CPD(factors, np.ones((1, 2)), np.zeros(1), marginals)
    return Draws.of(modes, [cpd], _noise(np.ones((1, 1))), np.ones(1), half)


def test_half_precision_rounds_deviations_from_one_only() -> None:
    """To one part in 2048 of the deviation, however small it is; single precision rounds the number itself."""
    rng = np.random.default_rng(0)
    factors = [1.0 + size * rng.standard_normal((5, 2)) for size in (1e-3, 1.0, 100.0)]
    single, half = _of_factors(*factors), _of_factors(*factors, half=True)
    for n, A in enumerate(factors):
        assert single.factors[n].dtype == np.float32
        assert half.factors[n].dtype == np.float16
        assert single.factor(n).dtype == half.factor(n).dtype == np.float64
        assert_allclose(single.factor(n), A, rtol=1e-7)
        assert_allclose(half.factor(n) - 1.0, A - 1.0, rtol=1 / 2048)
    assert_array_equal(_of_factors(np.ones((3, 2)), half=True).factor(0), 1.0)


@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize(("largest", "dtype"), [(9_999.0, np.float16), (-10_000.0, np.float32), (10_000.0, np.float32)])
def test_a_number_of_ten_thousand_in_any_factor_keeps_all_in_single_precision(
    where: int, largest: float, dtype: type
) -> None:
    factors = [np.zeros((3, 2)), np.ones((4, 2))]
    factors[where][1, 1] = largest
    assert [A.dtype for A in _of_factors(*factors, half=True).factors] == [dtype, dtype]
    assert_allclose(_of_factors(*factors, half=True).factor(where)[1, 1], largest, rtol=1e-3)


def test_draws_of_several_ranks_and_groups_keep_their_order() -> None:
    """Values, parameters and weights of the same number are of the same draw."""
    like, codes = _posterior()
    modes, p, rng = like.encoding.modes, like.encoding.marginals, np.random.default_rng(1)
    cpds = [
        CPD((rng.normal(size=(3, r)), rng.normal(size=(2, r))), rng.normal(size=(2, r)), rng.normal(size=2), p)
        for r in (3, 1, 2)
    ]
    noise, weights = rng.uniform(0.5, 1.0, (3, 2)), np.array([0.2, 0.5, 0.3])
    parts = [slice(0, 2), slice(2, 3)]
    groups = tuple(Draws.of(modes, cpds[part], _noise(noise[part]), weights[part]) for part in parts)
    posterior, none = replace(like, groups=groups), np.zeros((0, 2), np.float32)
    expected = np.array([cpd.evaluate(codes, none) for cpd in cpds])
    assert_allclose(posterior.expected_values(codes, none), expected, atol=1e-6)
    assert_allclose(posterior.values(codes[:2], none), expected[:, :2], atol=1e-6)  # complete rows
    assert_allclose(posterior.mean.evaluate(codes, none), np.tensordot(weights, expected, 1), atol=1e-6)
    assert_array_equal(posterior.weights, weights)
    assert list(posterior.parameters) == ["noise"]
    assert_array_equal(posterior.noise, noise)


def test_its_table_has_a_line_for_each_group() -> None:
    posterior, _ = _posterior()
    table = posterior.table()
    assert table.header == ["draws", "sum of ranks", "levels of all predictors", "weight"]
    assert [row[:3] for row in table.rows] == [[1, 2, 5], [3, 6, 5]]
    assert_allclose([row[3] for row in table.rows], [0.1, 0.9])


def test_draws_spread_over_missing_cells_as_much_as_the_imputation_factor_says() -> None:
    """About the same mean; by default, as much as the PMF."""
    posterior, _ = _posterior()
    none = np.zeros((0, 2), np.float32)
    codes = np.array([[3, 1], [0, 2], [0, 1]], np.uint8)
    plain = posterior.values(codes, none)
    assert_array_equal(replace(posterior, imputation_factor=np.ones(1)).values(codes, none), plain)
    mean = np.tensordot(posterior.weights, plain, 1)
    wider = replace(posterior, imputation_factor=np.array([3.0])).values(codes, none)
    assert_allclose(wider[:, :2] - mean[:2], 3.0 * (plain[:, :2] - mean[:2]), atol=1e-12)
    assert_array_equal(wider[:, 2], plain[:, 2])


def test_a_pickle_holds_no_more_than_the_draws() -> None:
    posterior, codes = _posterior()
    before = len(pickle.dumps(posterior))
    expected = posterior.mean.evaluate(codes, np.zeros((0, 2)))
    assert len(pickle.dumps(posterior)) == before
    again = pickle.loads(pickle.dumps(posterior))
    assert_array_equal(again.mean.evaluate(codes, np.zeros((0, 2))), expected)
