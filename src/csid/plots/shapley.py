"""Shapley values of one row, as a waterfall, and of many rows, as a beeswarm."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid.encoding import OrdinalMode
from csid.encoding.columns import Column, read_columns
from csid.encoding.modes import date_of
from csid.explain.shapley import shapley_values
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of
from csid.plots import panels
from csid.plots.labels import number, short, signed
from csid.plots.outputs import Output, output_of
from csid.plots.style import FRAME, INK, MAP, SECOND, SOFT, styled

Array = NDArray[np.float64]

_ROUNDING = 1e-6
_BINS = 60
_WIDEST = 0.4  # of a swarm, on each side of its line


@styled
def waterfall(
    model: Model,
    X: Any,
    row: int = 0,
    *,
    output: Output = None,
    coverage: float = 0.9,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the predictors move the prediction of one row away from the mean prediction.

    Bars lead from the mean prediction at the bottom to the prediction of the row at the top; filled bars raise the
    prediction, hatched bars lower it. Whiskers are intervals over the posterior draws of a Bayesian model.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array; row : which of its rows.
    output : position or name of the output, by default the first; of a classifier, the label of a class.
    coverage : fraction of the posterior draws in an interval.
    most : how many bars; if there are more predictors, one of them is the sum of all others.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    drawn = output_of(fitted, output)
    X = _safe_indexing(fitted.columns.checked(X)[0], [row])
    bayesian = fitted.posterior is not None
    found = shapley_values(model, X, output=drawn.explained, draws=bayesian, coverage=coverage)
    phi, *bounds = (each[0] for each in (found if bayesian else (found,)))
    base = drawn.sign * float(fitted.tensor.mean()[drawn.position])
    labels = [f"{short(name)} = {cell}" for name, cell in zip(fitted.names, _cells(X), strict=True)]

    order = np.argsort(-np.abs(phi), kind="stable")
    own = order if len(order) <= most else order[: most - 1]
    rest = order[len(own) :]
    steps = np.concatenate([[phi[rest].sum()] if len(rest) else [], phi[own[::-1]]])
    starts = base + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    ends = starts + steps
    y = np.arange(len(steps))

    ax = panels.one(ax, 5.6, 1.3 + 0.36 * len(steps), lines="x")
    for up, color, hatch in ((True, INK, ""), (False, SECOND, "/////")):
        some = (steps >= 0) == up
        face = color if up else "white"
        widths = steps[some]
        ax.barh(y[some], widths, 0.62, starts[some], facecolor=face, edgecolor=color, hatch=hatch, linewidth=1.0)
    ax.vlines(ends[:-1], y[:-1] + 0.31, y[1:] - 0.31, color=FRAME, linewidth=0.8)
    beyond = np.maximum(starts, ends)
    if bounds:
        some = slice(len(steps) - len(own), None)
        low, high = (starts[some] + bound[own[::-1]] for bound in bounds)
        whiskers = ax.hlines(y[some], low, high, color="#20262e", linewidth=1.2)
        whiskers.set_path_effects([withStroke(linewidth=3.0, foreground="white")])
        beyond[some] = np.maximum(beyond[some], high)
    for at, (text, place) in enumerate(zip(signed(steps.tolist()), beyond, strict=True)):
        ax.annotate(text, (place, at), (5, 0), textcoords="offset points", va="center", fontsize=8)
    ax.axvline(base, color=SOFT, linewidth=0.9, dashes=(5, 3), zorder=0.5)
    names = [f"{len(rest)} others"] if len(rest) else []
    ax.set_yticks(y, labels=[*names, *(labels[n] for n in own[::-1])])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(steps) - 0.3)
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    end = float(ends[-1])
    predicted, target = drawn.sign * float(fitted.means(X, threads_of(model))[0, drawn.position]), short(drawn.name)
    ax.set_title(f"{target} = {number(end)}{_other_prediction(predicted, end)}", loc="left")
    mean = "mean prediction" if fitted.classes is None else "mean"
    ax.set_xlabel(f"{target} (dashed line: {mean} {number(base)})")
    return ax


@styled
def beeswarm(model: Model, X: Any, *, output: Output = None, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the Shapley values of many rows, a swarm of points for each predictor, the largest mean on top.

    Points are coloured from dark to light by the rank of the predictor's value. Categories have no rank and are open
    circles; missing cells are grey crosses.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N)
    output : position or name of the output, by default the first; of a classifier, the label of a class.
    most : how many predictors.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    drawn = output_of(fitted, output)
    phi = shapley_values(model, X, output=drawn.explained)
    ranks, missing = _ranks(fitted, X)
    shown = np.argsort(-np.abs(phi).mean(axis=0), kind="stable")[:most][::-1]
    widest = float(np.abs(phi[:, shown]).max()) or 1.0

    ax = panels.one(ax, 6.0, 1.2 + 0.42 * len(shown), lines="x")
    ax.axvline(0.0, color=SOFT, linewidth=0.9, zorder=0.5)
    size = float(np.clip(3000.0 / len(phi), 5.0, 20.0))
    shades = None
    for at, n in enumerate(shown):
        places = at + _swarm(phi[:, n], widest)
        absent, ranked = missing[:, n], ~missing[:, n] & np.isfinite(ranks[:, n])
        rest = ~absent & ~ranked
        ax.scatter(phi[absent, n], places[absent], size, c="#8a8f96", marker="x", linewidths=0.7, rasterized=True)
        ax.scatter(phi[rest, n], places[rest], size, facecolors="none", edgecolors=INK, linewidths=0.7, rasterized=True)
        if ranked.any():
            colors = ranks[ranked, n]
            given: dict[str, Any] = {"cmap": MAP, "vmin": 0.0, "vmax": 1.0, "linewidths": 0.0, "rasterized": True}
            shades = ax.scatter(phi[ranked, n], places[ranked], size, c=colors, **given)
    ax.set_yticks(np.arange(len(shown)), labels=[short(fitted.names[n]) for n in shown])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    ax.set_xlabel(f"Shapley value: contribution to {short(drawn.name)}")
    if shades is not None:
        bar = panels.colour_bar(ax, shades, "predictor's value")
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
        bar.ax.tick_params(length=0)
        bar.ax.yaxis.labelpad = -12
    return ax


def _cells(X: Any) -> list[str]:
    """The cells of a table of one row, as text."""
    return [_cell(column) for column in read_columns(X)]


def _cell(column: Column) -> str:
    """The only cell of a column, as text."""
    value = column.values()[0]
    if value is None:
        return "missing"
    if column.is_date:
        return str(date_of(value)).removesuffix(" 00:00:00")
    return number(value) if isinstance(value, float) else short(value, 14)


def _other_prediction(predicted: float, end: float) -> str:
    """A note for the title, if the model predicts missing cells from the observed ones, which Shapley values do not."""
    close = abs(predicted - end) <= _ROUNDING * max(abs(predicted), abs(end), 1e-300)
    return "" if close else f" with missing cells at their marginals,\n{number(predicted)} given the observed cells"


def _ranks(fitted: FittedModel, X: Any) -> tuple[Array, NDArray[np.bool_]]:
    """(M, N) ranks of cells in their column, from 0 to 1, NaN if there is none; and which cells are missing."""
    rows = fitted.encoded(X)
    modes = fitted.encoding.modes
    known = np.array([len(mode.grid if isinstance(mode, OrdinalMode) else mode.categories) for mode in modes])
    missing = rows.codes >= known
    values = rows.codes.astype(np.float64)
    if len(rows.fractions):
        values += rows.fractions
    ranks = np.full(values.shape, np.nan)
    for n, mode in enumerate(modes):
        there = ~missing[:, n]
        if mode.n_ordered and there.any():
            order = np.sort(values[there, n])
            sides = (np.searchsorted(order, values[there, n], side) for side in ("left", "right"))
            ranks[there, n] = sum(sides) / (2.0 * len(order))
    return ranks, missing


def _swarm(x: Array, widest: float) -> Array:
    """(M,) heights that keep points of about the same x apart, within the height of a swarm."""
    bins = np.rint(x / widest * _BINS).astype(int)
    order = np.argsort(bins, kind="stable")
    first = np.searchsorted(bins[order], bins[order])
    layer = np.empty(len(x), dtype=int)
    layer[order] = np.arange(len(x)) - first
    heights = np.where(layer % 2 == 0, -1.0, 1.0) * ((layer + 1) // 2)
    return np.asarray(heights * min(_WIDEST / max(float(np.abs(heights).max()), 1.0), 0.08))
