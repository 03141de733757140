"""The common style of plots: colour-blind safe colours, and markers and lines that work without colour."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
}


class Curve(NamedTuple):
    """How a method is drawn."""

    label: str
    color: str
    marker: str
    line: Any

    @property
    def style(self) -> dict[str, Any]:
        line = {"linestyle": self.line, "linewidth": 1.4, "marker": self.marker, "markersize": 4.5}
        return {"label": self.label, "color": self.color, **line}


CURVES = {
    "als": Curve("csid, least squares", "#0072B2", "o", "-"),
    "bayesian": Curve("csid, Bayesian", "#D55E00", "s", "-"),
    "lightgbm": Curve("LightGBM, 1,000 trees", "#009E73", "^", "--"),
    "catboost": Curve("CatBoost", "#CC79A7", "v", "-."),
    "hist": Curve("scikit-learn hist, 1,000 trees", "#777777", "D", ":"),
    "ebm": Curve("EBM", "#000000", "x", (0, (5, 1, 1, 1, 1, 1))),
}


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure in the common style, and its axes (rows, columns)."""
    with mpl.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **options)


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int) -> None:
    """One legend for all panels, with every label once."""
    entries: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
