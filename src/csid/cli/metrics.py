"""Metrics as lines of a table."""

from typing import Any

_LABELS = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "coverage": "coverage of 90 % intervals", "crps": "CRPS"}


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
        if isinstance(metric, dict)
    ]
