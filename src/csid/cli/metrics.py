"""Metrics as lines of a table."""

from typing import Any

_LABELS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "coverage": "coverage of 90 % intervals",
    "crps": "CRPS",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "expected calibration error",
    "roc_auc": "ROC AUC",
}


def metric_rows(metrics: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each metric of each target."""
    return [
        {
            "target": target,
            "metric": _LABELS[name],
            "value": metric["value"],
            "95 % confidence": f"{metric['low']:.4g} to {metric['high']:.4g}",
        }
        for target, found in metrics.items()
        for name, metric in found.items()
        if name in _LABELS
    ]


def metric_values(found: dict[str, Any]) -> dict[str, float]:
    """The values of the metrics of a target, for a line of a table."""
    return {_LABELS[name]: metric["value"] for name, metric in found.items() if name in _LABELS}
