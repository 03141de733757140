"""How a fit went: the objective by sweep, or the noise along the chains."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from csid.fitted.model import LeastSquaresRecord, Model, SamplingRecord, fitted_model
from csid.plots import panels
from csid.plots.labels import number, short
from csid.plots.outputs import Output, output_of
from csid.plots.style import DASHES, INK, SECOND, SERIES, styled


@styled
def convergence(model: Model, *, output: Output = None, ax: Axes | None = None) -> Axes:
    """Draw how a fit went, sweep by sweep.

    For a least-squares fit: the objective and the error on held-out rows, both of standardised targets, for each member
    of the ensemble; a ring marks the selected sweep. For a Bayesian fit: the noise scale along each chain, or for
    classes the log loss on the training rows, with split R-hats in the title; chains under different priors may settle
    at different levels.

    Parameters
    ----------
    model : a fitted csid estimator.
    output : position or name of the output whose noise is drawn, by default the first.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    drawn = output_of(fitted, output)
    ax = panels.one(ax, 5.2, 3.2, lines="y")
    if isinstance(fitted.training, SamplingRecord):
        name = f"noise scale of {short(drawn.name)}" if fitted.classes is None else "log loss, training rows"
        _chains(ax, fitted.training, drawn.position, (fitted.likelihood.monitored, name))
    elif fitted.classes is None:
        _sweeps(ax, fitted.training, "squared error", "mean square, standardised targets")
    else:
        _sweeps(ax, fitted.training, "loss", "loss per row")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    _plain_logarithms(ax)
    ax.set_xlabel("sweep")
    return ax


def _sweeps(ax: Axes, record: LeastSquaresRecord, error: str, name: str) -> None:
    faint = 1.0 if len(record.objective) == 1 else 0.5
    for at, (objective, held_out) in enumerate(zip(record.objective, record.validation, strict=True)):
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
                label=f"{only_first}{error}, held-out rows",
            )
            best = int(np.argmin(held_out))
            ring: dict[str, Any] = {
                "markerfacecolor": "white",
                "markeredgecolor": SECOND,
                "markersize": 7,
                "linestyle": "",
            }
            ax.plot(best + 1, held_out[best], marker="o", label=f"{only_first}selected sweep", **ring)
    ax.set_title("Convergence", loc="left")
    ax.set_ylabel(name)
    ax.legend()


def _chains(ax: Axes, record: SamplingRecord, k: int, names: tuple[str, str]) -> None:
    """names : of what is monitored, in a word and on the axis."""
    for at, trace in enumerate(record.trace):
        kind = at % len(SERIES)
        sweeps = np.arange(1, len(trace) + 1)
        values = trace[:, min(k, trace.shape[1] - 1)]
        ax.plot(sweeps, values, color=SERIES[kind], linestyle=DASHES[kind], linewidth=1.0, label=f"chain {at + 1}")
    noise, predictions = (record.convergence[f"{name}_rhat"] for name in ("noise", "prediction"))
    ax.set_title(f"R-hat: {names[0]} {noise:.2f}, predictions {predictions:.2f}", loc="left")
    ax.set_ylabel(names[1])
    if len(record.trace) <= len(SERIES):
        ax.legend(ncols=2)


def _plain_logarithms(ax: Axes) -> None:
    """A logarithmic scale with plain numbers at its ticks, even within a decade."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 10.0 * low:
        ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
