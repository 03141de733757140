"""The joint effect of two predictors: their partial dependence as a heat map."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from csid.explain.dependence import partial_dependence
from csid.explain.features import Feature
from csid.fitted.model import Model, fitted_model
from csid.plots import panels
from csid.plots.labels import number, short, wrapped
from csid.plots.levels import LevelAxis, levels_of_predictor
from csid.plots.outputs import Output, output_of
from csid.plots.style import MAP, styled

Array = NDArray[np.float64]

_MOST_WRITTEN = 60
_BRIGHT = 0.6  # of the way up the colours
_OUTLINE = [withStroke(linewidth=2.0, foreground="white", alpha=0.85)]


@styled
def pair(
    model: Model,
    first: Feature,
    second: Feature,
    *,
    output: Output = None,
    contours: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean prediction over the levels of two predictors, the others at their marginals.

    Parameters
    ----------
    model : a fitted csid estimator.
    first, second : the predictors on the horizontal and the vertical axis, by name or position.
    output : position or name of the output, by default the first; of a classifier, the label of a class.
    contours : draw labelled contour lines; if a predictor is a category and there are few cells, the values are written
        into the cells instead.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    drawn = output_of(fitted, output)
    # without draws: an interval for each cell would take long, and is not drawn
    found = partial_dependence(replace(fitted, posterior=None), (first, second), output=drawn.explained)
    values = found.values
    along, up = (levels_of_predictor(fitted, fitted.names.index(name), drawn.position) for name in found.features)

    ax = panels.one(ax, 4.6, 3.6)
    norm = Normalize(float(values.min()), float(values.max()))
    known = values[np.ix_(along.shown, up.shown)].T
    for x, at_x in _blocks(along):
        for y, at_y in _blocks(up):
            ax.pcolormesh(x, y, values[np.ix_(at_x, at_y)].T, norm=norm, cmap=MAP, rasterized=True)
    smooth = along.linear and up.linear
    if smooth:
        between: dict[str, Any] = {"norm": norm, "cmap": MAP, "shading": "gouraud", "rasterized": True}
        ax.pcolormesh(along.places, up.places, known, **between)
    if contours and along.numeric and up.numeric and min(known.shape) > 1 and np.ptp(known) > 0:
        lines = ax.contour(along.places, up.places, known, levels=6, colors="#20262e", linewidths=0.8)
        for text in ax.clabel(lines, fontsize=7, fmt=number):
            text.set_path_effects(list(_OUTLINE))
    elif contours and known.size <= _MOST_WRITTEN and not (along.numeric and up.numeric):
        _write(ax, along, up, values, norm)
    for axis, levels, name in ((ax.xaxis, along, found.features[0]), (ax.yaxis, up, found.features[1])):
        levels.mark(axis)
        axis.set_label_text(wrapped(name))
    ax.set(xlim=_limits(along, smooth), ylim=_limits(up, smooth))
    panels.colour_bar(ax, ScalarMappable(norm, MAP), f"mean {short(drawn.name)}")
    return ax


def _blocks(levels: LevelAxis) -> list[tuple[Array, NDArray[np.intp]]]:
    """Bounds of cells, and their levels: first those with a value, then that of missing cells."""
    blocks = [(levels.edges, levels.shown)] if len(levels.shown) else []
    if levels.missing is not None:
        half = np.array([-levels.missing_half, levels.missing_half])
        blocks.append((levels.missing_place + half, np.array([levels.missing])))
    return blocks


def _limits(levels: LevelAxis, smooth: bool) -> tuple[float, float]:
    low, high = (levels.places if smooth else levels.edges)[[0, -1]]
    return (low, high) if levels.missing is None else (low, levels.missing_place + levels.missing_half)


def _write(ax: Axes, along: LevelAxis, up: LevelAxis, values: Array, norm: Normalize) -> None:
    """The values of the cells, in black or white, whichever has more contrast."""
    for x, i in zip(along.places, along.shown, strict=True):
        for y, j in zip(up.places, up.shown, strict=True):
            color = "white" if norm(values[i, j]) < _BRIGHT else "black"
            ax.text(x, y, number(values[i, j], 3), ha="center", va="center", fontsize=7.5, color=color)
