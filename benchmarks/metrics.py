"""Metrics of point predictions and of predicted quantiles."""

import numpy as np

QUANTILES = np.arange(1, 20) / 20.0


def rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    """Root mean squared error; with several outputs, squared errors are summed over outputs before the mean."""
    return float(np.sqrt(np.mean(((y - predicted) ** 2).reshape(len(y), -1).sum(axis=1))))


def mae(y: np.ndarray, predicted: np.ndarray) -> float:
    """Mean absolute error; with several outputs, absolute errors are summed over outputs before the mean."""
    return float(np.mean(np.abs(y - predicted).reshape(len(y), -1).sum(axis=1)))


def coverage_and_crps(y: np.ndarray, quantiles: np.ndarray) -> tuple[float, float]:
    """Coverage of the 90 % interval between the outer quantiles (M, 19), and CRPS as twice the mean pinball loss."""
    residuals = y[:, None] - quantiles
    crps = 2.0 * np.maximum(QUANTILES * residuals, (QUANTILES - 1.0) * residuals).mean()
    return float(np.mean((quantiles[:, 0] <= y) & (y <= quantiles[:, -1]))), float(crps)
