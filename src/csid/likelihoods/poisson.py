"""Counts of independent events: `likelihood="poisson"`.

The Poisson distribution is the negative binomial with infinite dispersion. The fit has a finite one, ten times the mean
rate of the training rows, in proportion to the exposure: r = 10 rate exposure. Counts are then weighed as if their
variance at the mean rate were a tenth larger than their mean, which widens the posterior by about 5 %. Predictive
distributions are exactly Poisson. As r is in proportion to the exposure, a row that is split into parts of its exposure
and count has the same likelihood, as under Poisson.

The larger r, the smaller the steps of a chain, because omega grows with r, but the information in a count does not.
At 100 times the rate chains do not converge in the usual number of sweeps, and predict worse. So chains also start at
the mean rate itself, and r rises by 30 % in every sweep.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.count_likelihood import CountLikelihood, rate_of
from csid.likelihoods.count_predictive import CountPredictive, DispersionCalibration
from csid.likelihoods.likelihood import Parameters

Array = NDArray[np.float64]

_TIMES_RATE, _GROWTH = 10.0, 1.3


@dataclass(frozen=True)
class Poisson(CountLikelihood):
    """Counts with mean and variance exp(eta) exposure."""

    name: ClassVar[str] = "poisson"

    @property
    def label(self) -> str:
        return "Poisson"

    def start(self, summary: Summary) -> Parameters:
        rate = np.array([rate_of(summary)])
        return super().start(summary) | {"dispersion": rate, "full_dispersion": _TIMES_RATE * rate}

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        r = np.minimum(_GROWTH * parameters["dispersion"], parameters["full_dispersion"])
        return super().draw_given_targets(parameters | {"dispersion": r}, loss, rng)

    def maximise(self, parameters: Parameters, squares: Array, n_observations: float) -> Parameters:
        return parameters | {"dispersion": parameters["full_dispersion"]}

    def shapes(self, log_exposure: Array, parameters: Mapping[str, Array]) -> Array:
        return np.asarray(parameters["dispersion"][0] * np.exp(log_exposure))

    def dispersions(self, parameters: Mapping[str, Array]) -> Array:
        return np.full((len(parameters["largest_rate"]), 1), np.inf)

    def fit_calibration(self, predictive: CountPredictive, truth: Array, weights: Array) -> DispersionCalibration:
        return DispersionCalibration()
