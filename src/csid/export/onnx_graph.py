"""Predictions and intervals of a described model, as nodes of an ONNX graph.

Everything is in double precision, as csid computes. Only standard operators that ONNX Runtime has for doubles are used.
What depends on the noise comes from the likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from csid.export.onnx_missing_cells import IncompleteRows
from csid.export.onnx_nodes import LookupTable, Value
from csid.fitted.description import CategoricalPredictor, DescribedDraws, ModelDescription, NumericPredictor, Predictor
from csid.likelihoods.location_scale import OnnxNoise

Array = NDArray[np.float64]

OPSET = 19
"""The first version in which `Equal` compares strings."""

MISSING_STRING = ""
"""Marks a missing cell in an input of strings, unless it is a category."""

_STEPS = 120
_CLOSE = 1e-12
_TINY = float(np.finfo(np.float64).tiny)


def outputs(
    model: ModelDescription, columns: Sequence[Value], coverages: Sequence[float] = (), single: bool = False
) -> list[Value]:
    """The prediction (M, K), and for each coverage the lower and the upper bound (M, K) of new observations.

    columns : (M, 1) of each predictor, strings where its categories are strings, else doubles.
    single : keep the factors in single precision.
    """
    draws = model.draws if coverages else None
    prediction, deviations = values(model, columns, draws, single)
    if draws is None or deviations is None:
        return [prediction]
    return [prediction, *_bounds(model, draws, deviations, prediction, coverages)]


def values(
    model: ModelDescription, columns: Sequence[Value], draws: DescribedDraws | None, single: bool
) -> tuple[Value, Value | None]:
    """The value of the system (M, K), and with draws the deviations (M, K, D) of their values from it."""
    classes = model.classes
    if classes is None or (draws is None and not classes.conditional):
        return _prediction(model, _product(_cells(model.predictors, columns, single))), None
    known = [each.rows[:count] for each, count in zip(model.predictors, classes.pmf.levels, strict=True)]
    neutral = [_neutral(*pair) for pair in zip(model.predictors, known, strict=True)]
    cells = _cells(neutral, columns, single)
    incomplete = IncompleteRows.of(classes, [cell.nearest() for cell in cells], _product(cells))
    if classes.conditional:
        components = incomplete.expected(known, single)
    else:
        components = _product(_cells(model.predictors, columns, single))
    prediction = _prediction(model, components)
    if draws is None:
        return prediction, None
    centres = _centres(model, draws, incomplete.drawn([cell.factor for cell in cells], draws))
    mean = (centres * draws.weights).total(2).then("Unsqueeze", np.array([2]))
    return prediction, (centres - mean) * incomplete.factor()


def _prediction(model: ModelDescription, components: Value) -> Value:
    """(M, K), from the products over predictors (M, R) of the rows of their factors."""
    return components @ np.ascontiguousarray(model.V.T) + model.bias


def _neutral(predictor: Predictor, known: Array) -> Predictor:
    """A predictor whose missing and unseen cells have a row of ones, after the rows of observed cells."""
    rows = np.vstack([known, np.ones((1, known.shape[1]))])
    if isinstance(predictor, NumericPredictor):
        return replace(predictor, rows=rows)
    return replace(predictor, rows=rows, missing=len(known))


@dataclass(frozen=True)
class _Cell:
    """Where the cells of a column fall among the levels of its factor.

    row : (M, R) interpolated rows; level : (M,) index of the level below, the last row for a missing cell.
    t : (M,) position towards the next level.
    """

    factor: LookupTable
    row: Value
    level: Value
    t: Value | None = None

    def nearest(self) -> Value:
        return self.level if self.t is None else self.level + self.t.then("Greater", 0.5).cast(TensorProto.INT64)


def _product(cells: Sequence[_Cell]) -> Value:
    product, *others = (cell.row for cell in cells)
    for other in others:
        product = product * other
    return product


def _cells(predictors: Sequence[Predictor], columns: Sequence[Value], single: bool) -> list[_Cell]:
    return [_cell(*pair, single) for pair in zip(predictors, columns, strict=True)]


def _cell(predictor: Predictor, column: Value, single: bool) -> _Cell:
    if isinstance(predictor, NumericPredictor):
        return _cell_of_number(predictor, column, single)
    return _cell_of_category(predictor, column, single)


def _cell_of_number(predictor: NumericPredictor, column: Value, single: bool) -> _Cell:
    x = column.then("Squeeze", np.array([1]))
    missing = x.then("IsNaN")
    factor = LookupTable.of(predictor.rows, column.graph, single)
    last = len(predictor.grid)
    if not predictor.linear:
        at = column.then("Greater", predictor.edges).cast(TensorProto.INT64).total(1)
        level = missing.where(last, at)
        return _Cell(factor, factor.rows(level), level)
    inner = predictor.grid[1:-1]  # beyond the outer levels, t is clipped
    at = column.then("GreaterOrEqual", inner).cast(TensorProto.INT64).total(1)
    start, step = (column.graph.constant(each).then("Gather", at) for each in (predictor.grid, np.diff(predictor.grid)))
    t = missing.where(0.0, ((x - start) / step).then("Clip", 0.0, 1.0))
    t = t.cast(TensorProto.FLOAT).cast(TensorProto.DOUBLE)  # rounded as csid does, docs/decisions/0006
    level = missing.where(last, at)
    lower, upper = factor.rows(level), factor.rows(at + 1)
    return _Cell(factor, lower + t.then("Unsqueeze", np.array([1])) * (upper - lower), level, t)


def _cell_of_category(predictor: CategoricalPredictor, column: Value, single: bool) -> _Cell:
    rows = {category: row for row, category in enumerate(predictor.categories)}
    if predictor.of_strings:
        rows.setdefault(MISSING_STRING, predictor.missing)
    names = np.array(list(rows), dtype=object if predictor.of_strings else np.float64)
    beyond = np.array(list(rows.values())) - predictor.unseen
    at = column.then("Equal", names).where(beyond, 0).total(1) + predictor.unseen
    if not predictor.of_strings:
        at = column.then("Squeeze", np.array([1])).then("IsNaN").where(predictor.missing, at)
    factor = LookupTable.of(predictor.rows, column.graph, single)
    return _Cell(factor, factor.rows(at), at)


def _centres(model: ModelDescription, draws: DescribedDraws, components: Value) -> Value:
    """Values (M, K, D) of the draws, from their components (M, R)."""
    each = components @ _of_each_draw(model, draws)
    shape = np.array([0, len(model.bias), len(draws.weights)])
    return each.then("Reshape", shape) + np.ascontiguousarray(draws.bias.T)


def _bounds(
    model: ModelDescription, draws: DescribedDraws, centres: Value, mean: Value, coverages: Sequence[float]
) -> list[Value]:
    """Quantiles of the mixture of the draws' deviations from their mean, times the calibration factor.

    centres : these deviations (M, K, D); mean : predictions (M, K).
    """
    K = len(model.bias)
    noise: OnnxNoise = draws.likelihood.onnx()
    levels = np.array([0.5 + side * 0.5 * coverage for coverage in coverages for side in (-1.0, 1.0)])
    wanted, scales = levels[:, None, None], np.ascontiguousarray(draws.noise.T)

    at_levels = centres + noise.ppf(levels)[:, None, None, None] * scales  # of each draw, (Q, M, K, D)
    low, high = (at_levels.then(end, np.array([3]), keepdims=0) for end in ("ReduceMin", "ReduceMax"))

    def step(x: Value, low: Value, high: Value, last: Value) -> tuple[Value, ...]:
        """Newton's method inside a shrinking bracket; after a step that does not halve the excess, a bisection."""
        z = (x.then("Unsqueeze", np.array([3])) - centres) / scales
        excess = (noise.cdf(z) * draws.weights).total(3) - wanted
        low, high = excess.then("Less", 0.0).where(x, low), excess.then("Greater", 0.0).where(x, high)
        density = (noise.pdf(z) * (draws.weights / scales)).total(3)
        moved = x - excess / density.then("Max", _TINY)
        inside = moved.then("GreaterOrEqual", low).then("And", moved.then("LessOrEqual", high))
        size = excess.then("Abs")
        halved = size.then("LessOrEqual", last * 0.5)
        new = halved.then("And", inside).where(moved, (low + high) * 0.5)
        wrong = size.then("Greater", _CLOSE)
        some = wrong.cast(TensorProto.INT64).then("ReduceSum", keepdims=0).then("Greater", 0)
        return some, wrong.where(new, x), low, high, halved.where(size, 2.0)

    start = (at_levels * draws.weights).total(3)
    last = start * 0.0 + 2.0  # no excess is larger
    x, *_ = mean.graph.loop(_STEPS, step, [start, low, high, last], [len(levels), None, K])
    bounds = mean + _calibration_factor(draws, mean) * x
    return [bounds.then("Gather", at) for at in range(len(levels))]


def _of_each_draw(model: ModelDescription, draws: DescribedDraws) -> Array:
    """(R, K D): maps the components to the values of each draw, without its bias."""
    mine = draws.owners[:, None] == np.arange(len(draws.ranks))
    weights = model.V.T / draws.weights[draws.owners][:, None]
    return np.asarray(weights[:, :, None] * mine[:, None, :]).reshape(len(weights), -1)


def _calibration_factor(draws: DescribedDraws, mean: Value) -> Value:
    """(M, K) at predicted means (M, K)."""
    steps = np.maximum(np.diff(draws.knots), _TINY)
    inside = ((mean.then("Unsqueeze", np.array([2])) - draws.knots[:, :-1]) / steps).then("Clip", 0.0, 1.0)
    return ((inside * np.diff(draws.log_factors)).total(2) + draws.log_factors[:, 0]).then("Exp")
