"""Where the levels of a predictor are on an axis: numbers to scale, categories evenly spaced, missing cells apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from csid.encoding import Mode, OrdinalMode
from csid.explain.effects import main_effects
from csid.fitted.model import FittedModel
from csid.plots.labels import number, short

Array = NDArray[np.float64]
_MOST_CATEGORIES = 20
_MOST_BINS = 40
_GAP = 0.1
_HALF_BAR = 0.35
_LETTERS_PER_INCH, _SLANTED_PER_INCH = 13, 4


@dataclass(frozen=True)
class LevelAxis:
    """The levels of a predictor on an axis.

    shown : (S,) the levels that are drawn, without that of missing cells, in the order of their places.
    places : (S,); labels : of categories and of words in order, None for numbers; left_out : how many categories are
        not drawn.
    linear : whether the prediction is linear between two levels.
    missing : the level of missing cells, or None; missing_place, missing_half : its place and half its width.
    date : whether places are days since 1970.
    """

    shown: NDArray[np.intp]
    places: Array
    labels: list[str] | None
    left_out: int
    linear: bool
    missing: int | None
    missing_place: float
    missing_half: float
    date: bool = False

    @property
    def numeric(self) -> bool:
        return self.labels is None

    @property
    def drawstyle(self) -> Literal["default", "steps-mid"]:
        """Of the curve through the levels: steps if the prediction is that of the nearest level."""
        return "steps-mid" if self.numeric and not self.linear and len(self.shown) > 1 else "default"

    @property
    def edges(self) -> Array:
        """(S + 1,) bounds of the cells around the places, half-way between them."""
        return cell_edges(self.places)

    @property
    def limits(self) -> tuple[float, float]:
        """Of an axis that shows all levels."""
        low, high = self.edges[[0, -1]] if not self.numeric else self.places[[0, -1]]
        margin = 0.03 * (high - low) or 0.5
        return low - margin, high + margin if self.missing is None else self.missing_place + 1.3 * self.missing_half

    def mark(self, axis: Axis) -> None:
        """Label an axis with the levels; categories and the level of missing cells have names."""
        if self.labels is not None:
            places, labels = self.places.tolist(), list(self.labels)
        else:
            low, high = self.places[[0, -1]]
            ticks, label = self._ticks(axis, low, high)
            if self.missing is None:
                return
            places = [at for at in ticks if low <= at <= high - _GAP * (high - low)]
            labels = label(places)
        if self.missing is not None:
            places, labels = [*places, self.missing_place], [*labels, "missing"]
        inches = axis.axes.bbox.width / axis.axes.figure.dpi
        if isinstance(axis, XAxis) and sum(len(label) + 2 for label in labels) > _LETTERS_PER_INCH * inches:
            upright = len(labels) > _SLANTED_PER_INCH * inches
            rotated: dict[str, Any] = {"ha": "right", "va": "center" if upright else "top", "rotation_mode": "anchor"}
            axis.set_ticks(places, labels=labels, rotation=90 if upright else 40, **rotated)
        else:
            axis.set_ticks(places, labels=labels)

    def _ticks(self, axis: Axis, low: float, high: float) -> tuple[Array, Callable[[Sequence[float]], list[str]]]:
        """Give an axis round numbers or dates. Returns those between two places, and a function that labels them."""
        if self.date:
            by_date = AutoDateLocator(minticks=3, maxticks=7)
            dates = ConciseDateFormatter(by_date)
            axis.set_major_locator(by_date)
            axis.set_major_formatter(dates)
            return np.asarray(by_date.tick_values(num2date(low), num2date(high))), dates.format_ticks
        whole = bool((self.places == np.rint(self.places)).all())
        locator = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=whole)
        axis.set_major_locator(locator)
        return np.asarray(locator.tick_values(low, high)), lambda places: [number(place) for place in places]


def levels_of(mode: Mode, p: Array, effect: Array) -> LevelAxis:
    """The levels of a predictor with frequencies p, and the mean prediction at each.

    Categories that are text are sorted by effect; if there are many, only the most frequent ones are drawn.
    """
    n_known = len(mode.grid) if isinstance(mode, OrdinalMode) else len(mode.categories)
    missing = n_known if mode.n_levels > n_known else None
    if isinstance(mode, OrdinalMode) and mode.words:
        shown, words = np.arange(n_known), [short(word, 14) for word in mode.level_names[:n_known]]
        return LevelAxis(shown, shown.astype(float), words, 0, False, missing, n_known + 0.3, 0.5)
    if isinstance(mode, OrdinalMode):
        span = float(mode.grid[-1] - mode.grid[0])
        apart = float(mode.grid[-1]) + (_GAP * span or 1.0)
        half = 0.4 * _GAP * span or 0.4
        return LevelAxis(np.arange(n_known), mode.grid, None, 0, mode.linear, missing, apart, half, mode.date)
    shown = np.sort(np.argsort(-p[:n_known], kind="stable")[:_MOST_CATEGORIES])
    if any(isinstance(category, str) for category in mode.categories):
        shown = shown[np.argsort(effect[shown], kind="stable")]
    labels = [short(mode.categories[i], 14) for i in shown]
    left_out = n_known - len(shown)
    return LevelAxis(shown, np.arange(len(shown), dtype=float), labels, left_out, False, missing, len(shown) + 0.3, 0.5)


def levels_of_predictor(fitted: FittedModel, n: int, k: int) -> LevelAxis:
    """Of predictor n of a model, text sorted by its effect on output k."""
    effect = main_effects(fitted.tensor)[n][:, k]
    return levels_of(fitted.encoding.modes[n], fitted.encoding.marginals[n], effect)


def cell_edges(places: Array) -> Array:
    """Bounds half-way between places; outer cells are symmetric about their place.

    >>> cell_edges(np.array([0.0, 2.0, 3.0])).tolist()
    [-1.0, 1.0, 2.5, 3.5]
    """
    if len(places) < 2:
        return np.array([places[0] - 0.5, places[0] + 0.5]) if len(places) else np.array([-0.5, 0.5])
    middles = 0.5 * (places[1:] + places[:-1])
    return np.array([2.0 * places[0] - middles[0], *middles, 2.0 * places[-1] - middles[-1]])


def density(levels: LevelAxis, p: Array) -> tuple[Array, Array]:
    """The density (B,) of the training rows along the axis, in bins with edges (B + 1,).

    For numbers, bins are equally wide and areas are proportional to frequencies; for categories, heights are.
    """
    mass = p[levels.shown]
    if levels.numeric:
        cells = levels.edges
        edges = np.linspace(cells[0], cells[-1], min(len(mass), _MOST_BINS) + 1)
        heights = np.diff(np.interp(edges, cells, np.concatenate([[0.0], np.cumsum(mass)])))
    else:
        edges = np.ravel(levels.places[:, None] + [-_HALF_BAR, _HALF_BAR])
        heights = np.insert(mass, np.arange(1, len(mass)), 0.0)
    if levels.missing is not None:
        half = levels.missing_half if levels.numeric else _HALF_BAR
        wider = 2.0 * half / (edges[1] - edges[0]) if levels.numeric else 1.0
        edges = np.array([*edges, levels.missing_place - half, levels.missing_place + half])
        heights = np.array([*heights, *([0.0] if len(heights) else []), p[levels.missing] / wider])
    return heights, edges
