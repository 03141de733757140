"""Metrics of predictions: errors, interval coverage and CRPS, with bootstrap confidence intervals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_weights
from csid.data.weights import WeightTotals
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of

Array = NDArray[np.float64]

QUANTILES = np.arange(1, 20) / 20.0
_RESAMPLES = 500
_CONFIDENCE = (0.025, 0.975)


def metrics(
    model: Model, X: Any, y: Array, weights: Array | None, targets: Sequence[str], seed: int
) -> dict[str, dict[str, Any]]:
    """The metrics of a fitted model on the rows of X, for each target by name; see `metrics_of`.

    weights : (M,) of the rows, of any scale; None for equal weights.
    """
    weights = None if weights is None else relative_weights(weights, len(y))
    fitted, threads = fitted_model(model), threads_of(model)
    predicted, truth = fitted.means(X, threads), y.reshape(len(y), -1)
    quantiles = None if fitted.posterior is None else _quantiles(fitted, X, threads)
    return {
        name: metrics_of(truth[:, j], predicted[:, j], None if quantiles is None else quantiles[:, :, j], weights, seed)
        for j, name in enumerate(targets)
    }


def relative_weights(weights: Array, n_rows: int) -> Array:
    """Checked weights (M,) of rows, divided by their mean."""
    given = check_weights(weights, n_rows, fewest=0)
    return WeightTotals.of(given).unit("relative").of(given)


def metrics_of(
    truth: Array, predicted: Array, quantiles: Array | None, weights: Array | None, seed: int
) -> dict[str, Any]:
    """RMSE, MAE and R²; with predicted quantiles (M, 19), also the coverage of 90 % intervals and the CRPS.

    The CRPS is twice the mean pinball loss over the quantiles. Each metric has a 95 % confidence interval, by the
    bootstrap with 500 resamples of the rows.
    """
    more = {}
    if quantiles is not None:
        miss = truth[:, None] - quantiles
        more["coverage"] = ((quantiles[:, 0] <= truth) & (truth <= quantiles[:, -1])).astype(float)
        more["crps"] = 2.0 * np.maximum(QUANTILES * miss, (QUANTILES - 1.0) * miss).mean(axis=1)
    return with_confidence(truth, predicted, more, weights, seed)


def with_confidence(
    truth: Array, predicted: Array, more: dict[str, Array], weights: Array | None, seed: int
) -> dict[str, Any]:
    """RMSE, MAE, R² and the means of further terms (M,) by name, each with a 95 % confidence interval."""
    w = np.ones(len(truth)) if weights is None else weights
    error = truth - predicted
    unit = _power_of_two(np.maximum(np.abs(truth), np.abs(error)).max(initial=0.0))  # in which squares are floats
    terms = {"rmse": (error / unit) ** 2, "mae": np.abs(error), **more}
    stacked = np.stack([*terms.values(), truth / unit, (truth / unit) ** 2])
    each = [_from_means(list(terms), stacked @ d / max(d.sum(), 1e-300), unit) for d in resampled(w, seed)]
    return {"rows": len(truth), **with_intervals(each)}


def resampled(weights: Array, seed: int) -> Iterator[Array]:
    """The weights (M,) of rows, and then those of 500 bootstrap resamples of them."""
    rng, M = np.random.default_rng(seed), len(weights)
    yield weights
    for _ in range(_RESAMPLES):
        yield np.bincount(rng.integers(M, size=M), minlength=M) * weights


def with_intervals(estimates: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The first of several estimates of some metrics, with the central 95 % of the others as confidence interval.

    Resamples for which a metric is not defined (NaN) are left out of its interval.
    """
    document = {}
    for name, value in estimates[0].items():
        found = np.array([each[name] for each in estimates[1:]])
        found = found[~np.isnan(found)]
        low, high = np.quantile(found, _CONFIDENCE) if len(found) else (np.nan, np.nan)
        document[name] = {"value": value, "low": float(low), "high": float(high)}
    return document


def probabilities_below(model: Model, X: Any, y: Array) -> Array:
    """(M, K): the predictive distribution functions of a Bayesian model at observations y (M, K).

    If the model is calibrated they are uniform on [0, 1], and a tenth of them lie outside the 90 % intervals.
    """
    fitted, threads = fitted_model(model), threads_of(model)
    return np.concatenate([predictive.cdf(y[rows]) for rows, predictive in fitted.mixtures(X, threads)])


def _quantiles(fitted: FittedModel, X: Any, threads: int) -> Array:
    """(M, 19, K) of new observations."""
    parts = fitted.mixtures(X, threads)
    found = [[predictive.ppf(q) for q in QUANTILES.tolist()] for _, predictive in parts]
    return np.concatenate([np.stack(part, axis=1) for part in found])


def _power_of_two(value: float) -> float:
    """Near a value; one for zero."""
    return float(np.ldexp(1.0, np.clip(np.frexp(value)[1], -1000, 1000)))


def _from_means(names: Sequence[str], means: Array, unit: float) -> dict[str, float]:
    found = dict(zip(names, means.tolist(), strict=False))
    mean, square = means[-2:].tolist()
    variance = square - mean**2
    rounding = 1e-12 * max(square, 1e-300)
    r2 = {"r2": 1.0 - found["rmse"] / variance if variance > rounding else float("nan")}
    found["rmse"] = unit * float(np.sqrt(found["rmse"]))
    return {"rmse": found.pop("rmse"), "mae": found.pop("mae"), **r2, **found}
