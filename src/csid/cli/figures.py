"""The figures of a model as lines of a table."""

from typing import Any

_LABELS = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "coverage": "in 90 % interval", "crps": "CRPS"}


def figure_rows(document: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures as lines of a table."""
    lines = []
    for target, found in document.items():
        for name, figure in found.items():
            if isinstance(figure, dict):
                bounds = f"{figure['low']:.4g} to {figure['high']:.4g}"
                lines.append({"target": target, "figure": _LABELS[name], "value": figure["value"], "95 %": bounds})
    return lines
