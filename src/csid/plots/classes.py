"""How good predicted classes and their probabilities are: reliability, ROC, precision and recall, confusions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from csid.explain.outputs import index_of_label
from csid.fitted.class_curves import Curve, ReliabilityCurve, precision_recall_curve, reliability_curve, roc_curve
from csid.fitted.class_metrics import confusion_matrix as confusions
from csid.fitted.class_names import class_names
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of
from csid.plots import panels
from csid.plots.labels import short
from csid.plots.outputs import classes_of
from csid.plots.style import DASHES, INK, SERIES, SHADE, SOFT, styled

Array = NDArray[np.float64]
Classes = NDArray[np.intp]

_SMALLEST_POINT, _LARGEST_POINT = 12.0, 90.0
_MOST_NUMBERS = 20  # classes whose confusions are written in the cells


@styled
def reliability(model: Model, X: Any, y: Any, *, label: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how often rows are of a class against its predicted probability, on rows that the model was not fitted to.

    A point is a bin of rows with similar probabilities, larger for more rows. For a calibrated model, each point is on
    its bar with a probability of 95 %.

    Parameters
    ----------
    model : a fitted csid classifier.
    X, y : rows and their classes.
    label : of the class. Default: the second of two classes; of several, the likeliest class of each row.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    names, seen, p = _predicted(fitted, X, y, threads_of(model), "plots.reliability")
    ax = panels.one(ax, 3.8, 3.6)
    if label is None and p.shape[1] > 2:
        found = reliability_curve(p.argmax(axis=1) == seen, p.max(axis=1))
        title, across, up = "likeliest class", "predicted probability", "fraction that is right"
    else:
        k = 1 if label is None else index_of_label(classes_of(fitted, "plots.reliability"), label, "label")
        found = reliability_curve(seen == k, p[:, k])
        title, across, up = names[k], "predicted probability", "fraction of rows"
    _reliability(ax, found)
    ax.set_title(short(title), loc="left")
    ax.set(xlabel=across, ylabel=up)
    return ax


@styled
def roc(model: Model, X: Any, y: Any, *, label: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the true positive rate of a class, against all others, for every false positive rate.

    Parameters
    ----------
    model : a fitted csid classifier.
    X, y : rows and their classes.
    label : of the class. Default: the second of two classes; of several, each of the six most frequent in y.
    ax : axes to draw on; by default those of a new figure. The legend has the area under the curve.
    """
    ax, _ = _curves(model, X, y, label, ax, roc_curve)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, dashes=(5, 3), label="_guessing")
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.legend(loc="lower right", title="area", title_fontsize=8)
    return ax


@styled
def precision_recall(model: Model, X: Any, y: Any, *, label: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the precision of a class, against all others, for every recall.

    Parameters
    ----------
    model : a fitted csid classifier.
    X, y : rows and their classes.
    label : of the class. Default: the second of two classes; of several, each of the six most frequent in y.
    ax : axes to draw on; by default those of a new figure. The legend has the average precision, and the dashed line is
        the frequency of a single class, the precision of guessing.
    """
    ax, frequencies = _curves(model, X, y, label, ax, precision_recall_curve)
    if len(frequencies) == 1:
        ax.axhline(frequencies[0], color=SOFT, linewidth=0.9, dashes=(5, 3), label="_guessing")
    ax.set(xlabel="recall", ylabel="precision")
    ax.legend(loc="lower left", title="average precision", title_fontsize=8)
    return ax


@styled
def confusion_matrix(model: Model, X: Any, y: Any, *, fractions: bool = False, ax: Axes | None = None) -> Axes:
    """Draw how many rows of each class are predicted to be of each class.

    Parameters
    ----------
    model : a fitted csid classifier.
    X, y : rows and their classes.
    fractions : draw fractions of the rows of each class, instead of counts.
    ax : axes to draw on; by default those of a new figure.
    """
    fitted = fitted_model(model)
    names, seen, p = _predicted(fitted, X, y, threads_of(model), "plots.confusion_matrix")
    C = len(names)
    values = confusions(seen, p.argmax(axis=1), C)
    if fractions:
        values = values / np.maximum(values.sum(axis=1, keepdims=True), 1.0)
    ax = panels.one(ax, 2.0 + 0.4 * min(C, 16), 1.6 + 0.4 * min(C, 16))
    ax.imshow(values, cmap="Blues", vmin=0.0, vmax=2.0 * max(values.max(), 1e-12))  # so that numbers can be read
    if C <= _MOST_NUMBERS:
        for i, j in np.argwhere(values > 0.0):
            text = f"{values[i, j]:.0%}" if fractions else f"{values[i, j]:,.0f}"
            ax.text(j, i, text, ha="center", va="center", fontsize=8)
    labels = [short(name, 14) for name in names]
    ax.set_xticks(range(C), labels=labels, rotation=0 if C <= 4 else 90)
    ax.set_yticks(range(C), labels=labels)
    ax.tick_params(length=0)
    ax.set(xlabel="class predicted", ylabel="class seen")
    return ax


def _predicted(
    fitted: FittedModel, X: Any, y: Any, n_threads: int, what: str
) -> tuple[tuple[str, ...], Classes, Array]:
    """The names of the classes, the class of each row (M,), and probabilities (M, C)."""
    classes = classes_of(fitted, what)
    _, n_rows = fitted.columns.checked(X)
    seen = classes.read(y, n_rows).astype(np.intp)
    return class_names(classes.labels, fitted.class_target), seen, fitted.class_probabilities(X, n_threads)


def _reliability(ax: Axes, found: ReliabilityCurve) -> None:
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, dashes=(5, 3), label="calibrated")
    ax.vlines(found.predicted, found.low, found.high, color=SHADE, alpha=0.6, linewidth=5)
    sizes = _SMALLEST_POINT + (_LARGEST_POINT - _SMALLEST_POINT) * found.rows / found.rows.max()
    ax.scatter(found.predicted, found.observed, sizes, color=INK, zorder=3, label=f"{found.rows.sum():,} rows")
    _in_the_unit_square(ax)
    ax.legend(loc="upper left")


def _curves(
    model: Model,
    X: Any,
    y: Any,
    label: Any,
    ax: Axes | None,
    curve_of: Callable[[NDArray[np.bool_], Array], Curve | None],
) -> tuple[Axes, list[float]]:
    """Draw the curve of each class against all others. Returns the frequencies of the classes too."""
    fitted = fitted_model(model)
    what = f"plots.{curve_of.__name__.removesuffix('_curve')}"
    names, seen, p = _predicted(fitted, X, y, threads_of(model), what)
    if label is not None:
        chosen = [index_of_label(classes_of(fitted, what), label, "label")]
    elif len(names) == 2:
        chosen = [1]
    else:
        counts = np.bincount(seen, minlength=len(names))
        chosen = sorted(np.argsort(-counts, kind="stable")[: min(len(SERIES), int((counts > 0).sum()))].tolist())
    ax = panels.one(ax, 3.8, 3.6)
    for at, k in enumerate(chosen):
        found = curve_of(seen == k, p[:, k])
        if found is None:
            raise ValueError(f"y has {'only' if (seen == k).any() else 'no'} rows of class {names[k]!r}: add rows.")
        style: dict[str, Any] = {"color": SERIES[at], "linestyle": DASHES[at], "linewidth": 1.5}
        ax.plot(found.x, found.y, label=f"{short(names[k], 14)}: {found.area:.3f}", **style)
    _in_the_unit_square(ax)
    return ax, [float(np.mean(seen == k)) for k in chosen]


def _in_the_unit_square(ax: Axes) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
