"""Metrics of point predictions, of predicted quantiles, and of class probabilities.

Classes are whole numbers y (M,) from 0, and probabilities (M, C) have a column for each.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

QUANTILES = np.arange(1, 20) / 20.0
CONFIDENCE_BINS = 15


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


def log_loss(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Mean negative log probability of the true class; a probability of zero counts as 2e-16, as in scikit-learn."""
    true = probabilities[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.clip(true, np.finfo(np.float64).eps, 1.0))))


def accuracy(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Fraction of rows whose likeliest class is the true one."""
    return float(np.mean(probabilities.argmax(axis=1) == y))


def brier_score(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Mean squared error of the probabilities, summed over classes: from 0 to 2."""
    return float(np.mean(((probabilities - np.eye(probabilities.shape[1])[y]) ** 2).sum(axis=1)))


def calibration_error(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Expected calibration error: |accuracy - mean confidence| in 15 equal-width bins of the confidence, by rows.

    The confidence is the probability of the likeliest class.
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    bins = np.minimum((CONFIDENCE_BINS * confidence).astype(int), CONFIDENCE_BINS - 1)
    return float(np.abs(np.bincount(bins, correct - confidence)).sum() / len(y))


def roc_auc(y: np.ndarray, probabilities: np.ndarray) -> float:
    """Area under the ROC curve; with more than two classes, the mean of each class against the rest.

    Classes without test rows are left out.
    """
    seen = np.unique(y)
    return float(np.mean([roc_auc_score(y == c, probabilities[:, c]) for c in seen]))
