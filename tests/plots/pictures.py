"""The pictures that are compared with those in `baseline`, and a command that draws these anew after a wanted change:

PYTHONPATH=tests python -m plots.pictures

Look at what changed before committing it. Versions of matplotlib differ in how they set letters. So axes are given, at
fixed places, and what is written is hidden here; other tests read it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from csid import plots
from plots.models import bayesian, classifier, least_squares, observed, rows, seen

BASELINE = Path(__file__).parent / "baseline"


class Picture(NamedTuple):
    """What is drawn on axes, or on several of them side by side."""

    draw: Callable[[Any], object]
    panels: int = 1

    def figure(self) -> Figure:
        figure, axes = plt.subplots(1, self.panels, figsize=(1.6 + 2.6 * self.panels, 3.0))
        figure.subplots_adjust(left=0.3 / self.panels, right=0.96, bottom=0.26, top=0.86, wspace=0.3)
        self.draw(axes)
        return figure


def _with_observations(draw: Callable[..., Axes], ax: Axes, **options: Any) -> Axes:
    model, X = bayesian(), rows(300)
    return draw(model, X, observed(model, X), ax=ax, **options)


def _with_classes(draw: Callable[..., Axes], ax: Axes, classes: int = 2, **options: Any) -> Axes:
    model, X = classifier(classes), rows(300)
    return draw(model, X, seen(model, X), ax=ax, **options)


PICTURES = {
    "beeswarm": Picture(lambda ax: plots.beeswarm(least_squares(), rows(), ax=ax)),
    "calibration": Picture(lambda ax: _with_observations(plots.calibration, ax)),
    "confusion_matrix": Picture(lambda ax: _with_classes(plots.confusion_matrix, ax, 3)),
    "convergence": Picture(lambda ax: plots.convergence(least_squares(), ax=ax)),
    "convergence_of_chains": Picture(lambda ax: plots.convergence(bayesian(), ax=ax)),
    "effects": Picture(lambda axes: plots.effects(bayesian(), axes=axes), panels=4),
    "effects_on_probability": Picture(lambda axes: plots.effects(classifier(3), axes=axes, output="$van"), panels=4),
    "effects_in_stairs": Picture(lambda axes: plots.effects(least_squares(linear=False), ["heat", 1], axes=axes), 2),
    "factor_curves": Picture(lambda axes: plots.factor_curves(least_squares(), most=3, axes=axes), 3),
    "importance": Picture(lambda ax: plots.importance(least_squares(), ax=ax)),
    "pair": Picture(lambda ax: plots.pair(least_squares(), "heat", "load", ax=ax)),
    "pair_with_categories": Picture(lambda ax: plots.pair(least_squares(), "city", "load", ax=ax)),
    "pit": Picture(lambda ax: _with_observations(plots.calibration, ax, kind="pit")),
    "precision_recall": Picture(lambda ax: _with_classes(plots.precision_recall, ax, label=0)),
    "reliability": Picture(lambda ax: _with_classes(plots.reliability, ax)),
    "residuals": Picture(lambda ax: _with_observations(plots.residuals, ax)),
    "roc": Picture(lambda ax: _with_classes(plots.roc, ax, 3)),
    "waterfall": Picture(lambda ax: plots.waterfall(bayesian(), rows(), 2, ax=ax)),
}


def save(figure: Figure, path: Path) -> None:
    """Write a figure, without its letters."""
    figure.canvas.draw()  # makes the labels of ticks
    for words in (*figure.findobj(Text), *figure.findobj(Legend)):
        words.set_visible(False)
    figure.savefig(path, dpi=50, metadata={"Software": None})
    plt.close(figure)


def draw_all(folder: Path) -> None:
    for name, picture in PICTURES.items():
        with plt.style.context("default"):
            save(picture.figure(), folder / f"{name}.png")


if __name__ == "__main__":
    draw_all(BASELINE)
