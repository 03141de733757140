"""Counts that vary more than Poisson's: `likelihood="negative_binomial"`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.count_likelihood import CountLikelihood, of_rows
from csid.likelihoods.count_predictive import CountPredictive, DispersionCalibration, fit_dispersion_calibration
from csid.likelihoods.likelihood import Parameters
from csid.likelihoods.slice_sampling import slice_sample

Array = NDArray[np.float64]

_LOG_DISPERSION_DEVIATION = 2.0


@dataclass(frozen=True)
class NegativeBinomial(CountLikelihood):
    """Counts with mean mu = exp(eta) exposure and variance mu + mu^2 / r.

    The logarithm of the dispersion r has a wide normal prior. It is drawn given the targets and eta, with omega
    integrated out.
    """

    name: ClassVar[str] = "negative_binomial"
    draw_parameters: ClassVar[tuple[str, ...]] = ("dispersion", "largest_rate")

    @property
    def label(self) -> str:
        return "negative binomial"

    def start(self, summary: Summary) -> Parameters:
        return super().start(summary) | {"dispersion": np.ones(1)}

    def shapes(self, log_exposure: Array, parameters: Mapping[str, Array]) -> Array:
        return np.full(len(log_exposure), parameters["dispersion"][0])

    def dispersions(self, parameters: Mapping[str, Array]) -> Array:
        return of_rows(parameters["dispersion"])

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        """Draw the dispersion r."""

        def log_density(log_dispersion: float) -> float:
            found = loss(parameters | {"dispersion": np.exp([log_dispersion])})
            return -0.5 * found - 0.5 * (log_dispersion / _LOG_DISPERSION_DEVIATION) ** 2

        drawn, density = slice_sample(log_density, float(np.log(parameters["dispersion"][0])), rng)
        log_likelihood = density + 0.5 * (drawn / _LOG_DISPERSION_DEVIATION) ** 2
        return parameters | {"dispersion": np.exp([drawn]), "loss": np.array([-log_likelihood])}

    def fit_calibration(self, predictive: CountPredictive, truth: Array, weights: Array) -> DispersionCalibration:
        return fit_dispersion_calibration(predictive, truth, weights[:, 0])
