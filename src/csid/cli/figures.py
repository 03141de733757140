"""How good predictions are: errors, calibration, and how sure these figures are, by the bootstrap."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUANTILES = np.arange(1, 20) / 20.0
_RESAMPLES = 500
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
    w = np.ones(len(truth)) if weights is None else weights
    error = truth - predicted
    terms = {"rmse": error**2, "mae": np.abs(error)}
    if quantiles is not None:
        miss = truth[:, None] - quantiles
        terms["coverage"] = ((quantiles[:, 0] <= truth) & (truth <= quantiles[:, -1])).astype(float)
        terms["crps"] = 2.0 * np.maximum(QUANTILES * miss, (QUANTILES - 1.0) * miss).mean(axis=1)
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


def figure_rows(document: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures as lines of a table."""
    lines = []
    for target, found in document.items():
        for name, figure in found.items():
            if isinstance(figure, dict):
                bounds = f"{figure['low']:.4g} to {figure['high']:.4g}"
                lines.append({"target": target, "figure": _LABELS[name], "value": figure["value"], "95 %": bounds})
    return lines


_LABELS = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "coverage": "in 90 % interval", "crps": "CRPS"}


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
