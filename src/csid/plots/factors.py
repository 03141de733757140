"""The factors themselves: one curve per predictor and component, in canonical form."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from csid.explain import fitted, uniqueness
from csid.plots import panels
from csid.plots.labels import number, wrapped
from csid.plots.levels import levels_of_predictor
from csid.plots.outputs import Output, of_output, output_of
from csid.plots.panels import AxesArray
from csid.plots.style import DASHES, FRAME, MARKERS, SERIES, styled

_MARKS = 5  # on a curve


@styled
def factor_curves(
    model: Any,
    components: int = 4,
    *,
    draw: int | None = None,
    output: Output = 0,
    most: int = 12,
    axes: Sequence[Axes] | AxesArray | None = None,
) -> AxesArray:
    """Draw the factor of each predictor, a curve for each of the components of largest weight.

    They are the canonical curves of `csid.explain.uniqueness`, which also says whether they mean anything alone: a mean
    square of one, their largest entry positive. The weight in the legend is that of the component in the output.

    Parameters
    ----------
    model : a fitted csid estimator.
    components : how many, at most 6.
    draw : for a `BayesianCSIDRegressor`, which of its posterior draws.
    output : position or name of the output.
    most : predictors at the most, those with the highest `feature_importances_`.
    axes : as many axes as there are panels; by default those of a new figure.

    Returns
    -------
    array of the axes that were drawn on, one a predictor.
    """
    k, _ = output_of(model, output)
    if not 1 <= components <= len(SERIES):
        raise ValueError(f"components={components}: from 1 to {len(SERIES)} curves can be told apart in one picture.")
    found = uniqueness(model, draw=draw)
    weights = of_output(model, found.weights, k)
    curves = range(min(components, len(weights)))
    names = fitted.names(model)
    shown = np.argsort(-model.feature_importances_, kind="stable")[:most].tolist()
    drawn = panels.several(axes, len(shown), sharey=False)
    for ax, n in zip(drawn, shown, strict=True):
        levels = levels_of_predictor(model, n, k)
        ax.axhline(0.0, color=FRAME, linewidth=0.8, zorder=0.5)
        for f in curves:
            A, S = found.curves[names[n]][:, f], len(levels.shown)
            line = {"linestyle": DASHES[f] if levels.numeric else "", "drawstyle": levels.drawstyle}
            often = max(1, S // _MARKS)
            marks = (f * often // len(curves), often)
            ax.plot(levels.places, A[levels.shown], markevery=marks, **line, **_look(f))
            if levels.missing is not None:
                ax.plot(levels.missing_place, A[levels.missing], linestyle="", **_look(f))
        ax.set_title(wrapped(names[n]), loc="left")
        ax.set_xlim(levels.limits)
        levels.mark(ax.xaxis)
    handles = [
        Line2D(
            [],
            [],
            linestyle=DASHES[f],
            label=f"component {f + 1}, weight {number(weights[f], 3)}",
            **_look(f),
        )
        for f in curves
    ]
    if axes is None:
        figure = drawn[0].figure
        figure.legend(
            handles=handles, loc="outside lower center", ncols=min(len(handles), 2 * len(drawn)), handlelength=4
        )
    else:
        drawn[0].legend(handles=handles, handlelength=4)
    return drawn


def _look(f: int) -> dict[str, Any]:
    """Of the curve of component f, in colour and without."""
    face = "white" if f % 2 else SERIES[f]
    return {"color": SERIES[f], "marker": MARKERS[f], "markersize": 4, "markerfacecolor": face, "linewidth": 1.5}
