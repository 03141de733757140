"""Ordered classes: `likelihood="ordinal"`. The class is the interval between cut points in which a latent value is.

The cut points g_k are in units of the working targets, so that class k is seen where g_k < eta + noise / s < g_{k+1}.
The bias of eta is flat, which leaves their location open: the cut nearest the median of the training rows is zero. Each
other cut is drawn given the targets and eta, with the latent values integrated out. Given the latent values it would
move only between the two nearest of them. The logarithms of the distances between cuts are independent and normal
around those of a system without effects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from csid.data.problem import Summary
from csid.likelihoods.class_likelihood import ClassLikelihood
from csid.likelihoods.intervals import log_probabilities_between, values_between
from csid.likelihoods.likelihood import Parameters, StartValues
from csid.likelihoods.slice_sampling import slice_sample

Array = NDArray[np.float64]

_LOG_DISTANCE_DEVIATION = 1.0


@dataclass(frozen=True)
class OrdinalProbit(ClassLikelihood):
    """The latent value is between the cut points of the class seen. Targets are indices in the order of the classes."""

    name: ClassVar[str] = "ordinal_probit"
    draw_parameters: ClassVar[tuple[str, ...]] = ("cuts",)

    @property
    def label(self) -> str:
        return f"ordinal probit, {self.n_classes} classes"

    @cached_property
    def _quantiles(self) -> Array:
        """Standard normal quantiles (C - 1,) of the frequencies of all lower classes."""
        return np.asarray(ndtri(np.cumsum(self.frequencies)[:-1].clip(0.0, 1.0 - 1e-12)))

    @cached_property
    def _fixed(self) -> int:
        """The cut that is zero."""
        return int(np.argmin(np.abs(self._quantiles)))

    @cached_property
    def _first_cuts(self) -> Array:
        return np.asarray(self._quantiles - self._quantiles[self._fixed])

    def start(self, summary: Summary) -> Parameters:
        return super().start(summary) | {"cuts": self._first_cuts}

    def start_values(self, summary: Summary) -> StartValues:
        mean = np.array([-self._quantiles[self._fixed]])
        return StartValues(mean, np.ones(1), mean - 2.0)

    def latent_values(
        self,
        targets: Array,
        eta: Array,
        parameters: Mapping[str, Array],
        rng: np.random.Generator | None,
        units: Array | None = None,
    ) -> Array:
        low, high = self._bounds(targets, parameters)
        if units is not None:
            low, high = units * low, units * high
        return values_between(low, high, eta[:, 0], rng)[:, None]

    def log_probabilities(self, targets: Array, eta: Array, parameters: Mapping[str, Array]) -> Array:
        return log_probabilities_between(*self._bounds(targets, parameters), eta[:, 0])

    def _bounds(self, targets: Array, parameters: Mapping[str, Array]) -> tuple[Array, Array]:
        """The cut points (M,) below and above the latent values, whose noise has variance one."""
        cuts = np.concatenate([[-np.inf], np.sqrt(parameters["alpha"]) * parameters["cuts"], [np.inf]])
        classes = targets[:, 0].astype(np.intp)
        return cuts[classes], cuts[classes + 1]

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        """Draw the scale s, first given the cuts and then given s times the cuts, and each cut but the fixed one."""
        parameters = super().draw_given_targets(parameters, loss, rng)
        if self.n_classes > 2:
            parameters = self._with_drawn_noise(parameters, loss, rng)
        for k in range(self.n_classes - 1):
            if k != self._fixed:
                parameters = self._with_drawn_cut(k, parameters, loss, rng)
        return parameters

    def _with_drawn_noise(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        """Draw along the line on which s times the cuts does not change: where eta tells little, it is long."""

        def moved(step: float) -> Parameters:
            alpha, cuts = parameters["alpha"] * np.exp(2.0 * step), parameters["cuts"] * np.exp(-step)
            return parameters | {"alpha": alpha, "cuts": cuts}

        def log_prior(own: Parameters) -> float:
            return self.log_prior_of_scale(own["alpha"]) + self.log_prior_of_distances(own["cuts"])

        def log_density(step: float) -> float:
            own = moved(step)
            return log_prior(own) - 0.5 * loss(own)

        drawn, density = slice_sample(log_density, 0.0, rng)
        own = moved(drawn)
        return own | {"loss": np.array([log_prior(own) - density])}

    def _with_drawn_cut(
        self, k: int, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        def moved(cut: float) -> Array:
            cuts = parameters["cuts"].copy()
            cuts[k] = cut
            return cuts

        def log_density(cut: float) -> float:
            log_prior = self.log_prior_of_cuts(moved(cut))
            return log_prior - 0.5 * loss(parameters | {"cuts": moved(cut)}) if log_prior > -np.inf else -np.inf

        drawn, density = slice_sample(log_density, float(parameters["cuts"][k]), rng)
        cuts = moved(drawn)
        return parameters | {"cuts": cuts, "loss": np.array([self.log_prior_of_cuts(cuts) - density])}

    def log_prior_of_cuts(self, cuts: Array) -> float:
        """Log density of cuts (C - 1,), up to a constant; -inf if they are out of order."""
        distances = np.diff(cuts)
        if not (distances > 0.0).all():
            return -np.inf
        return self.log_prior_of_distances(cuts) - float(np.log(distances).sum())

    def log_prior_of_distances(self, cuts: Array) -> float:
        """Log density of the logarithms of the distances between cuts, up to a constant."""
        scores = np.log(np.diff(cuts) / np.diff(self._first_cuts)) / _LOG_DISTANCE_DEVIATION
        return float(-0.5 * scores @ scores)

    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        return {"cuts": np.sqrt(parameters["alpha"]) * parameters["cuts"]}

    def check_described(self) -> None:
        raise NotImplementedError(
            f"report pages and exports do not support likelihood={self.name!r} yet: use save and predict_proba, or fit "
            "with likelihood='probit'."
        )

    def draw_sizes(self, outputs: int) -> dict[str, int]:
        return {"cuts": self.n_classes - 1}

    def wrong_draws(self, name: str, values: Array) -> str | None:
        return None if (np.diff(values) > 0.0).all() else "is not increasing"

    def class_probabilities(self, values: Array, parameters: Mapping[str, Array]) -> Array:
        cuts = parameters["cuts"]
        above = (cuts if cuts.ndim == 3 else cuts[:, None]) - values
        ends = np.broadcast_to(np.inf, (*above.shape[:-1], 1))
        low, high = np.concatenate([-ends, above], axis=-1), np.concatenate([above, ends], axis=-1)
        upper = low > 0.0  # in the upper tail by symmetry
        return np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))
