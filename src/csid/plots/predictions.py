"""How predictions meet observations: calibration of intervals, and residuals."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from csid.inputs import check_targets
from csid.plots import panels
from csid.plots.labels import short
from csid.plots.outputs import Output, of_output, output_of
from csid.plots.style import INK, SECOND, SHADE, SOFT, styled

Array = NDArray[np.float64]

_NOMINAL = np.linspace(0.05, 0.95, 19)
_CHANCE = 1.645  # standard deviations, for nine of ten
_BINS = 10
_MOST_RUNS, _FEWEST_IN_RUN = 24, 25


@styled
def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    kind: Literal["coverage", "pit"] = "coverage",
    output: Output = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw whether predictive intervals hold what they promise, on rows that the model was not fitted to.

    Parameters
    ----------
    model : a fitted `BayesianCSIDRegressor`.
    X, y : rows and what was observed.
    kind : "coverage", the share of rows in intervals of nominal coverage 5 % to 95 %; or "pit", how often
        observations fall in each tenth of their predictive distribution. The shade is what chance alone would do to a
        calibrated model in nine of ten cases.
    output : position or name of the output.
    ax : axes to draw on; by default those of a new figure.
    """
    if kind not in ("coverage", "pit"):
        raise ValueError(f"kind={kind!r}: give 'coverage' or 'pit'.")
    k, target = output_of(model, output)
    if not hasattr(model, "posterior_"):
        raise TypeError(
            f"{type(model).__name__} predicts no intervals that could be calibrated: fit a BayesianCSIDRegressor."
        )
    observed = _observed(y, X, k, model)
    ax = panels.one(ax, 3.8, 3.6)
    draw = _coverage if kind == "coverage" else _pit
    draw(ax, model, X, observed, k)
    ax.set_title(short(target), loc="left")
    return ax


@styled
def residuals(model: Any, X: Any, y: Any, *, output: Output = 0, coverage: float = 0.9, ax: Axes | None = None) -> Axes:
    """Draw what predictions miss by, against the prediction.

    The line is the running median. A Bayesian model adds the band of its predictive intervals, as their median along
    the way, and crosses for the rows outside their own interval.

    Parameters
    ----------
    model : a fitted csid estimator.
    X, y : rows and what was observed.
    output : position or name of the output.
    coverage : of the intervals.
    ax : axes to draw on; by default those of a new figure.
    """
    k, target = output_of(model, output)
    observed = _observed(y, X, k, model)
    predicted = of_output(model, model.predict(X), k)
    missed = observed - predicted
    inside = np.ones(len(missed), dtype=bool)
    ax = panels.one(ax, 5.2, 3.4)
    ax.axhline(0.0, color=SOFT, linewidth=0.9, zorder=0.5)
    along = _runs(predicted, predicted)
    along[[0, -1]] = predicted.min(), predicted.max()
    if hasattr(model, "posterior_"):
        low, high = (of_output(model, bound, k) - predicted for bound in model.predict_interval(X, coverage))
        inside = (low <= missed) & (missed <= high)
        below, above = _runs(predicted, low), _runs(predicted, high)
        ax.fill_between(
            along, below, above, color=SHADE, alpha=0.45, linewidth=0, zorder=0, label=f"{coverage:.0%} interval"
        )
        for bound in (below, above):
            ax.plot(along, bound, color=SOFT, linewidth=0.7, label="_bound")
    size = float(np.clip(6000.0 / len(missed), 3.0, 14.0))
    faint = float(np.clip(800.0 / len(missed), 0.25, 0.8))
    ax.scatter(predicted[inside], missed[inside], size, color=INK, alpha=faint, linewidths=0, rasterized=True)
    if not inside.all():
        label = f"outside: {np.mean(~inside):.1%} of rows"
        outside: dict[str, Any] = {
            "color": SECOND,
            "marker": "x",
            "linewidths": 0.8,
            "alpha": max(faint, 0.6),
            "rasterized": True,
        }
        ax.scatter(predicted[~inside], missed[~inside], 1.5 * size, label=label, **outside)
    ax.plot(along, _runs(predicted, missed), color="#20262e", linewidth=1.4, linestyle="--", label="running median")
    ax.set(xlabel=f"predicted {short(target)}", ylabel="observed − predicted")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3)
    return ax


def _observed(y: Any, X: Any, k: int, model: Any) -> Array:
    """(M,) the observations of an output."""
    _, n_rows = model._checked(X)
    values = check_targets(y, n_rows)
    if (values.ndim == 1) != model._one_output or values.reshape(n_rows, -1).shape[1] != model.cpd_.n_outputs:
        raise ValueError(
            f"y has shape {values.shape}, but the model has {model.cpd_.n_outputs} output(s): give y as for `fit`."
        )
    return of_output(model, values, k)


def _coverage(ax: Axes, model: Any, X: Any, observed: Array, k: int) -> None:
    tails = 0.5 * (1.0 - _NOMINAL)
    quantiles = of_output(model, model.predict_quantiles(X, np.concatenate([tails, 1.0 - tails])), k)
    low, high = np.split(quantiles, 2, axis=1)
    shares = np.mean((low <= observed[:, None]) & (observed[:, None] <= high), axis=0)
    by_chance = np.linspace(0.0, 1.0, 101)
    spread = _CHANCE * np.sqrt(by_chance * (1.0 - by_chance) / len(observed))
    ax.fill_between(by_chance, by_chance - spread, by_chance + spread, color=SHADE, alpha=0.6, linewidth=0)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, dashes=(5, 3), label="calibrated")
    ax.plot(_NOMINAL, shares, color=INK, marker="o", markersize=4, linewidth=1.4, label=f"{len(observed):,} rows")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="nominal coverage", ylabel="rows in their interval", aspect="equal")
    ax.legend(loc="upper left")


def _pit(ax: Axes, model: Any, X: Any, observed: Array, k: int) -> None:
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    quantiles = of_output(model, model.predict_quantiles(X, edges[1:-1]), k)
    tenth = (observed[:, None] > quantiles).sum(axis=1)
    shares = np.bincount(tenth, minlength=_BINS) / len(observed)
    even = 1.0 / _BINS
    spread = _CHANCE * np.sqrt(even * (1.0 - even) / len(observed))
    ax.bar(edges[:-1], shares, even, align="edge", facecolor="#dfe6ed", edgecolor=INK, linewidth=1.0)
    ax.axhspan(even - spread, even + spread, color=SOFT, alpha=0.25, linewidth=0)
    ax.axhline(even, color="#20262e", linewidth=1.0, dashes=(5, 3))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlim=(0, 1), xlabel="place in the predictive distribution", ylabel="share of rows")


def _runs(order: Array, values: Array) -> Array:
    """Medians of values over runs of rows, by the order given."""
    n_runs = int(np.clip(len(order) // _FEWEST_IN_RUN, min(2, len(order)), _MOST_RUNS))
    runs = np.array_split(np.argsort(order, kind="stable"), n_runs)
    return np.array([np.median(values[run]) for run in runs])
