"""The style of all plots: plain axes, one main colour, and dashes and markers so that none needs colour to be read.

It applies inside a context and to the axes that are drawn on; matplotlib's global settings are not changed.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")

INK = "#17405e"
SECOND = "#b4562b"
SOFT = "#6b7480"
SHADE = "#b9c3ce"
FRAME = "#98a1ac"
WORDS = "#2b313a"
MAP = "viridis"

DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P")
SERIES = (INK, SECOND, "#4f8a5b", "#7a5c99", "#222222", "#8c7a3d")
"""Of several curves in one plot; each has its own dashes and marker as well."""

SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FRAME,
    "axes.labelcolor": WORDS,
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.07,
    "figure.constrained_layout.w_pad": 0.07,
    "font.size": 9.0,
    "hatch.linewidth": 0.8,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "text.color": WORDS,
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """A function that draws in this style, whatever matplotlib's settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return drawn


def dress(ax: Axes, lines: str = "") -> Axes:
    """Axes with plain spines and ticks; grid lines across "x", "y" or neither."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=FRAME, linewidth=0.8)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=WORDS, fontsize=9)
    ax.tick_params(labelsize=8, length=3, width=0.8, color=FRAME, labelcolor=WORDS)
    if lines == "x":
        ax.xaxis.grid(True, color="#e3e7ec", linewidth=0.7)
    elif lines == "y":
        ax.yaxis.grid(True, color="#e3e7ec", linewidth=0.7)
    return ax
