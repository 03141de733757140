"""Counterfactuals: the smallest change of one or two predictors that changes a prediction as wanted.

It brings the prediction below or above a value, or makes a class the likeliest. With all other predictors fixed, the
values of the system are linear along each piece of the path of a predictor, and bilinear on each cell of two paths. So
the nearest point at which one condition holds has a closed form, and so has that of several along a path.
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
from csid.explain.goals import Goal, goal_of
from csid.explain.nearest import Point, lowest_corner, nearest_common_point
from csid.explain.outputs import Output
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
    prediction : of the changed row, as `predict` returns it, or the latent value that should pass a value.
    distance : summed over the changes.
    to_class, probability : the class that should become the likeliest, and its probability for the changed row.
    """

    changes: dict[str, tuple[Any, Any]]
    prediction: Any
    distance: float
    to_class: Any = None
    probability: float | None = None

    def __str__(self) -> str:
        changes = [f"{name} from {_shown(old)} to {_shown(new)}" for name, (old, new) in self.changes.items()]
        wanted = "" if self.probability is None else f"probability of {self.to_class} {self.probability:.3g}, "
        result = f"{_shown(self.prediction)} ({wanted}distance {self.distance:.3g})"
        return f"{', '.join(changes) or 'no change'}: {result}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Counterfactuals:
    """The counterfactuals of a row.

    prediction : of the row as it is.
    found : the nearest change of each predictor that suffices alone, by distance; then of each two that together are
        nearer than either of them alone, by distance. A single one without changes if the row needs none.
    furthest : if no change suffices, the one that comes closest; otherwise None.
    """

    prediction: Any
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
    to_class: Any = None,
    output: Output = None,
    features: Feature | Sequence[Feature] | None = None,
    most_changes: int = 2,
) -> Counterfactuals:
    """The smallest changes of one or two predictors that bring a prediction past a value, or change its class.

    Fewer changes come first, then smaller distances. The distance of a change is the fraction of the training rows
    between the old and the new value, which has no units; 1/2 for a category; summed over two changes. The search is
    exact, up to a step of a millionth of a level past the point where the prediction crosses the value.

    A number moves along its grid: anywhere with linear interpolation, to the levels themselves with constant. It is not
    rounded, and does not leave the range of the levels, beyond which the prediction is constant. A category moves to
    any other one seen in training. Missing cells and categories never seen stay as they are, and nothing becomes
    missing. Predictions are those of `predict`, also under a joint distribution of the predictors (`pmf_`).

    A class is reached if `predict` gives it; its probability is that of `predict_proba`. The search uses the latent
    values of the posterior mean, and goes on if `predict` does not confirm what it finds. With three or more classes
    and two changes, one of the two is to a level of its predictor, so the smallest distance may be missed by up to the
    rows between two levels.

    Parameters
    ----------
    model : a fitted csid estimator.
    row : data frame or array with one row; or an array (N,).
    below, above : one of them, the value that the prediction must pass; of a classifier, the latent value of `output`.
    to_class : of a classifier, in place of them the label that must become the likeliest.
    output : the output, if the model has several, by position or name; of a classifier by label.
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

    Of a classifier:

    >>> y = np.where(X[:, 0] + 2 * X[:, 1] > 1.5, "high", "low")
    >>> model = csid.BayesianCSIDClassifier(effort="fast", random_state=0).fit(X, y)
    >>> found = counterfactuals(model, [0.4, 0.4], to_class="high").found
    >>> model.predict([[0.4, found[0].changes["x1"][1]]]).tolist()
    ['high']
    """
    fitted = fitted_model(model)
    goal = goal_of(fitted, below, above, to_class, output)
    if most_changes not in (1, 2):
        raise ValueError(f"most_changes={most_changes}: give 1 or 2.")
    table, n_rows = fitted.columns.checked(_one_row(row))
    if n_rows != 1:
        raise ValueError(f"row has {n_rows} rows: give one.")
    search = _Search(Responses.of(fitted, fitted.encoding.encode(table, 1)), goal, fitted.names)
    now = goal.of_row(search.responses.rows)
    if now.reached:
        same = Counterfactual({}, now.prediction, 0.0, goal.wanted, now.probability)
        return Counterfactuals(now.prediction, (same,), None)
    paths = _paths(search.responses, table, features)
    singles = {n: search.answer({n: path}) for n, path in paths.items()}
    pairs = []
    for i, n in combinations(paths, 2) if most_changes == 2 else ():
        most = _NEARER * min(singles[i].cost, singles[n].cost)
        pairs.append(search.answer({i: paths[i].within(most), n: paths[n].within(most)}))
    nearer = [pair for pair in pairs if pair.cost < _NEARER * min(singles[n].cost for n in pair.paths)]
    reached = [one.found for one in (*singles.values(), *nearer) if one.found is not None]
    found = sorted(reached, key=lambda one: (len(one.changes), one.distance))
    closest = min([*singles.values(), *pairs], key=lambda answer: answer.shortfall)
    if found:
        return Counterfactuals(now.prediction, tuple(found), None)
    furthest, suffices = search.changed(closest.paths, closest.best)
    return Counterfactuals(now.prediction, (furthest,) if suffices else (), None if suffices else furthest)


class _Answer(NamedTuple):
    """The nearest change along some paths that suffices, if any, and its cost.

    shortfall, best : the smallest shortfall on the paths, and where it is.
    """

    paths: Paths
    found: Counterfactual | None
    cost: float
    shortfall: float
    best: Point


@dataclass(frozen=True)
class _Search:
    """Searches for changes of a row."""

    responses: Responses
    goal: Goal
    names: list[str]

    def answer(self, paths: Paths) -> _Answer:
        """The nearest change along one or two paths, if any suffices, and the one that comes closest."""
        contrasts, offsets = self.goal.conditions
        conditions = np.array([self._condition(paths, *each) for each in zip(contrasts, offsets, strict=True)])
        both, worst = (*paths.values(), STILL)[:2], conditions.max(axis=0)
        shortfall, best = float(worst.min()), lowest_corner(worst, *both)
        for margin in self.goal.margins:
            nearest = nearest_common_point(conditions + margin, *both)
            if nearest is None:
                break
            found, reached = self.changed(paths, nearest)
            if reached or len(self.goal.margins) == 1:
                return _Answer(paths, found, nearest.cost, shortfall, best)
        return _Answer(paths, None, np.inf, shortfall, best)

    def _condition(self, paths: Paths, contrast: Array, offset: float) -> Array:
        """(E, E') negative where a condition holds, also after rounding."""
        surface = self.responses.surface(paths, contrast)
        return np.asarray(surface + offset + self.responses.rounding * np.abs(surface).max())

    def changed(self, paths: Paths, point: Point) -> tuple[Counterfactual, bool]:
        """The row at a point, or as little beyond it as it takes to reach the goal, and whether it does."""
        spots = dict(zip(paths, point.spots, strict=False))
        for step in _STEPS:
            places = {n: path.at(spots[n], step) for n, path in paths.items()}
            values = {n: (value, position) for n, (value, position, _) in places.items()}
            verdict = self.goal.of_row(self.responses.row(values))
            if verdict.reached or not any(spot.goes_on for spot in point.spots):
                break
        moved = {n: (paths[n].start, value) for n, (value, _, cost) in places.items() if cost > 0.0}
        modes = self.responses.fitted.encoding.modes
        changes = {self.names[n]: _as_in_tables(modes[n], *values) for n, values in moved.items()}
        distance = sum(cost for _, _, cost in places.values())
        found = Counterfactual(changes, verdict.prediction, distance, self.goal.wanted, verdict.probability)
        return found, verdict.reached


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
