"""The calibration factor: found on held-out rows, and put on predictive distributions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from csid.likelihoods import calibration
from csid.likelihoods.calibration import Calibration, fit_calibration, fit_imputation_factor
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.mixture import Mixture, StandardNoise
from csid.likelihoods.student_t import StudentT

Array = np.ndarray


def _predictive(means: Array, noise: StandardNoise | None = None) -> Mixture:
    """One draw whose values are the means (M, K), with noise of scale one."""
    return Mixture(means[None], np.ones((1, 1, means.shape[1])), np.ones(1), noise or Gaussian())


def test_deviations_are_multiplied_and_the_mean_is_left_alone() -> None:
    rng = np.random.default_rng(0)
    before = Mixture(rng.standard_normal((4, 30, 2)), rng.uniform(0.5, 1.0, (4, 1, 2)), np.full(4, 0.25), Gaussian())
    found = Calibration(np.array([[-1.0, 1.0], [0.0, 2.0]]), np.log([[0.5, 2.0], [3.0, 1.0]]))
    after, factor = found.of(before), found.at(before.mean)
    assert_allclose(after.mean, before.mean, atol=1e-12)
    assert_allclose(after.model_variance, factor**2 * before.model_variance)
    assert_allclose(after.noise_variance, factor**2 * before.noise_variance)
    upper, unscaled = (mixture.ppf(0.9) - mixture.mean for mixture in (after, before))
    assert_allclose(upper, factor * unscaled, atol=1e-9)


def test_the_factor_is_geometric_between_knots_and_constant_beyond() -> None:
    found = Calibration(np.array([[0.0, 2.0]]), np.log([[1.0, 4.0]]))
    assert_allclose(found.at(np.array([[-5.0], [0.0], [1.0], [2.0], [9.0]])), [[1.0], [1.0], [2.0], [4.0], [4.0]])
    assert_allclose(Calibration.identity(2).at(np.ones((3, 2))), 1.0)
    assert_allclose(found.times(np.array([0.5])).at(np.array([[1.0]])), 1.0)
    moved = found.in_units(np.array([10.0]), np.array([5.0]))
    assert_allclose(moved.at(np.array([[15.0]])), 2.0)


@pytest.mark.parametrize("noise", [Gaussian(), StudentT()])
def test_a_constant_factor_is_found(noise: StandardNoise) -> None:
    """In every output on its own, and for tails as the mixture has them."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((50_000, 2))
    found = fit_calibration(_predictive(means, noise), means + noise.sample(means.shape, rng) * [1.5, 0.8])
    assert_allclose(found.at(means[:100]), np.tile([1.5, 0.8], (100, 1)), rtol=0.08)


def test_noise_that_grows_with_the_mean_is_found() -> None:
    rng = np.random.default_rng(0)
    means = rng.uniform(0.0, 4.0, (4_000, 1))
    truth = means + 0.5 * np.exp(0.4 * means) * rng.standard_normal(means.shape)
    found = fit_calibration(_predictive(means), truth)
    assert_allclose(found.at(means), 0.5 * np.exp(0.4 * means), rtol=0.3)
    fresh = rng.uniform(0.0, 4.0, (20_000, 1))
    new = fresh + 0.5 * np.exp(0.4 * fresh) * rng.standard_normal(fresh.shape)
    predictive = found.of(_predictive(fresh))
    covered = (predictive.ppf(0.05) < new) & (new < predictive.ppf(0.95))
    for part in (fresh < 1.0, fresh > 3.0):
        assert abs(covered[part].mean() - 0.9) < 0.05


def test_errors_are_measured_in_predicted_deviations() -> None:
    """Noise that grows as predicted needs no correction; with 80 % more everywhere, the same correction everywhere."""
    rng = np.random.default_rng(0)
    means = rng.uniform(-1.0, 1.0, (20_000, 1))
    predictive = Mixture(means[None], 5.0 * np.exp(means)[None], np.ones(1), Gaussian())
    for factor in (1.0, 1.8):
        truth = means + factor * 5.0 * np.exp(means) * rng.standard_normal(means.shape)
        assert_allclose(fit_calibration(predictive, truth).at(means), factor, rtol=0.06)


def test_the_correction_of_few_rows_is_shrunk_in_proportion() -> None:
    """By n / (n + 120): the 90 % quantile of errors of one standard deviation lies at 1 / 1.645 of the half-width."""
    for rows in (40, 120, 1000):
        means = np.zeros((rows, 1))
        found = fit_calibration(_predictive(means), means + np.where(np.arange(rows) % 2 == 0, 1.0, -1.0)[:, None])
        assert_allclose(found.at(means), 1.0 + rows / (rows + 120.0) * (1.0 / 1.6448536 - 1.0), rtol=1e-3)


def test_few_rows_hardly_change_anything() -> None:
    means = np.linspace(-1.0, 1.0, 8)[:, None]
    truth = means + 3.0 * np.sign(np.arange(8) % 2 - 0.5)[:, None]
    assert (np.abs(fit_calibration(_predictive(means), truth).at(means) - 1.0) < 0.2).all()


def test_equal_means_and_perfect_predictions_leave_finite_numbers() -> None:
    for means in (np.zeros((50, 1)), np.linspace(0.0, 1.0, 50)[:, None]):
        found = fit_calibration(_predictive(means), means)
        assert np.isfinite(found.at(means)).all()
        assert (found.at(means) > 0.0).all()


def test_the_shape_is_the_minimum_of_its_objective() -> None:
    rng = np.random.default_rng(1)
    mean, knots = rng.uniform(0.0, 1.0, 300), np.array([0.0, 0.3, 0.6, 1.0])
    errors, weights = np.abs(rng.standard_normal(300)) * (1.0 + mean), rng.uniform(0.0, 1.0, 300)
    hats = np.array([np.interp(mean, knots, unit) for unit in np.eye(4)])

    def objective(logs: Array) -> float:
        h = logs @ hats
        loss = np.sum(weights * (h + errors * np.exp(-h)))
        return float(loss + 0.5 * calibration._SMOOTHNESS * 4 * np.sum(np.diff(logs) ** 2))

    best = minimize(objective, np.zeros(4), tol=1e-12).x
    centred = best - np.average(best @ hats, weights=weights)
    assert_allclose(calibration._log_factors(mean, knots, errors, weights), centred, atol=1e-5)


def test_rows_of_weight_zero_do_not_shape_the_factor_however_large_their_errors() -> None:
    rng = np.random.default_rng(5)
    mean, knots = rng.uniform(0.0, 1.0, 200), np.array([0.0, 0.3, 0.6, 1.0])
    errors, weights = np.abs(rng.standard_normal(200)) * (1.0 + mean), rng.uniform(0.0, 1.0, 200)
    means, all_errors = np.append(mean, mean), np.append(errors, 1e12 + errors)
    found = calibration._log_factors(means, knots, all_errors, np.append(weights, 0.0 * weights))
    assert_allclose(found, calibration._log_factors(mean, knots, errors, weights), atol=1e-6)


def test_the_factor_does_not_depend_on_the_unit_of_the_errors() -> None:
    """The shape is the same; the scale is left to the coverage."""
    rng = np.random.default_rng(6)
    mean, knots = rng.uniform(0.0, 1.0, 200), np.array([0.0, 0.3, 0.6, 1.0])
    errors, weights = np.abs(rng.standard_normal(200)) * (1.0 + mean), rng.uniform(0.0, 1.0, 200)
    found = calibration._log_factors(mean, knots, errors, weights)
    assert_allclose(calibration._log_factors(mean, knots, 1e5 * errors, weights), found, atol=1e-6)
    hats = np.array([np.interp(mean, knots, unit) for unit in np.eye(4)])
    assert abs(np.average(found @ hats, weights=weights)) < 1e-12


def test_knots_are_quantiles_of_the_predicted_means_and_increase_strictly() -> None:
    rng = np.random.default_rng(7)
    means = np.column_stack([rng.standard_normal(400), np.full(400, -3.0), np.repeat([0.0, 5.0], 200)])
    found = fit_calibration(_predictive(means), means + rng.standard_normal(means.shape))
    expected = np.quantile(means, [0.02, 0.2, 0.4, 0.6, 0.8, 0.98], axis=0).T
    assert_allclose(found.knots, expected, atol=1e-7)
    assert (np.diff(found.knots, axis=1) > 0.0).all()


@pytest.mark.parametrize("rows", [60, 600])
def test_without_the_shrinkage_of_few_rows_ninety_percent_are_covered(rows: int) -> None:
    """In each output, by the weights of its own rows: the scale is 1 + n / (n + 120) times what is missing to that."""
    rng = np.random.default_rng(rows)
    means, weights = rng.uniform(-1.0, 1.0, (rows, 2)), rng.uniform(0.1, 1.0, (rows, 2)) * [1.0, 0.2]
    truth = means + np.exp(0.5 * means) * rng.standard_normal(means.shape) * [2.0, 0.4]
    found = fit_calibration(_predictive(means), truth, weights)
    scale = np.exp(np.average(np.log(found.at(means)), axis=0, weights=weights))
    effective = weights.sum(axis=0)
    needed = 1.0 + (scale - 1.0) * (effective + 120.0) / effective
    calibrated = found.times(needed / scale).of(_predictive(means))
    inside = (calibrated.ppf(0.05) <= truth) & (truth <= calibrated.ppf(0.95))
    assert_allclose(np.average(inside, axis=0, weights=weights), 0.9, atol=weights.max() / effective.min())
    assert needed[0] > 1.3 > 0.7 > needed[1]


def test_quantiles_with_equal_weights_are_those_of_numpy_and_rows_of_weight_zero_are_left_out() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal((41, 2))
    for q in (0.0, 0.13, 0.9, 1.0):
        assert_allclose(calibration._quantile(values, q, np.full((41, 2), 0.3)), np.quantile(values, q, axis=0))
    weights = np.repeat([[1.0], [0.0]], [30, 11], axis=0) * np.ones(2)
    assert_allclose(calibration._quantile(values, 0.9, weights), np.quantile(values[:30], 0.9, axis=0), atol=0.2)


def test_rows_that_are_mostly_something_else_hardly_calibrate() -> None:
    """Half of the rows have twice the expected error, and nearly no weight."""
    rng = np.random.default_rng(3)
    means = rng.standard_normal((20_000, 1))
    doubled = np.arange(20_000)[:, None] % 2 == 1
    truth = means + np.where(doubled, 2.0, 1.0) * rng.standard_normal(means.shape)
    found = fit_calibration(_predictive(means), truth, np.where(doubled, 0.01, 1.0))
    assert_allclose(found.at(means), 1.0, atol=0.05)
    assert fit_calibration(_predictive(means), truth).at(means).min() > 1.3


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5])
def test_deviations_of_imputed_draws_are_calibrated_to_the_coverage(scale: float) -> None:
    """Draws impute standard normal values; those of the rows vary `scale` times as much, about the same noise."""
    rng = np.random.default_rng(4)
    draws = np.sort(rng.standard_normal((200, 1, 1)), axis=0) * np.ones((1, 20_000, 1))
    predictive = Mixture(draws, np.full((1, 1, 1), 0.1), np.full(200, 1 / 200), Gaussian())
    truth = scale * rng.standard_normal((20_000, 1)) + 0.1 * rng.standard_normal((20_000, 1))
    found = fit_imputation_factor(predictive, truth, Calibration.identity(1))
    assert_allclose(found, scale, rtol=0.1)
    assert_allclose(fit_imputation_factor(predictive, truth[:0], Calibration.identity(1)), 1.0)


@pytest.mark.parametrize("rows", [1, 30, 120, 1000])
def test_the_imputation_factor_of_few_rows_is_shrunk_and_it_is_at_most_four(rows: int) -> None:
    """Its logarithm by n / (n + 120), in each output on its own: targets are far out, or at the mean."""
    draws = np.linspace(-1.0, 1.0, 21)[:, None, None] * np.ones((1, rows, 2))
    predictive = Mixture(draws, np.full((1, 1, 2), 0.01), np.full(21, 1 / 21), Gaussian())
    truth = np.tile([50.0, 0.0], (rows, 1))
    found = fit_imputation_factor(predictive, truth, Calibration.identity(2))
    shrunk = 4.0 ** (rows / (rows + 120))
    assert_allclose(found, [shrunk, 1.0 / shrunk], rtol=1e-3)


def test_the_imputation_factor_is_the_least_that_covers_ninety_percent() -> None:
    """By brute force, on top of a calibration that doubles all deviations."""
    rng = np.random.default_rng(8)
    predictive = Mixture(rng.standard_normal((50, 40, 1)), np.full((1, 1, 1), 0.1), np.full(50, 0.02), Gaussian())
    truth = 3.0 * rng.standard_normal((40, 1))
    doubled = Calibration.identity(1).times(np.array([2.0]))

    def covered(factor: float) -> float:
        levels = doubled.of(predictive.widened(np.array([factor]))).cdf(truth)
        return float(np.mean((levels >= 0.05) & (levels <= 0.95)))

    tried = np.exp(np.linspace(-np.log(4.0), np.log(4.0), 400))
    least = next(factor for factor in tried if covered(factor) >= 0.9)
    found = fit_imputation_factor(predictive, truth, doubled)
    assert_allclose(found, least ** (40 / 160), rtol=0.01)
    assert least > 1.1
