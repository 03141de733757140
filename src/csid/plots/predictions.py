"""Predictions against observations: calibration of intervals, and residuals."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from csid.data.checks import check_targets
from csid.explain.bands import check_coverage
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of
from csid.plots import panels
from csid.plots.labels import short
from csid.plots.outputs import DrawnOutput, Output, of_output, output_of
from csid.plots.style import INK, SECOND, SHADE, SOFT, styled

Array = NDArray[np.float64]

_NOMINAL = np.linspace(0.05, 0.95, 19)
_BOUNDS = np.concatenate([0.5 * (1.0 - _NOMINAL), 1.0 - 0.5 * (1.0 - _NOMINAL)])
_TENTHS = np.linspace(0.0, 1.0, 11)
_CHANCE = 1.645  # standard deviations, for a probability of 90 %
_MOST_RUNS, _FEWEST_IN_RUN = 24, 25


@styled
def calibration(
    model: Model,
    X: Any,
    y: Any,
    *,
    kind: Literal["coverage", "pit"] = "coverage",
    output: Output = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how well predictive distributions are calibrated, on rows that the model was not fitted to.

    Parameters
    ----------
    model : a fitted `BayesianCSIDRegressor`.
    X, y : rows and their targets.
    kind : "coverage", the fraction of rows inside intervals of nominal coverage 5 % to 95 %; or "pit", a histogram of
        the predictive distribution function at the observations (the probability integral transform). For a calibrated
        model, each point or bar ends inside the shade with a probability of 90 %.
    output : position or name of the output, by default the first.
    ax : axes to draw on; by default those of a new figure.
    """
    if kind not in ("coverage", "pit"):
        raise ValueError(f"kind={kind!r}: give 'coverage' or 'pit'.")
    fitted = fitted_model(model)
    _check_numeric(fitted, "plots.calibration")
    drawn = output_of(fitted, output)
    fitted.require_posterior("plots.calibration")
    observed = _observed(fitted, X, y, drawn)
    probabilities = _BOUNDS if kind == "coverage" else _TENTHS[1:-1]
    quantiles = _quantiles(fitted, X, drawn.position, probabilities, threads_of(model))
    ax = panels.one(ax, 3.8, 3.6)
    draw = _coverage if kind == "coverage" else _pit
    draw(ax, observed, quantiles)
    ax.set_title(short(drawn.name), loc="left")
    return ax


@styled
def residuals(
    model: Model, X: Any, y: Any, *, output: Output = None, coverage: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Draw residuals against predictions.

    The line is the running median. A Bayesian model adds the band of its predictive intervals, as running medians of
    their bounds, and crosses for the rows outside their own interval.

    Parameters
    ----------
    model : a fitted csid estimator.
    X, y : rows and their targets.
    output : position or name of the output, by default the first.
    coverage : of the intervals.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    _check_numeric(fitted, "plots.residuals")
    check_coverage(coverage)
    drawn = output_of(fitted, output)
    observed = _observed(fitted, X, y, drawn)
    predicted = fitted.means(X, threads_of(model))[:, drawn.position]
    residual = observed - predicted
    inside = np.ones(len(residual), dtype=bool)
    ax = panels.one(ax, 5.2, 3.4)
    ax.axhline(0.0, color=SOFT, linewidth=0.9, zorder=0.5)
    along = _runs(predicted, predicted)
    along[[0, -1]] = predicted.min(), predicted.max()
    if fitted.posterior is not None:
        tails = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        low, high = _quantiles(fitted, X, drawn.position, tails, threads_of(model)).T - predicted
        inside = (low <= residual) & (residual <= high)
        below, above = _runs(predicted, low), _runs(predicted, high)
        ax.fill_between(
            along, below, above, color=SHADE, alpha=0.45, linewidth=0, zorder=0, label=f"{coverage:.0%} interval"
        )
        for bound in (below, above):
            ax.plot(along, bound, color=SOFT, linewidth=0.7, label="_bound")
    size = float(np.clip(6000.0 / len(residual), 3.0, 14.0))
    faint = float(np.clip(800.0 / len(residual), 0.25, 0.8))
    ax.scatter(predicted[inside], residual[inside], size, color=INK, alpha=faint, linewidths=0, rasterized=True)
    if not inside.all():
        label = f"outside the interval: {np.mean(~inside):.1%} of rows"
        outside: dict[str, Any] = {
            "color": SECOND,
            "marker": "x",
            "linewidths": 0.8,
            "alpha": max(faint, 0.6),
            "rasterized": True,
        }
        ax.scatter(predicted[~inside], residual[~inside], 1.5 * size, label=label, **outside)
    ax.plot(along, _runs(predicted, residual), color="#20262e", linewidth=1.4, linestyle="--", label="running median")
    ax.set(xlabel=f"predicted {short(drawn.name)}", ylabel="observed − predicted")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3)
    return ax


def _check_numeric(fitted: FittedModel, what: str) -> None:
    if fitted.classes is not None:
        raise TypeError(f"{what} is of numeric targets, but {fitted.estimator} has classes: use plots.reliability.")
    if fitted.likelihood.target not in ("number", "interval"):
        raise TypeError(f"{what} does not support likelihood={fitted.likelihood.name!r} yet: give a model of numbers.")


def _observed(fitted: FittedModel, X: Any, y: Any, drawn: DrawnOutput) -> Array:
    """(M,) the observations of an output."""
    _, n_rows = fitted.columns.checked(X)
    values = check_targets(y, n_rows)
    if (values.ndim == 1) != fitted.one_output or values.reshape(n_rows, -1).shape[1] != fitted.n_outputs:
        raise ValueError(
            f"y has shape {values.shape}, but the model has {fitted.n_outputs} output(s): give y as for `fit`."
        )
    return of_output(fitted, values, drawn)


def _quantiles(fitted: FittedModel, X: Any, k: int, probabilities: Sequence[float] | Array, n_threads: int) -> Array:
    """(M, Q) predictive quantiles of an output."""
    predictives = fitted.mixtures(X, n_threads)
    return np.concatenate(
        [np.stack([one.ppf(float(q))[:, k] for q in probabilities], axis=1) for _, one in predictives]
    )


def _coverage(ax: Axes, observed: Array, quantiles: Array) -> None:
    low, high = np.split(quantiles, 2, axis=1)
    covered = np.mean((low <= observed[:, None]) & (observed[:, None] <= high), axis=0)
    nominal = np.linspace(0.0, 1.0, 101)
    margin = _CHANCE * np.sqrt(nominal * (1.0 - nominal) / len(observed))
    ax.fill_between(nominal, nominal - margin, nominal + margin, color=SHADE, alpha=0.6, linewidth=0)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, dashes=(5, 3), label="calibrated")
    ax.plot(_NOMINAL, covered, color=INK, marker="o", markersize=4, linewidth=1.4, label=f"{len(observed):,} rows")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="nominal coverage", ylabel="observed coverage", aspect="equal")
    ax.legend(loc="upper left")


def _pit(ax: Axes, observed: Array, quantiles: Array) -> None:
    tenth = (observed[:, None] > quantiles).sum(axis=1)
    n_bins = len(_TENTHS) - 1
    fractions = np.bincount(tenth, minlength=n_bins) / len(observed)
    even = 1.0 / n_bins
    margin = _CHANCE * np.sqrt(even * (1.0 - even) / len(observed))
    ax.bar(_TENTHS[:-1], fractions, even, align="edge", facecolor="#dfe6ed", edgecolor=INK, linewidth=1.0)
    ax.axhspan(even - margin, even + margin, color=SOFT, alpha=0.25, linewidth=0)
    ax.axhline(even, color="#20262e", linewidth=1.0, dashes=(5, 3))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlim=(0, 1), xlabel="predictive CDF at the observation", ylabel="fraction of rows")


def _runs(order: Array, values: Array) -> Array:
    """Medians of values over runs of rows that are sorted by `order`."""
    n_runs = int(np.clip(len(order) // _FEWEST_IN_RUN, min(2, len(order)), _MOST_RUNS))
    runs = np.array_split(np.argsort(order, kind="stable"), n_runs)
    return np.array([np.median(values[run]) for run in runs])
