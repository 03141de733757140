"""Importance of predictors, as bars."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from csid.explain.importance import mean_effects
from csid.fitted.model import Model, fitted_model
from csid.plots import panels
from csid.plots.labels import short
from csid.plots.style import INK, SHADE, styled


@styled
def importance(model: Model, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw `feature_importances_`, the share of each predictor in the variance of the prediction, the largest on top.

    Of a classifier, the variance is that of the latent values.
    If there are more than `most` predictors, the last bar is the sum of all others.
    """
    fitted = fitted_model(model)
    shares = mean_effects(fitted.tensor)
    order = np.argsort(-shares, kind="stable")
    own = order if len(order) <= most else order[: most - 1]
    labels = [short(fitted.names[n]) for n in own]
    widths = shares[own].tolist()
    if len(own) < len(order):
        labels.append(f"{len(order) - len(own)} others")
        widths.append(float(shares[order[len(own) :]].sum()))
    colors = [INK] * len(own) + [SHADE] * (len(labels) - len(own))

    ax = panels.one(ax, 4.6, 0.9 + 0.27 * len(labels), lines="x")
    bars = ax.barh(np.arange(len(labels)), widths, 0.66, color=colors)
    ax.bar_label(bars, [f"{width:.1%}" for width in widths], padding=4, fontsize=8)
    ax.set_yticks(np.arange(len(labels)), labels=labels)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.15 * max(widths))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    what = "prediction" if fitted.classes is None else "latent values"
    ax.set_xlabel(f"share of the variance of the {what}")
    return ax
