"""The factors themselves: one curve per predictor and component, in canonical form."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from csid.explain.importance import mean_effects
from csid.explain.uniqueness import uniqueness
from csid.fitted.model import FittedModel, Model, fitted_model
from csid.plots import panels
from csid.plots.labels import number, wrapped
from csid.plots.levels import levels_of_predictor
from csid.plots.outputs import Output, of_output, output_of
from csid.plots.panels import AxesArray
from csid.plots.style import DASHES, FRAME, MARKERS, SERIES, styled

_MARKS = 5  # on a curve


@styled
def factor_curves(
    model: Model,
    components: int = 4,
    *,
    draw: int | None = None,
    output: Output = None,
    most: int = 12,
    axes: Sequence[Axes] | AxesArray | None = None,
) -> AxesArray:
    """Draw the factor of each predictor, a curve for each of the components of largest weight.

    These are the canonical curves of `csid.explain.uniqueness`, with a mean square of one and a positive largest entry;
    it also tells whether they are unique. The legend has the weight of each component in the output. The posterior mean
    of a Bayesian model is a sum of all its draws, so one draw is shown instead, which the legend names.

    Parameters
    ----------
    model : a fitted csid estimator.
    components : how many, at most 6.
    draw : for a `BayesianCSIDRegressor`, which of its posterior draws; by default one of largest weight.
    output : position or name of the output, by default the first; of a classifier, the label of a class.
    most : how many predictors, those with the highest `feature_importances_`.
    axes : as many axes as there are panels; by default those of a new figure.

    Returns
    -------
    array of the axes that were drawn on, one per predictor.
    """
    fitted = fitted_model(model)
    chosen = output_of(fitted, output)
    if not 1 <= components <= len(SERIES):
        raise ValueError(f"components={components}: give 1 to {len(SERIES)}, since more curves cannot be told apart.")
    draw, title = _draw_shown(fitted, draw)
    found = uniqueness(fitted, draw=draw)
    weights = of_output(fitted, found.weights, chosen)
    curves = range(min(components, len(weights)))
    names = fitted.names
    shown = np.argsort(-mean_effects(fitted.tensor), kind="stable")[:most].tolist()
    drawn = panels.several(axes, len(shown), sharey=False)
    for ax, n in zip(drawn, shown, strict=True):
        levels = levels_of_predictor(fitted, n, chosen.position)
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
    key: dict[str, Any] = {"handles": handles, "title": title, "handlelength": 4}
    if axes is None:
        drawn[0].figure.legend(loc="outside lower center", ncols=min(len(handles), 2 * len(drawn)), **key)
    else:
        drawn[0].legend(**key)
    return drawn


def _draw_shown(fitted: FittedModel, draw: int | None) -> tuple[int | None, str | None]:
    """Which posterior draw is shown, and what the legend says of it."""
    if fitted.posterior is None:
        return draw, None
    weights = fitted.posterior.weights
    shown = int(np.argmax(weights)) if draw is None else draw
    return shown, f"posterior draw {shown} (of 0 to {len(weights) - 1})"


def _look(f: int) -> dict[str, Any]:
    """Style of the curve of component f, readable without colour."""
    face = "white" if f % 2 else SERIES[f]
    return {"color": SERIES[f], "marker": MARKERS[f], "markersize": 4, "markerfacecolor": face, "linewidth": 1.5}
