"""The axes to draw on: those that are given, or those of a new figure."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from numpy.typing import NDArray

from csid.plots.style import FRAME, dress

AxesArray = NDArray[np.object_]

_COLUMNS = 3


def one(ax: Axes | None, width: float, height: float, lines: str = "") -> Axes:
    """The given axes, or new ones of so many inches."""
    return dress(plt.figure(figsize=(width, height), layout="constrained").subplots() if ax is None else ax, lines)


def several(axes: Sequence[Axes] | AxesArray | None, n: int, *, sharey: bool) -> AxesArray:
    """The first n of the given axes, or n new ones, in rows of three."""
    if axes is not None:
        given: AxesArray = np.ravel(np.asarray(axes, dtype=object))
        if len(given) < n:
            raise ValueError(
                f"axes holds {len(given)}, but {n} panels are to be drawn: give as many, or fewer features."
            )
        panels = given[:n]
    else:
        columns = min(n, _COLUMNS)
        rows = -(-n // columns)
        figure = plt.figure(figsize=(3.1 * columns, 2.5 * rows), layout="constrained")
        new: Any = figure.subplots(rows, columns, sharey=sharey, squeeze=False)
        panels = new.ravel()[:n]
        for unused in new.ravel()[n:]:
            unused.remove()
    for ax in panels:
        dress(ax)
    return panels


def colour_bar(ax: Axes, shades: ScalarMappable, label: str) -> Colorbar:
    """A colour bar beside the axes."""
    bar = ax.figure.colorbar(shades, ax=ax, pad=0.03, aspect=26)
    bar.set_label(label)
    bar.ax.tick_params(labelsize=8, length=3, width=0.8, color=FRAME)
    bar.ax.spines["outline"].set_visible(False)
    return bar
