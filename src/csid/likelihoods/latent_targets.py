"""Likelihoods whose working targets are latent values, on which the targets depend: classes and counts.

Their targets are not standardised. There are no residuals in the units of y, so chains monitor the log loss. Pages and
exports support those likelihoods that override `javascript`, `python` and `onnx`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from csid.likelihoods.likelihood import Likelihood, Parameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LatentTargets(Likelihood):
    """A likelihood with latent working targets. parameters["loss"] is minus the log-likelihood of the rows."""

    latent: ClassVar[bool] = True
    noise_prior: ClassVar[bool] = False
    monitored: ClassVar[str] = "log loss"

    def draw(
        self, parameters: Parameters, squares: Array, n_observations: float, rng: np.random.Generator
    ) -> Parameters:
        return parameters | {"log_loss": parameters["loss"] / n_observations}

    def maximise(self, parameters: Parameters, squares: Array, n_observations: float) -> Parameters:
        return parameters

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        K = self.n_outputs(len(centre))
        return np.zeros(K), np.ones(K)

    def trace(self, parameters: Parameters) -> Array:
        """The log loss on the training rows."""
        return parameters["log_loss"]

    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        return {}

    @property
    def javascript(self) -> str:
        raise self._not_written_for("report pages")

    @property
    def python(self) -> str:
        raise self._not_written_for("Python modules")

    def onnx(self) -> Any:
        raise self._not_written_for("ONNX")

    def _not_written_for(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what} do not support likelihood={self.name!r} yet.")
