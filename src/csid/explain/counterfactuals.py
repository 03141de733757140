"""Counterfactuals: the smallest change of one or two predictors that brings a prediction below or above a value.

With all other predictors fixed, the prediction is linear along each piece of the path of a predictor, and bilinear on
each cell of two paths. So the nearest point has a closed form, and the search is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.encoding import Mode, OrdinalMode
from csid.encoding.columns import is_table, read_columns
from csid.explain.features import Feature, positions
from csid.explain.nearest import Point, lowest_corner, nearest_point
from csid.explain.paths import STEP, STILL, Path, path_of
from csid.explain.responses import Responses
from csid.fitted.model import Model, fitted_model

Array = NDArray[np.float64]
Paths = dict[int, Path]

_NEARER = 1.0 - 1e-9
_STEPS = tuple(STEP * 4.0**k for k in range(11))


@dataclass(frozen=True, repr=False)
class Counterfactual:
    """The row with some predictors changed.

    changes : by name, the old and the new value of the predictor.
    prediction : of the changed row, as `predict` returns it; distance : summed over the changes.
    """

    changes: dict[str, tuple[Any, Any]]
    prediction: float
    distance: float

    def __str__(self) -> str:
        changes = [f"{name} from {_shown(old)} to {_shown(new)}" for name, (old, new) in self.changes.items()]
        return f"{', '.join(changes) or 'no change'}: {self.prediction:.6g} (distance {self.distance:.3g})"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Counterfactuals:
    """The counterfactuals of a row.

    prediction : of the row as it is.
    found : the nearest change of each predictor that suffices alone, by distance; then of each two that together are
        nearer than either of them alone, by distance. A single one without changes if the row needs none.
    furthest : if no change suffices, the one that comes closest; otherwise None.
    """

    prediction: float
    found: tuple[Counterfactual, ...]
    furthest: Counterfactual | None

    def __str__(self) -> str:
        if self.furthest is not None:
            return f"no change suffices; the closest is {self.furthest}"
        return "\n".join(map(str, self.found))

    __repr__ = __str__


def counterfactuals(
    model: Model,
    row: Any,
    *,
    below: float | None = None,
    above: float | None = None,
    output: int | None = None,
    features: Feature | Sequence[Feature] | None = None,
    most_changes: int = 2,
) -> Counterfactuals:
    """The smallest changes of one or two predictors that bring the prediction of a row below or above a value.

    Fewer changes come first, then smaller distances. The distance of a change is the fraction of the training rows
    between the old and the new value, which has no units; 1/2 for a category; summed over two changes. The search is
    exact, up to a step of a millionth of a level past the point where the prediction crosses the value.

    A number moves along its grid: anywhere with linear interpolation, to the levels themselves with constant. It is not
    rounded, and does not leave the range of the levels, beyond which the prediction is constant. A category moves to
    any other one seen in training. Missing cells and categories never seen stay as they are, and nothing becomes
    missing. Predictions are those of `predict`, also under a joint distribution of the predictors (`pmf_`).

    Parameters
    ----------
    model : a fitted csid estimator.
    row : data frame or array with one row; or an array (N,).
    below, above : one of them, the value that the prediction must pass.
    output : position of the output, if the model has several.
    features : predictors that may change, by name or position; by default all.
    most_changes : 1 or 2, how many may change at a time.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> found = counterfactuals(model, X[0], below=model.predict(X[:1])[0] - 0.1).found
    >>> [list(one.changes) for one in found[:2]]
    [['x1'], ['x0']]
    """
    fitted = fitted_model(model)
    goal = _Goal.of(fitted.n_outputs, below, above, output)
    if most_changes not in (1, 2):
        raise ValueError(f"most_changes={most_changes}: give 1 or 2.")
    table, n_rows = fitted.columns.checked(_one_row(row))
    if n_rows != 1:
        raise ValueError(f"row has {n_rows} rows: give one.")
    search = _Search(Responses.of(fitted, fitted.encoding.encode(table, 1)), goal, fitted.names)
    prediction, reached = goal.of_row(search.responses.predict({}))
    if reached:
        return Counterfactuals(prediction, (Counterfactual({}, prediction, 0.0),), None)
    paths = _paths(search.responses, table, features)
    singles = {n: search.answer({n: path}) for n, path in paths.items()}
    pairs = []
    for i, n in combinations(paths, 2) if most_changes == 2 else ():
        most = _NEARER * min(singles[i].cost, singles[n].cost)
        pairs.append(search.answer({i: paths[i].within(most), n: paths[n].within(most)}))
    nearer = [pair for pair in pairs if pair.cost < _NEARER * min(singles[n].cost for n in pair.paths)]
    points = [(one.paths, one.nearest) for one in (*singles.values(), *nearer) if one.nearest is not None]
    found = sorted((search.changed(*point) for point in points), key=lambda one: (len(one.changes), one.distance))
    closest = min([*singles.values(), *pairs], key=lambda answer: answer.shortfall)
    return Counterfactuals(prediction, tuple(found), None if found else search.changed(closest.paths, closest.best))


class _Answer(NamedTuple):
    """The nearest point along some paths that suffices, if any; the smallest shortfall on them, and where it is."""

    paths: Paths
    nearest: Point | None
    shortfall: float
    best: Point

    @property
    def cost(self) -> float:
        return np.inf if self.nearest is None else self.nearest.cost


@dataclass(frozen=True)
class _Goal:
    """To bring `sign * (prediction - value)`, of one output, below zero."""

    value: float
    sign: float
    output: int

    @classmethod
    def of(cls, n_outputs: int, below: float | None, above: float | None, output: int | None) -> "_Goal":
        if (below is None) == (above is None):
            raise ValueError(
                f"below={below}, above={above}: give one of them, the value that the prediction must pass."
            )
        last = n_outputs - 1
        if output is None and n_outputs > 1:
            raise ValueError(f"output=None: the model has {n_outputs} outputs; give one of them, from 0 to {last}.")
        if not 0 <= (output or 0) < n_outputs:
            raise ValueError(f"output={output}: the model has {n_outputs} output(s); give a number from 0 to {last}.")
        value, sign = (float(below), 1.0) if below is not None else (float(above or 0.0), -1.0)
        if not np.isfinite(value):
            raise ValueError(f"{'below' if sign > 0 else 'above'}={value}: give a finite number.")
        return cls(value, sign, output or 0)

    def shortfall(self, values: Array) -> Array:
        """Negative once the goal is reached."""
        return np.asarray(self.sign * (values - self.value))

    def of_row(self, prediction: Array) -> tuple[float, bool]:
        """The output in question of a prediction (K,), and whether it has passed the value."""
        return float(prediction[self.output]), bool(self.shortfall(prediction[self.output]) < 0.0)


@dataclass(frozen=True)
class _Search:
    """Searches for changes of a row."""

    responses: Responses
    goal: _Goal
    names: list[str]

    def answer(self, paths: Paths) -> _Answer:
        """The nearest change along one or two paths, if any suffices, and the one that comes closest."""
        surface = self.responses.surface(paths, self.goal.output)
        g = self.goal.shortfall(surface) + self.responses.rounding * np.abs(surface).max()
        both = (*paths.values(), STILL)[:2]
        return _Answer(paths, nearest_point(g, *both), float(g.min()), lowest_corner(g, *both))

    def changed(self, paths: Paths, point: Point) -> Counterfactual:
        """The row at a point, or as little beyond it as it takes to reach the goal."""
        spots = dict(zip(paths, point.spots, strict=False))
        for step in _STEPS:
            places = {n: path.at(spots[n], step) for n, path in paths.items()}
            values = {n: (value, position) for n, (value, position, _) in places.items()}
            prediction, reached = self.goal.of_row(self.responses.predict(values))
            if reached or not any(spot.goes_on for spot in point.spots):
                break
        moved = {n: (paths[n].start, value) for n, (value, _, cost) in places.items() if cost > 0.0}
        modes = self.responses.fitted.encoding.modes
        changes = {self.names[n]: _as_in_tables(modes[n], *values) for n, values in moved.items()}
        return Counterfactual(changes, prediction, sum(cost for _, _, cost in places.values()))


def _one_row(row: Any) -> Any:
    """A table of one row, which may be given as a sequence of its cells."""
    if is_table(row) or np.ndim(row) != 1:
        return row
    return np.asarray(row)[None] if hasattr(row, "dtype") else [row]


def _paths(responses: Responses, table: Any, features: Feature | Sequence[Feature] | None) -> Paths:
    """Of the predictors that may change; missing cells cannot."""
    fitted = responses.fitted
    encoding, names = fitted.encoding, fitted.names
    given = range(len(names)) if features is None else sorted(set(positions(fitted, features)))
    start = {n: responses.position(n) for n in given}
    fixed = [names[n] for n, position in start.items() if position is None]
    movable = {n: position for n, position in start.items() if position is not None}
    if fixed and features is not None:
        raise ValueError(f"features: {fixed[0]!r} is missing in the row, or a category never seen: it cannot change.")
    if not movable:
        raise ValueError("row: all of its predictors are missing, so none can change.")
    columns = list(read_columns(table))
    halves = responses.pmf is not None
    return {
        n: path_of(encoding.modes[n], columns[n], position, encoding.marginals[n], fitted.n_samples, halves)
        for n, position in movable.items()
    }


def _as_in_tables(mode: Mode, old: Any, new: Any) -> tuple[Any, Any]:
    """Two values of a predictor, numbers that stand for words or dates as these."""
    return (mode.value_of(old), mode.value_of(new)) if isinstance(mode, OrdinalMode) else (old, new)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
