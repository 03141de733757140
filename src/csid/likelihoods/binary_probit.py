"""Two classes: `likelihood="probit"`. P(y = 1) = Phi(s eta)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from csid.data.problem import Summary
from csid.likelihoods.class_likelihood import ClassLikelihood
from csid.likelihoods.intervals import values_between
from csid.likelihoods.likelihood import StartValues

Array = NDArray[np.float64]

_LEAST_FREQUENCY = 1e-4


@dataclass(frozen=True)
class BinaryProbit(ClassLikelihood):
    """The latent value is positive for the second class. Targets are 0 and 1."""

    name: ClassVar[str] = "binary_probit"

    @property
    def label(self) -> str:
        return "probit, two classes"

    def start_values(self, summary: Summary) -> StartValues:
        mean = ndtri(np.clip(summary.mean, _LEAST_FREQUENCY, 1.0 - _LEAST_FREQUENCY))
        return StartValues(mean, np.ones(1), mean - 2.0)

    def latent_values(
        self,
        targets: Array,
        eta: Array,
        parameters: Mapping[str, Array],
        rng: np.random.Generator | None,
        units: Array | None = None,
    ) -> Array:
        second = targets[:, 0] > 0.5
        low, high = np.where(second, 0.0, -np.inf), np.where(second, np.inf, 0.0)
        return values_between(low, high, eta[:, 0], rng)[:, None]

    def log_probabilities(self, targets: Array, eta: Array, parameters: Mapping[str, Array]) -> Array:
        return np.asarray(log_ndtr(np.where(targets[:, 0] > 0.5, eta[:, 0], -eta[:, 0])))

    def class_probabilities(self, values: Array, parameters: Mapping[str, Array]) -> Array:
        second = ndtr(values[..., 0])
        return np.stack([ndtr(-values[..., 0]), second], axis=-1)
