"""Likelihoods of additive noise with one scale per output: y = eta + noise / sqrt(alpha).

The precision alpha_j has a Gamma prior, and is drawn given the residuals.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.calibration import Calibration, fit_calibration
from csid.likelihoods.likelihood import HeldOutScore, Likelihood, Parameters
from csid.likelihoods.mixture import Mixture

Array = NDArray[np.float64]

_LEAST_ERROR = 1e-12


class GammaPrior(NamedTuple):
    """Shape and rate. The rate is a number, or (K,) for the outputs."""

    shape: float = 1.0
    rate: float | Array = 1e-4


_WEAK_PRIOR = GammaPrior()


class OnnxNoise(NamedTuple):
    """Noise of scale one: `cdf` and `pdf` on values of an ONNX graph, and `ppf` on an array."""

    cdf: Callable[[Any], Any]
    pdf: Callable[[Any], Any]
    ppf: Callable[[Array], Array]


@dataclass(frozen=True)
class LocationScale(Likelihood):
    """Additive noise with one scale per output. Subclasses define the distribution of noise of scale one.

    precision_prior : of alpha.
    """

    held_out_score: ClassVar[HeldOutScore] = "squared_error"
    draw_parameters: ClassVar[tuple[str, ...]] = ("noise",)

    precision_prior: GammaPrior = _WEAK_PRIOR

    @property
    @abstractmethod
    def variance_of_one(self) -> float:
        """Variance of noise of scale one."""

    @abstractmethod
    def cdf(self, z: Array) -> Array:
        """Cumulative distribution function of noise of scale one."""

    @abstractmethod
    def pdf(self, z: Array) -> Array:
        """Density of noise of scale one."""

    @abstractmethod
    def ppf(self, q: float) -> float:
        """Quantile of noise of scale one."""

    @abstractmethod
    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Draws of noise of scale one."""

    def start(self, summary: Summary) -> Parameters:
        """Initial noise with the variance of the targets."""
        variance = (summary.squares + summary.within) / summary.total_weight
        return {"alpha": 1.0 / np.maximum(variance, 1e-12)}

    def with_noise_prior(self, error: Array, rows: float) -> Self:
        return replace(self, precision_prior=GammaPrior(0.5 * rows, 0.5 * rows * np.maximum(error, _LEAST_ERROR)))

    def draw(
        self, parameters: Parameters, squares: Array, n_observations: float, rng: np.random.Generator
    ) -> Parameters:
        shape, rate = self.precision_prior
        return {"alpha": rng.gamma(shape + 0.5 * n_observations, 1.0 / (rate + 0.5 * squares))}

    def maximise(self, parameters: Parameters, squares: Array, n_observations: float) -> Parameters:
        """One precision for all outputs. It may only rise, because then the loss falls: see `losses`."""
        variance = max(float(squares.mean()) / n_observations, _LEAST_ERROR)
        return {"alpha": np.maximum(parameters["alpha"].min(), np.full(len(squares), 1.0 / variance))}

    def trace(self, parameters: Parameters) -> Array:
        return np.asarray(1.0 / np.sqrt(parameters["alpha"]))

    def trace_in_units(self, trace: Array, scale: Array) -> Array:
        return np.asarray(scale * trace)

    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        """The scale of the noise; for Gaussian noise, its standard deviation."""
        return {"noise": scale / np.sqrt(parameters["alpha"])}

    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> Mixture:
        noise = parameters["noise"]
        return Mixture(values, noise if noise.ndim == 3 else noise[:, None, :], weights, self)

    def no_calibration(self, outputs: int) -> Calibration:
        return Calibration.identity(outputs)

    def fit_calibration(self, predictive: Mixture, truth: Array, weights: Array) -> Calibration:
        return fit_calibration(predictive, truth, weights)

    def noise_variance(self, parameters: Mapping[str, Array], weights: Array) -> Array:
        return np.asarray(self.variance_of_one * (weights @ parameters["noise"] ** 2))

    def as_json(self) -> dict[str, Any]:
        entry = super().as_json()
        shape, rate = self.precision_prior
        if [shape, *np.atleast_1d(rate)] != list(_WEAK_PRIOR):
            entry["precision_prior"] = {"shape": float(shape), "rate": np.asarray(rate, np.float64).tolist()}
        return entry

    @classmethod
    def of_json(cls, entries: Mapping[str, Any]) -> Self:
        if "precision_prior" not in entries:
            return super().of_json(entries)
        entry = entries["precision_prior"]
        try:
            shape, rate = float(entry["shape"]), np.array(entry["rate"], np.float64)
            legal = 0.0 < shape < np.inf and rate.ndim <= 1 and bool(((rate > 0.0) & (rate < np.inf)).all())
        except (TypeError, KeyError, ValueError, OverflowError):
            legal = False
        if not legal:
            raise ValueError(f"has the prior {entry!r} of its precision, not a positive shape and rate")
        return replace(super().of_json(entries), precision_prior=GammaPrior(shape, rate if rate.ndim else float(rate)))

    @abstractmethod
    def onnx(self) -> OnnxNoise: ...
