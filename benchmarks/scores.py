"""How wrong predictions are: of means, and of quantiles."""

import numpy as np

QUANTILES = np.arange(1, 20) / 20.0


def rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    """Root of the mean over rows of the squared error, summed over the outputs if there are several."""
    return float(np.sqrt(np.mean(((y - predicted) ** 2).reshape(len(y), -1).sum(axis=1))))


def mae(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(np.abs(y - predicted).reshape(len(y), -1).sum(axis=1)))


def quantile_figures(y: np.ndarray, quantiles: np.ndarray) -> tuple[float, float]:
    """Coverage of the 90 % interval between the outer quantiles (M, 19), and the CRPS, twice the mean pinball loss."""
    miss = y[:, None] - quantiles
    crps = 2.0 * np.maximum(QUANTILES * miss, (QUANTILES - 1.0) * miss).mean()
    return float(np.mean((quantiles[:, 0] <= y) & (y <= quantiles[:, -1]))), float(crps)
