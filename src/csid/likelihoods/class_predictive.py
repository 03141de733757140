"""The predictive distribution of classes: their probabilities under each posterior draw, and their calibration."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from csid.likelihoods.predictive import Predictive, PredictiveCalibration, quantiles_over_draws

Array = NDArray[np.float64]

LEAST_PROBABILITY = 1e-12
_LOG_EXPONENT_DEVIATION, _LARGEST_LOG_EXPONENT = 0.3, 3.0


@dataclass(frozen=True)
class ClassPredictive(Predictive):
    """For each row a mixture of D distributions over C classes.

    of_draws : (D, M, C) probabilities before calibration; weights : (D,) of the draws, which sum to one.
    exponent : calibrated probabilities are proportional to this power of the mean over draws.
    """

    of_draws: Array
    weights: Array
    exponent: float = 1.0

    @property
    def probabilities(self) -> Array:
        """Calibrated probabilities (M, C)."""
        mean = np.einsum(
            "d,dmc->mc", self.weights, self.of_draws
        )  # not by BLAS: the same bits for any part of the rows
        return to_power(mean, self.exponent)

    def quantiles(self, levels: Array) -> Array:
        """Quantiles (Q, M, C) over the draws of the calibrated probability of each class."""
        return quantiles_over_draws(to_power(self.of_draws, self.exponent), self.weights, levels)

    def log_density(self, y: Array) -> Array:
        """Log probabilities (M,) of the classes seen, given by their index (M, 1)."""
        return np.log(self.probabilities[np.arange(len(y)), y[:, 0].astype(np.intp)])

    def take(self, rows: NDArray[np.intp]) -> "ClassPredictive":
        return replace(self, of_draws=self.of_draws[:, rows])


@dataclass(frozen=True)
class ProbabilityCalibration(PredictiveCalibration):
    """Probabilities are raised to a power and normalised: temperature scaling, with temperature 1 / exponent."""

    exponent: float = 1.0

    def of(self, predictive: ClassPredictive) -> ClassPredictive:
        return replace(predictive, exponent=self.exponent)

    def in_units(self, centre: Array, scale: Array) -> "ProbabilityCalibration":
        return self


def fit_probability_calibration(predictive: ClassPredictive, truth: Array, weights: Array) -> ProbabilityCalibration:
    """The exponent with the highest likelihood of the classes (M, 1) of held-out rows with weights (M,).

    Its logarithm has a normal prior around zero, which decides where rows are few.
    """
    plain, classes = replace(predictive, exponent=1.0).probabilities, truth[:, 0].astype(np.intp)
    rows, logs = np.arange(len(classes)), np.log(plain)

    def loss(log_exponent: float) -> float:
        scaled = np.exp(log_exponent) * logs
        log_p = scaled[rows, classes] - _log_sum(scaled)
        return float(-(weights @ log_p) + 0.5 * (log_exponent / _LOG_EXPONENT_DEVIATION) ** 2)

    found = minimize_scalar(loss, bounds=(-_LARGEST_LOG_EXPONENT, _LARGEST_LOG_EXPONENT), method="bounded")
    return ProbabilityCalibration(float(np.exp(found.x)))


def to_power(probabilities: Array, exponent: float) -> Array:
    """Probabilities (..., C) raised to a power and normalised, none of them below 1e-12."""
    p = np.maximum(probabilities, LEAST_PROBABILITY)
    if exponent != 1.0:
        p = p**exponent
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def _log_sum(logs: Array) -> Array:
    highest = logs.max(axis=-1)
    return np.asarray(highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1)))


def as_class_predictive(predictive: Predictive) -> ClassPredictive:
    """A predictive distribution of classes, or an error."""
    if isinstance(predictive, ClassPredictive):
        return predictive
    raise TypeError(f"the predictive distribution is a {type(predictive).__name__}, not that of classes.")


def as_probability_calibration(calibration: PredictiveCalibration) -> ProbabilityCalibration:
    """A calibration of class probabilities, or an error."""
    if isinstance(calibration, ProbabilityCalibration):
        return calibration
    raise TypeError(f"the calibration is a {type(calibration).__name__}, not that of classes.")
