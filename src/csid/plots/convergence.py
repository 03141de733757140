"""How a fit went: the objective by sweep, or the noise along the chains."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from csid.plots import panels
from csid.plots.labels import number, short
from csid.plots.outputs import Output, output_of
from csid.plots.style import DASHES, INK, SECOND, SERIES, styled


@styled
def convergence(model: Any, *, output: Output = 0, ax: Axes | None = None) -> Axes:
    """Draw how a fit went, sweep by sweep.

    Of a `CSIDRegressor`, the objective and the error of held-out rows, both of standardised targets, for each member;
    a ring is at the sweep that was kept. Of a `BayesianCSIDRegressor`, the scale of the noise along each chain, with
    split R-hats in the title; chains under different priors may settle at different levels.

    Parameters
    ----------
    model : a fitted csid estimator.
    output : position or name of the output whose noise is drawn.
    ax : axes to draw on; by default those of a new figure.
    """
    k, target = output_of(model, output)
    ax = panels.one(ax, 5.2, 3.2, lines="y")
    if hasattr(model, "posterior_"):
        _chains(ax, model, k, target)
    else:
        _sweeps(ax, model)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    _plain_logarithms(ax)
    ax.set_xlabel("sweep")
    return ax


def _sweeps(ax: Axes, model: Any) -> None:
    objectives, validations = model.objective_history_, model.validation_history_
    faint = 1.0 if len(objectives) == 1 else 0.5
    for at, (objective, held_out) in enumerate(zip(objectives, validations, strict=True)):
        only_first = "" if at == 0 else "_"
        sweeps = np.arange(1, len(objective) + 1)
        ax.plot(sweeps, objective, color=INK, alpha=faint, label=f"{only_first}objective, training rows")
        if len(held_out):
            ax.plot(
                np.arange(1, len(held_out) + 1),
                held_out,
                color=SECOND,
                linestyle="--",
                alpha=faint,
                label=f"{only_first}squared error, held-out rows",
            )
            best = int(np.argmin(held_out))
            ring: dict[str, Any] = {
                "markerfacecolor": "white",
                "markeredgecolor": SECOND,
                "markersize": 7,
                "linestyle": "",
            }
            ax.plot(best + 1, held_out[best], marker="o", label=f"{only_first}sweep that was kept", **ring)
    ax.set_title("Convergence", loc="left")
    ax.set_ylabel("mean square, standardised")
    ax.legend()


def _chains(ax: Axes, model: Any, k: int, target: str) -> None:
    for at, history in enumerate(model.history_):
        kind = at % len(SERIES)
        sweeps = np.arange(1, len(history) + 1)
        ax.plot(
            sweeps, history[:, k], color=SERIES[kind], linestyle=DASHES[kind], linewidth=1.0, label=f"chain {at + 1}"
        )
    noise, predictions = (model.convergence_[f"{name}_rhat"] for name in ("noise", "prediction"))
    ax.set_title(f"R-hat {noise:.2f} of the noise, {predictions:.2f} of predictions", loc="left")
    ax.set_ylabel(f"scale of the noise of {short(target)}")
    if len(model.history_) <= len(SERIES):
        ax.legend(ncols=2)


def _plain_logarithms(ax: Axes) -> None:
    """A logarithmic scale whose ticks are plain numbers, also within a decade."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 10.0 * low:
        ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
