"""Gaussian noise of targets that may be censored: `likelihood="censored_gaussian"`.

    z_m ~ N(eta_m, 1 / alpha),    lower_m <= z_m <= upper_m

Working targets are the values z_m: known, drawn between their bounds, or their expectations. The noise is drawn given
these, as under Gaussian noise. Predictions are of the uncensored value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows
from csid.data.censored_targets import bounds_of, is_known
from csid.data.problem import Summary
from csid.likelihoods.calibration import Calibration, fit_calibration
from csid.likelihoods.censored_mixture import CensoredMixture
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.intervals import values_between
from csid.likelihoods.likelihood import HeldOutScore, Parameters, StartValues, TargetKind
from csid.likelihoods.truncated_normal import log_mass, truncated_variance
from csid.tensor.gaps import deviations_in_gaps

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CensoredGaussian(Gaussian):
    """Additive Gaussian noise of one output. Targets (M, 3) are those of `csid.data.censored_targets`."""

    name: ClassVar[str] = "censored_gaussian"
    target: ClassVar[TargetKind] = "interval"
    held_out_score: ClassVar[HeldOutScore] = "log_density"
    augmented: ClassVar[bool] = True
    latent: ClassVar[bool] = True
    noise_prior: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return "normal, censored"

    def n_outputs(self, columns: int) -> int:
        return 1

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        return centre[:1], scale[:1]

    def start(self, summary: Summary) -> Parameters:
        return {"alpha": super().start(summary)["alpha"][:1]}

    def start_values(self, summary: Summary) -> StartValues:
        return StartValues(*(each[:1] for each in super().start_values(summary)))

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        """A row of weight w counts w times: its working target is the mean of w values, see `within`."""
        z = self._values(targets, eta, parameters["alpha"], rng)
        if rng is not None and (weights != 1.0).any():
            expected = self._values(targets, eta, parameters["alpha"], None)
            z = expected + (z - expected) / np.sqrt(weights)[:, None]
        return z, weights

    def within(self, targets: Array, weights: Array, eta: Array, parameters: Parameters, drawn: bool) -> Array | None:
        times = weights - 1.0 if drawn else weights
        if not times.any():
            return None
        low, high = _standardised_bounds(targets, eta, parameters["alpha"])
        variances = np.where(is_known(targets), 0.0, truncated_variance(low, high)) / parameters["alpha"]
        return sums_over_rows(times, variances[:, None])

    def _values(self, targets: Array, eta: Array, alpha: Array, rng: np.random.Generator | None) -> Array:
        """Values (M, 1), drawn or expected. alpha : the precision of their noise, (1,) or (M,)."""
        low, high = _standardised_bounds(targets, eta, alpha)
        z = eta[:, 0] + values_between(low, high, np.zeros(len(eta)), rng) / np.sqrt(alpha)
        return np.where(is_known(targets), targets[:, 0], z)[:, None]

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """Squared errors, and -2 / alpha times the log probability of an interval. They decrease in alpha."""
        alpha = parameters["alpha"]
        of_intervals = -2.0 / alpha * log_mass(*_standardised_bounds(targets, eta, alpha))
        return np.where(is_known(targets), (targets[:, 0] - eta[:, 0]) ** 2, of_intervals)

    def deviations(
        self, targets: Array, eta: Array, variances: Array, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        """Values with the noise and the variance of the gap are drawn, and then the part due to the gap."""
        alpha = parameters["alpha"]
        z = self._values(targets, eta, 1.0 / (1.0 / alpha + variances[:, 0]), rng)
        return deviations_in_gaps(z - eta, variances, alpha, rng)

    def draw(
        self, parameters: Parameters, squares: Array, n_observations: float, rng: np.random.Generator
    ) -> Parameters:
        return super().draw(parameters, np.maximum(squares, 0.0), n_observations, rng)

    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> CensoredMixture:
        noise = parameters["noise"]
        return CensoredMixture(values, noise if noise.ndim == 3 else noise[:, None, :], weights, self)

    def fit_calibration(self, predictive: Any, truth: Array, weights: Array) -> Calibration:
        return fit_calibration(predictive, predictive.values_given(truth, np.random.default_rng(0)), weights)


def _standardised_bounds(targets: Array, eta: Array, alpha: Array) -> tuple[Any, Any]:
    """The bounds (M,) of targets, around eta (M, 1) and in units of the noise."""
    low, high = bounds_of(targets)
    return np.sqrt(alpha) * (low - eta[:, 0]), np.sqrt(alpha) * (high - eta[:, 0])
