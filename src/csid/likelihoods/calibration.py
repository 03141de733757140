"""Calibration of predictive distributions on held-out rows, by a factor that depends on the predicted mean.

The noise of many targets grows with their mean (counts, prices, rings of a shell), and the mean over several chains has
a smaller error than each of them. The posterior draws show neither; held-out rows do. The logarithm of the factor is
piecewise linear in the predicted mean, with a smoothness penalty.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows
from csid.likelihoods.mixture import Mixture
from csid.likelihoods.predictive import PredictiveCalibration

Array = NDArray[np.float64]

_KNOTS = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)
_SHRINKAGE_ROWS = 120.0
_SMOOTHNESS = 40.0
_NEWTON_STEPS = 30
_COVERAGE = 0.9
_LARGEST_LOG_FACTOR, _BISECTIONS = float(np.log(4.0)), 12


@dataclass(frozen=True)
class Calibration(PredictiveCalibration):
    """A factor by which deviations from the predicted mean are multiplied, as a function of that mean.

    knots : (K, P) increasing predicted means.
    log_factors : (K, P) logarithms of the factor at the knots; constant beyond the outer knots.
    """

    knots: Array
    log_factors: Array

    @classmethod
    def identity(cls, outputs: int) -> "Calibration":
        """A calibration that changes nothing."""
        return cls(np.zeros((outputs, 1)), np.zeros((outputs, 1)))

    def at(self, mean: Array) -> Array:
        """The factor (M, K) at predicted means (M, K)."""
        columns = [np.interp(mean[:, j], self.knots[j], self.log_factors[j]) for j in range(mean.shape[1])]
        return np.asarray(np.exp(np.stack(columns, axis=1)))

    def in_units(self, centre: Array, scale: Array) -> "Calibration":
        """The same calibration for means in other units, `centre + scale * mean`."""
        return replace(self, knots=centre[:, None] + scale[:, None] * self.knots)

    def times(self, factor: Array) -> "Calibration":
        """This calibration, with its factors multiplied by `factor` (K,)."""
        return replace(self, log_factors=self.log_factors + np.log(factor)[:, None])

    def of(self, predictive: Mixture) -> Mixture:
        """The calibrated predictive distribution."""
        factor = self.at(predictive.mean)
        return replace(predictive.widened(factor), scales=factor * predictive.scales)


def fit_calibration(predictive: Mixture, truth: Array, weights: Array | None = None) -> Calibration:
    """Fit the calibration of a predictive distribution to the true targets (M, K) of held-out rows.

    The absolute errors determine how the factor varies with the mean. It is then scaled so that 90 % intervals cover
    90 %. With few rows this scale is shrunk towards 1.

    weights : (M, K) of the rows, at most 1; all 1 by default.
    """
    weights = np.ones(truth.shape) if weights is None else weights
    errors = np.abs(truth - predictive.mean) / np.sqrt(predictive.variance)
    knots = np.quantile(predictive.mean, _KNOTS, axis=0).T
    knots += 1e-9 * np.arange(knots.shape[1]) * (1.0 + np.abs(knots[:, -1:]))  # strictly increasing with tied means
    of_outputs = zip(predictive.mean.T, knots, errors.T, weights.T, strict=True)
    logs = np.array([_log_factors(*one) for one in of_outputs])
    varying = Calibration(knots, logs).of(predictive)
    lower, upper = (varying.ppf(q) for q in (0.5 - 0.5 * _COVERAGE, 0.5 + 0.5 * _COVERAGE))
    needed = _quantile(np.abs(truth - 0.5 * (lower + upper)) / (0.5 * (upper - lower)), _COVERAGE, weights)
    rows = weights.sum(axis=0)
    trust = rows / (rows + _SHRINKAGE_ROWS)
    return Calibration(knots, logs + np.log(1.0 + trust * (needed - 1.0))[:, None])


def _quantile(values: Array, q: float, weights: Array) -> Array:
    """Quantiles (K,) of values (M, K) with weights (M, K), linear between values as those of NumPy."""
    order = np.argsort(values, axis=0)
    values, weights = (np.take_along_axis(each, order, axis=0) for each in (values, weights))
    before = np.cumsum(weights, axis=0) - weights
    return np.array([np.interp(q * below[-1], below, column) for below, column in zip(before.T, values.T, strict=True)])


def fit_imputation_factor(predictive: Mixture, truth: Array, calibration: Calibration) -> Array:
    """The factor (K,) of deviations of draws from their mean at incomplete rows, so that 90 % intervals cover 90 %.

    predictive : the predictive distribution of incomplete rows, whose draws impute missing cells; truth : (M, K).
    With few rows the factor is shrunk towards 1.
    """
    low, high = (np.full(truth.shape[1], sign * _LARGEST_LOG_FACTOR) for sign in (-1.0, 1.0))
    for _ in range(_BISECTIONS if len(truth) else 0):
        middle = 0.5 * (low + high)
        levels = calibration.of(predictive.widened(np.exp(middle))).cdf(truth)
        covered = (np.abs(levels - 0.5) <= 0.5 * _COVERAGE).mean(axis=0)
        low, high = np.where(covered < _COVERAGE, middle, low), np.where(covered < _COVERAGE, high, middle)
    return np.asarray(np.exp(len(truth) / (len(truth) + _SHRINKAGE_ROWS) * 0.5 * (low + high)))


def _log_factors(mean: Array, knots: Array, errors: Array, weights: Array) -> Array:
    """Log scales (P,) at the knots of absolute errors (M,) at predicted means (M,), centred to average zero over rows.

    Minimises sum(w (h + e exp(-h))), the weighted negative log-likelihood of a Laplace distribution, plus a penalty on
    differences of neighbouring knots, where h is linear between knots. The problem is convex; solved by Newton's
    method.
    """
    hats = np.array([np.interp(mean, knots, unit) for unit in np.eye(len(knots))])
    penalty = _SMOOTHNESS * len(knots) * np.diff(np.eye(len(knots)), axis=0).T @ np.diff(np.eye(len(knots)), axis=0)
    logs = np.full(len(knots), np.log(max(np.average(errors, weights=weights), 1e-12)))
    for _ in range(_NEWTON_STEPS):
        ratio = errors * np.exp(-logs @ hats)
        gradient = sums_over_rows(weights * (1.0 - ratio), hats.T) + penalty @ logs
        curvature = np.einsum("m,pm,qm->pq", weights * np.maximum(ratio, 0.1), hats, hats) + penalty
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(knots)), gradient)
        logs -= np.clip(step, -0.5, 0.5)
    return np.asarray(logs - np.average(logs @ hats, weights=weights))


def as_noise_calibration(calibration: PredictiveCalibration) -> Calibration:
    """A calibration of additive noise, or an error."""
    if isinstance(calibration, Calibration):
        return calibration
    raise TypeError(f"the calibration is a {type(calibration).__name__}, not that of a numeric target.")
