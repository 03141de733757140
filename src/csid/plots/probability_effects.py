"""The effect of a predictor on the probabilities of classes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.explain.dependence import values_on_levels
from csid.explain.features import Feature, positions
from csid.explain.games import balanced
from csid.fitted.model import FittedModel
from csid.likelihoods.class_predictive import as_class_predictive

Array = NDArray[np.float64]


class ProbabilityEffect(NamedTuple):
    """The probabilities of C classes at the levels of predictor n.

    values : (I_n, C); bounds : of the band over the draws, (I_n, C) each; None without draws.
    average : (C,) probabilities where all predictors are averaged over.
    """

    n: int
    values: Array
    bounds: tuple[Array, Array] | None
    average: Array


def probability_effect(fitted: FittedModel, feature: Feature, coverage: float) -> ProbabilityEffect:
    """The probabilities at the partial dependence of the latent values of each draw, averaged over the draws.

    They are calibrated as those of rows. coverage : fraction of the posterior draws in the band.
    """
    (n,) = positions(fitted, [feature])
    posterior = fitted.posterior
    draws = [balanced(draw) for draw in ((fitted.tensor,) if posterior is None else posterior.draws)]
    values = np.array(
        [values_on_levels(draw, (n,), _mean_of_others(draw.marginals, draw.factors, n)) for draw in draws]
    )
    means = np.array([draw.marginals[n] @ of_levels for draw, of_levels in zip(draws, values, strict=True)])
    weights, parameters = np.ones(1), {}
    if posterior is not None:
        weights, parameters = posterior.weights, posterior.parameters
    predictive = as_class_predictive(
        fitted.likelihood.predictive(np.concatenate([values, means[:, None]], axis=1), parameters, weights)
    )
    if posterior is not None and fitted.calibration is not None:
        predictive = fitted.calibration.of(predictive)
    probabilities, bounds = predictive.probabilities, None
    if posterior is not None:
        lower, upper = predictive.quantiles(np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]))
        bounds = lower[:-1], upper[:-1]
    return ProbabilityEffect(n, probabilities[:-1], bounds, probabilities[-1])


def _mean_of_others(marginals: tuple[Array, ...], factors: tuple[Array, ...], n: int) -> Array:
    """(F,) the product over all predictors but n of their mean rows."""
    means = [p @ A for j, (p, A) in enumerate(zip(marginals, factors, strict=True)) if j != n]
    return np.asarray(np.prod([np.ones(factors[0].shape[1]), *means], axis=0))
