"""What predictive distributions of all likelihoods have in common."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Predictive(ABC):
    """Distributions of a new observation at M rows, as mixtures over posterior draws."""

    @abstractmethod
    def log_density(self, y: Array) -> Array:
        """Log densities or log probabilities (M,) of targets (M, T), summed over outputs."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Self:
        """The distributions of some rows."""


class NumericPredictive(Predictive):
    """Distributions of new numbers: of K outputs, or of counts."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """(M, K)."""

    @property
    @abstractmethod
    def model_variance(self) -> Array:
        """Variance (M, K) between draws of the expectation of a new observation: model uncertainty."""

    @property
    @abstractmethod
    def noise_variance(self) -> Array:
        """Variance (M, K) or (1, K) of a new observation given its expectation: observation noise."""

    @property
    def variance(self) -> Array:
        """Variance (M, K) of a new observation."""
        return self.model_variance + self.noise_variance

    @abstractmethod
    def cdf(self, y: Array) -> Array:
        """Probability (M, K) that a new observation is at most y (M, K)."""

    @abstractmethod
    def ppf(self, q: float) -> Array:
        """Quantile (M, K)."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws of a new observation at each row, (M, n, K)."""


def as_numeric(predictive: Predictive) -> NumericPredictive:
    """A predictive distribution of numbers, or an error."""
    if isinstance(predictive, NumericPredictive):
        return predictive
    raise TypeError(f"the predictive distribution is a {type(predictive).__name__}, not that of numbers.")


class PredictiveCalibration(ABC):
    """A change of predictive distributions that was fitted to held-out rows."""

    @abstractmethod
    def of(self, predictive: Any) -> Any:
        """The calibrated predictive distribution, of the same kind."""

    @abstractmethod
    def in_units(self, centre: Array, scale: Array) -> "PredictiveCalibration":
        """The same calibration for targets in other units, `centre + scale * targets`."""


def quantiles_over_draws(values: Array, weights: Array, levels: Array) -> Array:
    """Quantiles (Q, ...) of values (D, ...) over draws with weights (D,), which sum to one."""
    order = np.argsort(values, axis=0)
    ascending = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    at = [(below < level - 1e-12).sum(axis=0) for level in levels]
    last = len(values) - 1
    return np.array([np.take_along_axis(ascending, np.minimum(k, last)[None], axis=0)[0] for k in at])
