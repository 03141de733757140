"""How good a model is on rows that it has not seen: figures, calibration, and predictions beside the truth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.scores import QUANTILES, probabilities_below, with_confidence

Array = NDArray[np.float64]

_POINTS = 400


def evidence(model: Any, X: Any, truth: Array, predicted: Array, seed: int) -> dict[str, Any]:
    """For each output: figures with 95 % confidence, calibration of a Bayesian model, and some points.

    truth, predicted : (M, K) at the rows of X.
    """
    below = probabilities_below(model, X, truth) if hasattr(model, "posterior_") else None
    some = np.sort(np.random.default_rng(seed).permutation(len(truth))[:_POINTS])
    return {
        "rows": len(truth),
        "outputs": [
            _of_output(truth[:, k], predicted[:, k], None if below is None else below[:, k], some, seed)
            for k in range(truth.shape[1])
        ],
    }


def _of_output(truth: Array, predicted: Array, below: Array | None, some: NDArray[Any], seed: int) -> dict[str, Any]:
    inside = {} if below is None else {"coverage": (np.abs(below - 0.5) <= 0.45).astype(np.float64)}
    found = with_confidence(truth, predicted, inside, None, seed)
    return {
        "figures": {name: _finite(figure) for name, figure in found.items() if isinstance(figure, dict)},
        "calibration": None if below is None else [float(np.mean(below <= q)) for q in QUANTILES],
        "points": np.round(np.stack([predicted[some], truth[some]], axis=1), 12).tolist(),
    }


def _finite(figure: dict[str, float]) -> dict[str, float | None]:
    """JSON has no number for what is not defined, such as R² of a single row."""
    return {name: value if np.isfinite(value) else None for name, value in figure.items()}
