"""How good predictions are: errors, calibration, and how sure these figures are, by the bootstrap."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

Array = NDArray[np.float64]

QUANTILES = np.arange(1, 20) / 20.0
_RESAMPLES = 500
_ROWS_AT_ONCE = 1 << 12
_CONFIDENCE = (0.025, 0.975)


def figures(
    model: Any, X: Any, y: Array, weights: Array | None, targets: Sequence[str], seed: int
) -> dict[str, dict[str, Any]]:
    """For each target, its figures with 95 % confidence."""
    predicted = _columns(model.predict(X))
    quantiles = model.predict_quantiles(X, QUANTILES) if hasattr(model, "predict_quantiles") else None
    truth = _columns(y)
    found = {}
    for j, name in enumerate(targets):
        own = None if quantiles is None else quantiles if quantiles.ndim == 2 else quantiles[:, :, j]
        found[name] = figures_of(truth[:, j], predicted[:, j], own, weights, seed)
    return found


def figures_of(
    truth: Array, predicted: Array, quantiles: Array | None, weights: Array | None, seed: int
) -> dict[str, Any]:
    """RMSE, MAE and R²; with quantiles (M, 19) also the coverage of 90 % intervals and the CRPS.

    The CRPS is twice the mean pinball loss over the quantiles. Each figure has bounds of 95 % confidence: rows are
    drawn again 500 times.
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
    """RMSE, MAE, R², and means of further terms (M,) by name, each with bounds of 95 % confidence by the bootstrap."""
    w = np.ones(len(truth)) if weights is None else weights
    error = truth - predicted
    terms = {"rmse": error**2, "mae": np.abs(error), **more}
    stacked = np.stack([*terms.values(), truth, truth**2])
    rng = np.random.default_rng(seed)
    counts = (np.bincount(rng.integers(len(w), size=len(w)), minlength=len(w)) for _ in range(_RESAMPLES))
    resampled = chain([w], (count * w for count in counts))
    estimates = [_from_means(list(terms), stacked @ d / max(d.sum(), 1e-300)) for d in resampled]
    document: dict[str, Any] = {"rows": len(truth)}
    for name, value in estimates[0].items():
        low, high = np.quantile([each[name] for each in estimates[1:]], _CONFIDENCE)
        document[name] = {"value": value, "low": float(low), "high": float(high)}
    return document


def probabilities_below(model: Any, X: Any, y: Array) -> Array:
    """(M, K): what the predictive distributions of a Bayesian model say of observations below y (M, K).

    Of a calibrated model they are uniform between 0 and 1, and a tenth of them lies outside the 90 % intervals.
    """
    parts = [np.arange(start, min(start + _ROWS_AT_ONCE, len(y))) for start in range(0, len(y), _ROWS_AT_ONCE)]
    found = [model._from_mixtures(_safe_indexing(X, rows), lambda m, rows=rows: (m.below(y[rows]),)) for rows in parts]
    return np.concatenate([below for (below,) in found])


def _columns(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _from_means(names: Sequence[str], means: Array) -> dict[str, float]:
    found = dict(zip(names, means.tolist(), strict=False))
    mean, square = means[-2:].tolist()
    variance = square - mean**2
    spread = 1e-12 * max(square, 1e-300)
    r2 = {"r2": 1.0 - found["rmse"] / variance if variance > spread else float("nan")}
    found["rmse"] = float(np.sqrt(found["rmse"]))
    return {"rmse": found.pop("rmse"), "mae": found.pop("mae"), **r2, **found}
