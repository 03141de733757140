"""Likelihoods of counts with a log link: y ~ negative binomial with mean exp(eta + log exposure), by Pólya-Gamma draws.

With offset = log exposure - log r and psi = eta + offset, the likelihood of a count y with dispersion r is

    exp(psi)^y / (1 + exp(psi))^(y + r)  ∝  exp(kappa psi) E[exp(-omega psi^2 / 2)],    kappa = (y - r) / 2,

where omega ~ PG(y + r, 0) (Polson, Scott and Windle 2013). Given the target, omega ~ PG(y + r, psi). Given omega, eta
has the Gaussian likelihood of a working target kappa / omega - offset with weight omega. For least squares, the
expectation of omega gives an upper bound of the loss that touches it (EM).

A row of weight w counts w times: its omega is the sum of w of them, PG(w (y + r), psi), and its kappa w (y - r) / 2.

The tensor is the logarithm of the rate: the expected count at exposure one.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from csid._kernels.counts import draw_deviations
from csid._kernels.polya_gamma import draw_polya_gamma, expected_polya_gamma
from csid.data.problem import Summary
from csid.likelihoods.count_predictive import CountPredictive, DispersionCalibration, log_probabilities
from csid.likelihoods.latent_targets import LatentTargets
from csid.likelihoods.likelihood import Parameters, StartValues, TargetKind

Array = NDArray[np.float64]

_LEAST_WEIGHT = 1e-100
_FEWEST_COUNTS = 0.5


@dataclass(frozen=True)
class CountLikelihood(LatentTargets):
    """A likelihood of counts. Targets (M, 2) are the count and the logarithm of the exposure of each row."""

    target: ClassVar[TargetKind] = "count"
    mean_is_value: ClassVar[bool] = False
    draw_parameters: ClassVar[tuple[str, ...]] = ("largest_rate",)

    def start(self, summary: Summary) -> Parameters:
        largest = np.array([largest_rate_of(summary)])
        return {"alpha": np.ones(1), "largest_rate": largest, "loss": np.full(1, np.nan)}

    @abstractmethod
    def shapes(self, log_exposure: Array, parameters: Mapping[str, Array]) -> Array:
        """The dispersion r (M,) of each row in the fit."""

    @abstractmethod
    def dispersions(self, parameters: Mapping[str, Array]) -> Array:
        """The dispersions (D, M) or (D, 1) of the predictive distribution, given the parameters of D draws."""

    def n_outputs(self, columns: int) -> int:
        return 1

    def start_values(self, summary: Summary) -> StartValues:
        mean = np.log([rate_of(summary)])
        return StartValues(mean, np.ones(1), mean - 2.0)

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        counts, log_exposure = targets.T
        r = self.shapes(log_exposure, parameters)
        offset = log_exposure - np.log(r)
        psi, total, omega = eta[:, 0] + offset, weights * (counts + r), np.empty(len(counts))
        if rng is None:
            expected_polya_gamma(total, psi, omega)
        else:
            draw_polya_gamma(total, psi, np.uint64(rng.integers(2**63)), omega)
        omega = np.maximum(omega, _LEAST_WEIGHT)
        return (0.5 * weights * (counts - r) / omega - offset)[:, None], omega

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """-2 log p(y | eta). Half its gradient in eta is that of the squared error of the expected working targets."""
        counts, log_exposure = targets.T
        r = self.shapes(log_exposure, parameters)
        return -2.0 * log_probabilities(counts, eta[:, 0] + log_exposure, r)

    def deviations(
        self, targets: Array, eta: Array, variances: Array, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        counts, log_exposure = targets.T
        r, drawn = self.shapes(log_exposure, parameters), np.empty(len(counts))
        psi, seed = eta[:, 0] + log_exposure - np.log(r), np.uint64(rng.integers(2**63))
        draw_deviations(np.ascontiguousarray(counts), r, psi, np.ascontiguousarray(variances[:, 0]), seed, drawn)
        return drawn[:, None]

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        return parameters | {"loss": np.array([0.5 * loss(parameters)])}

    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> CountPredictive:
        """A draw predicts no rate above those that the training rows can have had: see `largest_rate_of`.

        Where rows are few, a few draws with a huge rate would otherwise decide the mean of all.
        """
        largest = of_rows(parameters["largest_rate"])
        return CountPredictive(np.minimum(values[..., 0], np.log(largest)), self.dispersions(parameters), weights)

    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        return {name: parameters[name] for name in self.draw_parameters}

    def check_described(self) -> None:
        raise self._not_written_for("report pages and exports")

    def no_calibration(self, outputs: int) -> DispersionCalibration:
        return DispersionCalibration()


def of_rows(parameter: Array) -> Array:
    """A parameter of draws, (D, 1) or (D, M, 1), as (D, 1) or (D, M)."""
    return parameter[..., 0] if parameter.ndim == 3 else parameter


def largest_rate_of(summary: Summary) -> float:
    """A rate per exposure that the largest count does not exceed.

    No number is more than sqrt(M) standard deviations above the mean of M numbers (Samuelson 1968).
    """
    deviation = np.sqrt(summary.squares[0] / summary.total_weight)
    return rate_of(summary) + float(np.sqrt(summary.total_weight) * deviation / np.exp(summary.mean[1]))


def rate_of(summary: Summary) -> float:
    """About the mean rate per exposure, positive also if all counts are zero."""
    count, log_exposure = summary.mean
    return float(max(count, _FEWEST_COUNTS / summary.total_weight) / np.exp(log_exposure))
