"""How good a Bayesian fit is, estimated on the held-out rows of its pilot."""

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from csid.data.censored_targets import bounds_of, is_known
from csid.fitted.survival_metrics import concordance_of_intervals
from csid.likelihoods.censored_mixture import CensoredMixture
from csid.likelihoods.class_predictive import ClassPredictive
from csid.likelihoods.count_predictive import CountPredictive, poisson_deviance
from csid.likelihoods.likelihood import Likelihood
from csid.likelihoods.mixture import Mixture
from csid.likelihoods.predictive import Predictive

Array = NDArray[np.float64]

COVERAGE = 0.9
"""The probability of the intervals whose coverage is estimated."""


@dataclass(frozen=True)
class Accuracy:
    """Metrics (K,) of each output on held-out rows, in the units of y.

    rows : the number of held-out rows; coverage : the fraction of them inside 90 % intervals.
    r2 : NaN where the held-out targets are constant.
    """

    rows: int
    r2: Array
    rmse: Array
    coverage: Array

    def in_units(self, scale: Array) -> "Accuracy":
        """The same metrics for targets that were divided by `scale` (K,)."""
        return replace(self, rmse=scale * self.rmse)


@dataclass(frozen=True)
class ClassAccuracy:
    """Metrics of predicted classes and their probabilities on held-out rows.

    rows : the number of held-out rows; accuracy : the fraction of them whose class is the likeliest.
    log_loss : mean of -log p(class seen); brier : mean squared error of the probabilities, summed over classes.
    """

    rows: int
    accuracy: float
    log_loss: float
    brier: float

    def in_units(self, scale: Array) -> "ClassAccuracy":
        return self


@dataclass(frozen=True)
class CensoredAccuracy:
    """Metrics of targets that may be censored, on held-out rows.

    rows : the number of held-out rows; known : the fraction of them whose target is known.
    concordance : the fraction of pairs of rows whose order is known, and which are predicted in this order; NaN if
        there is no such pair.
    """

    rows: int
    known: float
    concordance: float

    def in_units(self, scale: Array) -> "CensoredAccuracy":
        return self


@dataclass(frozen=True)
class CountAccuracy:
    """Metrics of predicted counts on held-out rows.

    rows : the number of held-out rows; deviance : mean Poisson deviance of the expected counts.
    log_density : mean log probability of the counts seen.
    coverage : the fraction of counts inside 90 % intervals, their bounds included. Intervals of whole numbers cover at
        least 90 % if the model is calibrated, and more where counts are small.
    """

    rows: int
    deviance: float
    log_density: float
    coverage: float

    def in_units(self, scale: Array) -> "CountAccuracy":
        return self


AnyAccuracy = Accuracy | ClassAccuracy | CensoredAccuracy | CountAccuracy


@singledispatch
def held_out_accuracy(predictive: Predictive, truth: Array, weights: Array, likelihood: Likelihood) -> AnyAccuracy:
    """The accuracy of predictive distributions of latent targets, not yet calibrated, at targets (R, T).

    Another kind of predictive distribution registers its own function. weights : (R,) of the rows.
    """
    raise TypeError(f"the accuracy of a {type(predictive).__name__} is not known.")


@held_out_accuracy.register
def censored_accuracy_of(
    predictive: CensoredMixture, truth: Array, weights: Array, likelihood: Likelihood
) -> CensoredAccuracy:
    """The accuracy of the means of censored targets."""
    known = float(np.average(is_known(truth), weights=weights))
    concordance = concordance_of_intervals(*bounds_of(truth), predictive.mean[:, 0], weights)
    return CensoredAccuracy(len(truth), known, concordance)


@held_out_accuracy.register
def count_accuracy_of(
    predictive: CountPredictive, truth: Array, weights: Array, likelihood: Likelihood
) -> CountAccuracy:
    """The accuracy of distributions of counts. Each half of the rows is calibrated on the other half."""
    every, counts = np.arange(len(truth)), truth[:, :1]
    deviance, log_p, inside = (np.empty(len(truth)) for _ in range(3))
    tail = 0.5 - 0.5 * COVERAGE
    for own, other in ((every[::2], every[1::2]), (every[1::2], every[::2])):
        calibration = likelihood.fit_calibration(predictive.take(other), truth[other], weights[other, None])
        found = calibration.of(predictive.take(own)).with_exposure(np.exp(truth[own, 1]))
        deviance[own] = poisson_deviance(counts[own], found.mean)[:, 0]
        log_p[own] = found.log_pmf(counts[own])[:, 0]
        above, below = found.cdf(counts[own]) >= tail, found.cdf(counts[own] - 1.0) < 1.0 - tail
        inside[own] = (above & below)[:, 0]
    return CountAccuracy(len(truth), *(float(np.average(each, weights=weights)) for each in (deviance, log_p, inside)))


@held_out_accuracy.register
def class_accuracy_of(
    predictive: ClassPredictive, truth: Array, weights: Array, likelihood: Likelihood
) -> ClassAccuracy:
    """The accuracy of predictive distributions that are not yet calibrated, at the classes (R, 1) seen.

    Each half of the rows has probabilities that are calibrated on the other half.
    """
    every, classes = np.arange(len(truth)), truth[:, 0].astype(np.intp)
    log_p, brier, right = (np.empty(len(truth)) for _ in range(3))
    for own, other in ((every[::2], every[1::2]), (every[1::2], every[::2])):
        calibration = likelihood.fit_calibration(predictive.take(other), truth[other], weights[other, None])
        p = calibration.of(predictive.take(own)).probabilities
        seen = np.eye(p.shape[1])[classes[own]]
        log_p[own] = np.log((p * seen).sum(axis=1))
        brier[own] = ((p - seen) ** 2).sum(axis=1)
        right[own] = p.argmax(axis=1) == classes[own]
    means = [float(np.average(each, weights=weights)) for each in (right, -log_p, brier)]
    return ClassAccuracy(len(truth), *means)


def accuracy_of(
    predictive: Mixture, truth: Array, weights: Array, likelihood: Likelihood, noise_fractions: Array | None = None
) -> Accuracy:
    """The accuracy of predictive distributions that are not yet calibrated, at true targets (R, K).

    Each half of the rows is covered by intervals that are calibrated on the other half.

    weights : (R,) of the rows; noise_fractions : (R, K) weights of the rows in the calibration, all 1 by default.
    """
    of_rows = np.ones(truth.shape) if noise_fractions is None else noise_fractions
    error = np.average((truth - predictive.mean) ** 2, axis=0, weights=weights)
    mean = np.average(truth, axis=0, weights=weights)
    variance = np.average((truth - mean) ** 2, axis=0, weights=weights)
    r2 = np.where(variance > 0.0, 1.0 - error / np.where(variance > 0.0, variance, 1.0), np.nan)
    inside = np.empty(truth.shape)
    every = np.arange(len(truth))
    for own, other in ((every[::2], every[1::2]), (every[1::2], every[::2])):
        calibration = likelihood.fit_calibration(predictive.take(other), truth[other], of_rows[other])
        below = calibration.of(predictive.take(own)).cdf(truth[own])
        inside[own] = np.abs(below - 0.5) <= 0.5 * COVERAGE
    return Accuracy(len(truth), r2, np.sqrt(error), np.average(inside, axis=0, weights=weights))
