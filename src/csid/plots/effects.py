"""Main effects: partial dependence on each predictor, its band, and the distribution of the training rows."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from numpy.typing import NDArray

from csid.explain.dependence import partial_dependence
from csid.explain.features import Feature
from csid.explain.importance import mean_effects
from csid.explain.probabilities import predictive_at
from csid.fitted.model import FittedModel, Model, fitted_model
from csid.plots import panels
from csid.plots.labels import short, wrapped
from csid.plots.levels import LevelAxis, density, levels_of
from csid.plots.outputs import DrawnOutput, Output, output_of
from csid.plots.panels import AxesArray
from csid.plots.style import FRAME, INK, SECOND, SHADE, SOFT, styled

Array = NDArray[np.float64]

_STRIP = 0.13  # of the height, for the density
_MOST_MARKS = 12


@styled
def effects(
    model: Model,
    features: Sequence[Feature] | None = None,
    *,
    output: Output = None,
    coverage: float = 0.9,
    most: int = 12,
    sharey: bool = True,
    axes: Sequence[Axes] | AxesArray | None = None,
) -> AxesArray:
    """Draw the effect of each predictor on a panel of its own, the most important first.

    Parameters
    ----------
    model : a fitted csid estimator.
    features : predictors by name or position; by default the `most` with the highest `feature_importances_`.
    output : position or name of the output, by default the first; of a classifier, the label of a class.
    coverage : fraction of the posterior draws in the band of a Bayesian model.
    most : how many predictors are drawn by default.
    sharey : give all panels of a new figure the same scale, so that effects can be compared.
    axes : as many axes as there are panels; by default those of a new figure.

    Returns
    -------
    array of the axes that were drawn on, one per panel.
    """
    fitted = fitted_model(model)
    output_of(fitted, output)
    if features is None:
        features = np.argsort(-mean_effects(fitted.tensor), kind="stable")[:most].tolist()
    drawn = panels.several(axes, len(features), sharey=sharey)
    for ax, feature in zip(drawn, features, strict=True):
        effect(model, feature, output=output, coverage=coverage, ax=ax)
    if sharey and axes is None:
        _same_scale(drawn)
    return drawn


@styled
def effect(
    model: Model, feature: Feature, *, output: Output = None, coverage: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Draw the partial dependence on one predictor.

    Numbers are drawn as a curve (a step function under constant interpolation), categories as points, sorted by effect
    if they are text; the level of missing cells is on the right. A Bayesian model adds the band of its draws. The
    shade at the bottom is the distribution of the training rows, the dashed line the mean prediction. Other predictors
    follow their marginals independently.

    Of a classifier, it is the probability of the class `output`, by default the second of two: that at the partial
    dependence of the latent values, averaged over the draws. The dashed line is the one at their means.

    Examples
    --------
    >>> import numpy as np, csid
    >>> from csid import plots
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> model = csid.CSIDRegressor(rank=2, max_iter=5, random_state=0).fit(X, X.sum(axis=1))
    >>> plots.effect(model, "x0").get_title(loc="left")
    'x0'
    """
    fitted = fitted_model(model)
    drawn = output_of(fitted, output)
    on_probability = fitted.classes is not None
    scale: Literal["probability", "latent"] = "probability" if on_probability else "latent"
    found = partial_dependence(model, feature, output=drawn.explained, scale=scale, coverage=coverage)
    n, values = fitted.names.index(found.features[0]), found.values
    band = None if found.lower is None or found.upper is None else (found.lower, found.upper)
    average, name = _average(fitted, drawn), f"mean {short(drawn.name)}"
    if on_probability:
        name = f"probability of {short(drawn.class_name)}"
    p = fitted.encoding.marginals[n]
    levels = levels_of(fitted.encoding.modes[n], p, values)

    ax = panels.one(ax, 3.6, 2.9)
    ax.axhline(average, color=SOFT, linewidth=0.9, dashes=(5, 3), zorder=1)
    if levels.numeric:
        _curve(ax, levels, values, band)
    else:
        _points(ax, levels.places, values[levels.shown], _of_levels(band, levels.shown), "o", INK)
    if levels.missing is not None:
        apart = np.array([levels.missing])
        _points(ax, np.array([levels.missing_place]), values[apart], _of_levels(band, apart), "D", SECOND)
        ax.axvline(levels.missing_place - 1.3 * levels.missing_half, color=FRAME, linewidth=0.8, linestyle=":")
    _strip(ax, levels, p)
    ax.set_title(wrapped(fitted.names[n]), loc="left")
    ax.set(xlim=levels.limits, ylabel=name)
    if levels.left_out:
        ax.set_xlabel(f"{levels.left_out} rarer categories not shown", color=SOFT)
    levels.mark(ax.xaxis)
    return ax


def _average(fitted: FittedModel, drawn: DrawnOutput) -> float:
    """The mean prediction; of a classifier, the probability at the mean latent values."""
    if drawn.class_index is None:
        return float(fitted.tensor.mean()[drawn.position])
    means = [draw.mean() for draw in ((fitted.tensor,) if fitted.posterior is None else fitted.posterior.draws)]
    return float(predictive_at(fitted, np.array(means)[:, None]).probabilities[0, drawn.class_index])


def _curve(ax: Axes, levels: LevelAxis, values: Array, band: tuple[Array, Array] | None) -> None:
    x, shown = levels.places, levels.shown
    marked = "o" if len(x) <= _MOST_MARKS else ""
    style = levels.drawstyle
    if band is not None:
        low, high = band[0][shown], band[1][shown]
        if len(x) == 1:
            ax.vlines(x, low, high, color=INK, linewidth=1.2)
        ax.fill_between(x, low, high, step=None if style == "default" else "mid", color=INK, alpha=0.16, linewidth=0)
        for bound in (low, high):
            ax.plot(x, bound, color=INK, linewidth=0.6, alpha=0.7, drawstyle=style, label="_bound")
    ax.plot(x, values[shown], color=INK, marker=marked, markersize=3.5, drawstyle=style, label="effect")


def _points(ax: Axes, x: Array, y: Array, band: tuple[Array, Array] | None, marker: str, color: str) -> None:
    if band is not None:
        ax.vlines(x, *band, color=color, linewidth=1.2)
        for bound in band:
            ax.plot(x, bound, linestyle="", marker="_", markersize=6, color=color, label="_bound")
    hollow = "white" if marker == "D" else color
    label = "missing" if marker == "D" else "effect"
    ax.plot(x, y, linestyle="", marker=marker, markersize=5, color=color, markerfacecolor=hollow, label=label)


def _of_levels(band: tuple[Array, Array] | None, levels: NDArray[np.intp]) -> tuple[Array, Array] | None:
    return None if band is None else (band[0][levels], band[1][levels])


def _strip(ax: Axes, levels: LevelAxis, p: Array) -> None:
    """The distribution of the training rows, in a strip at the bottom of the axes."""
    heights, edges = density(levels, p)
    unit = 0.8 * _STRIP / (heights.max() or 1.0)
    bottom = ax.get_xaxis_transform()
    ax.add_artist(StepPatch(unit * heights, edges, fill=True, color=SHADE, linewidth=0, transform=bottom, zorder=0))
    ax.set_ylim(*_with_strip(*ax.yaxis.get_data_interval()))


def _with_strip(low: float, high: float) -> tuple[float, float]:
    """Limits of an axis with the strip below what is drawn."""
    span = (high - low) or max(abs(high), 1.0)
    high += 0.06 * span
    return high - (high - low + 0.05 * span) / (1.0 - _STRIP), high


def _same_scale(drawn: AxesArray) -> None:
    """Give all panels the scale that fits each of them."""
    intervals = np.array([ax.yaxis.get_data_interval() for ax in drawn])
    for at, ax in enumerate(drawn):
        ax.set_ylim(*_with_strip(float(intervals[:, 0].min()), float(intervals[:, 1].max())))
        if not ax.get_subplotspec().is_first_col() and at:
            ax.set_ylabel("")
