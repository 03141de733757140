"""The predictive distribution of a new observation: a mixture over posterior draws."""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csid.likelihoods.predictive import NumericPredictive, Predictive

Array = NDArray[np.float64]

_STEPS = 120
_TOLERANCE = 1e-12


class StandardNoise(Protocol):
    """Noise of scale one."""

    @property
    def variance_of_one(self) -> float: ...
    def cdf(self, z: Array) -> Array: ...
    def pdf(self, z: Array) -> Array: ...
    def ppf(self, q: float) -> float: ...
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array: ...


@dataclass(frozen=True)
class Mixture(NumericPredictive):
    """For each row and output, a mixture of D noise distributions with their own centres and scales.

    centres : (D, M, K).
    scales : (D, M, K), or (D, 1, K) if they are the same for all rows.
    weights : (D,) of the components, which sum to one.
    """

    centres: Array
    scales: Array
    weights: Array
    noise: StandardNoise

    @property
    def mean(self) -> Array:
        return np.asarray(np.tensordot(self.weights, self.centres, 1))

    @property
    def model_variance(self) -> Array:
        """Variance (M, K) of the system's value between draws: model uncertainty."""
        return np.asarray(np.tensordot(self.weights, (self.centres - self.mean) ** 2, 1))

    @property
    def noise_variance(self) -> Array:
        """Variance (M, K) or (1, K) of a new observation given the system's value: observation noise."""
        return np.asarray(self.noise.variance_of_one * np.tensordot(self.weights, self.scales**2, 1))

    def take(self, rows: NDArray[np.intp]) -> Self:
        """The distributions of some rows."""
        scales = self.scales if self.scales.shape[1] == 1 else self.scales[:, rows]
        return replace(self, centres=self.centres[:, rows], scales=scales)

    def widened(self, factor: Array) -> "Mixture":
        """The mixture with the deviations of its centres from their mean multiplied by a factor (M, K) or (K,)."""
        mean = self.mean
        return replace(self, centres=mean + factor * (self.centres - mean))

    def cdf(self, y: Array) -> Array:
        """Probability (M, K) that a new observation is at most y (M, K)."""
        return np.asarray(np.tensordot(self.weights, self.cdf_of_draws(y), 1))

    def cdf_of_draws(self, y: Array) -> Array:
        """The same probability (D, M, K) under each component."""
        return self.noise.cdf((y - self.centres) / self.scales)

    def log_density(self, y: Array) -> Array:
        return np.asarray(np.log(np.maximum(self.pdf(y), 1e-300)).sum(axis=1))

    def pdf(self, y: Array) -> Array:
        """Density (M, K) at y (M, K)."""
        return np.asarray(np.tensordot(self.weights, self.noise.pdf((y - self.centres) / self.scales) / self.scales, 1))

    def ppf(self, q: float) -> Array:
        """Quantile (M, K), by Newton's method inside a shrinking bracket.

        A step that does not halve the excess probability is followed by a bisection: between two components Newton's
        steps alone can jump to and fro over the quantile for ever.
        """
        scale = self.scales
        at_q = self.centres + self.noise.ppf(q) * scale  # the quantiles of the components bracket that of the mixture
        low, high = at_q.min(axis=0), at_q.max(axis=0)
        x = self.mean + ndtri(q) * np.sqrt(self.variance)
        last = np.full(x.shape, np.inf)
        for _ in range(_STEPS):
            x = np.where((x > low) & (x < high), x, 0.5 * (low + high))
            z = (x - self.centres) / scale
            excess = np.tensordot(self.weights, self.noise.cdf(z), 1) - q
            if (np.abs(excess) < _TOLERANCE).all():
                break
            low, high = np.where(excess < 0.0, x, low), np.where(excess > 0.0, x, high)
            density = np.tensordot(self.weights, self.noise.pdf(z) / scale, 1)
            halved = np.abs(excess) <= 0.5 * last
            x = np.where(halved, x - excess / np.maximum(density, 1e-300), 0.5 * (low + high))
            last = np.where(halved, np.abs(excess), np.inf)
        return np.asarray(np.clip(x, low, high))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws of a new observation at each row, (M, n, K)."""
        D, M, K = self.centres.shape
        which = rng.choice(D, size=(M, n), p=self.weights)
        rows = np.arange(M)[:, None]
        centres, scales = self.centres[which, rows], np.broadcast_to(self.scales, self.centres.shape)[which, rows]
        return np.asarray(centres + scales * self.noise.sample((M, n, K), rng))


def as_mixture(predictive: Predictive) -> Mixture:
    """A predictive distribution that is a mixture of noise distributions, or an error."""
    if isinstance(predictive, Mixture):
        return predictive
    raise TypeError(f"this needs a numeric target with additive noise, not a {type(predictive).__name__}.")
