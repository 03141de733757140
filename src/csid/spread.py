"""How far predictions miss on held-out rows, beside how far their draws spread: a factor that depends on their mean.

The noise of many targets grows with them (counts, prices, rings of a shell), and a mean over several chains misses by
less than any of them. Both are seen on held-out rows only. The logarithm of the factor is linear between some levels of
the predicted mean, and smooth over them, as a factor of the model is over the levels of a predictor.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid._fit.problem import sums_over_rows
from csid.posterior import Mixture

Array = NDArray[np.float64]

_KNOTS = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)
_ROWS_OF_DOUBT = 120.0
_SMOOTHNESS = 40.0
_NEWTON_STEPS = 30
_COVERAGE = 0.9


@dataclass(frozen=True)
class Spread:
    """By what factor predictions spread about their mean more than the draws say.

    knots : (K, P) predicted means, rising; logs : (K, P) logarithms of the factor there, and beyond the outer ones.
    """

    knots: Array
    logs: Array

    @classmethod
    def none(cls, outputs: int) -> "Spread":
        """The draws are taken at their word."""
        return cls(np.zeros((outputs, 1)), np.zeros((outputs, 1)))

    def at(self, mean: Array) -> Array:
        """The factor (M, K) at predicted means (M, K)."""
        columns = [np.interp(mean[:, j], self.knots[j], self.logs[j]) for j in range(mean.shape[1])]
        return np.asarray(np.exp(np.stack(columns, axis=1)))

    def in_units(self, centre: Array, scale: Array) -> "Spread":
        """The same for means in other units, `centre + scale * mean`."""
        return replace(self, knots=centre[:, None] + scale[:, None] * self.knots)

    def times(self, factor: Array) -> "Spread":
        """The factor (K,) times this one."""
        return replace(self, logs=self.logs + np.log(factor)[:, None])

    def of(self, predictive: Mixture) -> Mixture:
        """A predictive distribution, its deviations from the mean multiplied."""
        mean = predictive.mean
        factor = self.at(mean)
        centres = mean + factor * (predictive.centres - mean)
        return replace(predictive, centres=centres, scales=factor * predictive.scales)


def fit_spread(predictive: Mixture, truth: Array) -> Spread:
    """The factor with which a predictive distribution fits the truth (M, K) of held-out rows.

    Its course over the mean is that of the absolute errors; then it is made as large as 90 % intervals need to cover as
    much. With few rows both are drawn to 1.
    """
    errors = np.abs(truth - predictive.mean) / np.sqrt(predictive.variance)
    knots = np.quantile(predictive.mean, _KNOTS, axis=0).T
    knots += 1e-9 * np.arange(knots.shape[1]) * (1.0 + np.abs(knots[:, -1:]))  # rising also where means are the same
    logs = np.array([_course(*pair) for pair in zip(predictive.mean.T, knots, errors.T, strict=True)])
    varying = Spread(knots, logs).of(predictive)
    lower, upper = (varying.quantile(q) for q in (0.5 - 0.5 * _COVERAGE, 0.5 + 0.5 * _COVERAGE))
    needed = np.quantile(np.abs(truth - 0.5 * (lower + upper)) / (0.5 * (upper - lower)), _COVERAGE, axis=0)
    trust = len(truth) / (len(truth) + _ROWS_OF_DOUBT)
    return Spread(knots, logs + np.log(1.0 + trust * (needed - 1.0))[:, None])


def _course(mean: Array, knots: Array, errors: Array) -> Array:
    """Logarithms (P,), zero on average over the rows, of the scale of errors (M,) whose means are these.

    Minimises sum(h + e exp(-h)) plus a penalty on differences of neighbouring knots, h linear between them: the
    likelihood of Laplace's distribution, convex, by Newton's method.
    """
    hats = np.array([np.interp(mean, knots, unit) for unit in np.eye(len(knots))])
    penalty = _SMOOTHNESS * len(knots) * np.diff(np.eye(len(knots)), axis=0).T @ np.diff(np.eye(len(knots)), axis=0)
    logs = np.full(len(knots), np.log(max(errors.mean(), 1e-12)))
    for _ in range(_NEWTON_STEPS):
        pull = errors * np.exp(-logs @ hats)
        gradient = sums_over_rows(1.0 - pull, hats.T) + penalty @ logs
        curvature = np.einsum("m,pm,qm->pq", np.maximum(pull, 0.1), hats, hats) + penalty
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(knots)), gradient)
        logs -= np.clip(step, -0.5, 0.5)
    return np.asarray(logs - (logs @ hats).mean())
