"""Likelihoods of targets that depend on a latent normal value: z = s eta + noise of variance one, and y = h(z).

Classes, ordered or not. Working targets are the latent values, drawn given the targets (Albert and Chib
1993) or their expectations, in units in which their noise has precision alpha = s^2: z / s.

The scale s is drawn given the targets and eta, with the latent values integrated out. Given the latent values it would
move by about 1 / sqrt(rows) of itself in a sweep. Where classes are nearly separable s is large, and short chains that
move it slowly give probabilities too close to equal. log s has a wide normal prior. Draws are kept with s in the
factors, so that their noise has variance one.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.latent_targets import LatentTargets
from csid.likelihoods.likelihood import Parameters, StartValues
from csid.likelihoods.slice_sampling import slice_sample
from csid.tensor.factors import Factors
from csid.tensor.gaps import deviations_in_gaps

Array = NDArray[np.float64]

_LOG_SCALE_DEVIATION = 1.5
_LOG_SCALES = np.linspace(-2.5, 1.0, 8)


@dataclass(frozen=True)
class LatentNormal(LatentTargets):
    """Targets that depend on latent normal values. Subclasses say how."""

    @abstractmethod
    def latent_values(
        self,
        targets: Array,
        eta: Array,
        parameters: Mapping[str, Array],
        rng: np.random.Generator | None,
        units: Array | None = None,
    ) -> Array:
        """Latent values (M, K) with mean eta (M, K) and noise of variance one, given the targets (M, T).

        Drawn, or their expectations without `rng`. units : (M,) by which known bounds are multiplied in each row.
        """

    @abstractmethod
    def log_probabilities(self, targets: Array, eta: Array, parameters: Mapping[str, Array]) -> Array:
        """Log probabilities or densities (M,) of the targets, given the means eta (M, K) of the latent values."""

    @abstractmethod
    def start_values(self, summary: Summary) -> StartValues:
        """The values of the system at which a chain or a fit starts."""

    def start(self, summary: Summary) -> Parameters:
        return {"alpha": np.ones(len(self.start_values(summary).mean)), "loss": np.full(1, np.nan)}

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        """A row of weight w counts w times: its working target is the mean of w latent values.

        For weights other than one, the deviation of that mean has the variance of one latent value divided by w.
        """
        s = np.sqrt(parameters["alpha"])
        z = self.latent_values(targets, s * eta, parameters, rng)
        if rng is not None and (weights != 1.0).any():
            expected = self.latent_values(targets, s * eta, parameters, None)
            z = expected + (z - expected) / np.sqrt(weights)[:, None]
        return z / s, weights

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """-2 log p(y | eta). Half its gradient in eta is that of the squared error of the expected working targets."""
        return -2.0 * self.log_probabilities(targets, np.sqrt(parameters["alpha"]) * eta, parameters)

    def deviations(
        self, targets: Array, eta: Array, variances: Array, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        """Latent values with the noise and the mean variance over outputs are drawn, and then the part due to gaps."""
        alpha = parameters["alpha"]
        total = np.sqrt(1.0 / alpha[0] + variances.mean(axis=1))
        units = 1.0 / (np.sqrt(alpha[0]) * total)
        z = total[:, None] * self.latent_values(targets, eta / total[:, None], parameters, rng, units)
        return deviations_in_gaps(z - eta, variances, alpha, rng)

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        """Draw the scale s."""

        def log_density(log_scale: float) -> float:
            alpha = np.full_like(parameters["alpha"], np.exp(2.0 * log_scale))
            return self.log_prior_of_scale(alpha) - 0.5 * loss(parameters | {"alpha": alpha})

        now = 0.5 * float(np.log(parameters["alpha"][0]))
        drawn, density = slice_sample(log_density, now, rng)
        alpha = np.full_like(parameters["alpha"], np.exp(2.0 * drawn))
        return parameters | {"alpha": alpha, "loss": np.array([self.log_prior_of_scale(alpha) - density])}

    def log_prior_of_scale(self, alpha: Array) -> float:
        """Log density of log s, up to a constant. alpha : (K,), s^2."""
        return -0.5 * (0.5 * float(np.log(alpha[0])) / _LOG_SCALE_DEVIATION) ** 2

    def fit_to_held_out(self, parameters: Parameters, loss: Callable[[Parameters], float]) -> Parameters:
        """Fit the scale s, because least squares is overconfident: it has learnt from the noise of its own rows.

        The loss is evaluated on a grid of log s, and interpolated by a parabola.
        """

        def at(log_scale: float) -> Parameters:
            return parameters | {"alpha": np.full_like(parameters["alpha"], np.exp(2.0 * log_scale))}

        losses = [loss(at(u)) for u in _LOG_SCALES.tolist()]
        best = int(np.clip(np.argmin(losses), 1, len(losses) - 2))
        left, middle, right = losses[best - 1 : best + 2]
        step = 0.5 * (left - right) / max(left - 2.0 * middle + right, 1e-300)
        return at(float(_LOG_SCALES[best] + (_LOG_SCALES[1] - _LOG_SCALES[0]) * np.clip(step, -1.0, 1.0)))

    def trace(self, parameters: Parameters) -> Array:
        """The log loss on the training rows. The scale s alone is not identified: factors can have it too."""
        return parameters["log_loss"]

    def in_units(self, factors: Factors, parameters: Parameters) -> Factors:
        s = np.sqrt(parameters["alpha"])
        return replace(factors, V=factors.V * s[:, None], bias=factors.bias * s)
