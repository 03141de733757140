"""Predictions and intervals of a described model, as nodes of an ONNX graph.

Everything is in double precision, as csid computes. Only operators of the standard set are used, such that ONNX Runtime
has them for doubles: it has no `Erf` of doubles, so the normal distribution function is written out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto
from scipy.special import ndtri, stdtrit

from csid.description import Category, Description, Draws, Number, Predictor
from csid.export.onnx_missing_cells import Lacking
from csid.export.onnx_nodes import Table, Value

Array = NDArray[np.float64]

OPSET = 19
"""The first in which `Equal` compares strings."""

MISSING_STRING = ""
"""What stands for a missing cell in an input of strings, unless it is a category."""

_NEWTON_STEPS = 60
_CLOSE = 1e-12
_TINY = float(np.finfo(np.float64).tiny)

# Algorithm 5666 of Hart (1968), after West (2005), "Better approximations to cumulative normal functions"; coefficients
# from that of the highest power, for sizes of any z: beyond 7, where West has a fraction, both tails are below 1e-12.
_HART_ABOVE = (
    3.52624965998911e-02,
    0.700383064443688,
    6.37396220353165,
    33.912866078383,
    112.079291497871,
    221.213596169931,
    220.206867912376,
)
_HART_BELOW = (
    8.83883476483184e-02,
    1.75566716318264,
    16.064177579207,
    86.7807322029461,
    296.564248779674,
    637.333633378831,
    793.826512519948,
    440.413735824752,
)


def outputs(
    model: Description, columns: Sequence[Value], coverages: Sequence[float] = (), single: bool = False
) -> list[Value]:
    """The prediction (M, K), and for each coverage the lower and the upper bound (M, K) of new observations.

    columns : (M, 1) of each predictor, strings where its categories are strings, else doubles.
    single : keep the factors in single precision.
    """
    draws = model.draws if coverages else None
    q, drawn = _components(model, draws, columns, single)
    prediction = q @ np.ascontiguousarray(model.V.T) + model.bias
    return [prediction] if draws is None else [prediction, *_bounds(model, draws, drawn, prediction, coverages)]


def _components(model: Description, draws: Draws | None, columns: Sequence[Value], single: bool) -> tuple[Value, Value]:
    """(M, R): the product, over predictors, of the rows of their factors; for the prediction, and for the draws."""
    if model.classes is None:
        product = _product([_cell(*pair, single) for pair in zip(model.predictors, columns, strict=True)])
        return product, product
    neutral = [replace(each, rows=np.vstack([each.rows[:-1], np.ones(model.V.shape[1])])) for each in model.predictors]
    cells = [_cell(*pair, single) for pair in zip(neutral, columns, strict=True)]
    lacking = Lacking.of(model.classes, [cell.nearest() for cell in cells], _product(cells))
    expected = lacking.expected([each.rows[:-1] for each in model.predictors], single)
    return expected, expected if draws is None else lacking.drawn([cell.factor for cell in cells], draws)


@dataclass(frozen=True)
class _Cell:
    """Where the cells of a column fall.

    factor : the rows that may be taken; row : (M, R) that is; level : (M,) below, the last of all for a missing cell;
    t : (M,) position towards the next.
    """

    factor: Table
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


def _cell(predictor: Predictor, column: Value, single: bool) -> _Cell:
    if isinstance(predictor, Number):
        return _cell_of_number(predictor, column, single)
    return _cell_of_category(predictor, column, single)


def _cell_of_number(predictor: Number, column: Value, single: bool) -> _Cell:
    x = column.then("Squeeze", np.array([1]))
    missing = x.then("IsNaN")
    factor = Table.of(predictor.rows, column.graph, single)
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


def _cell_of_category(predictor: Category, column: Value, single: bool) -> _Cell:
    rows = {category: row for row, category in enumerate(predictor.categories)}
    if predictor.of_strings:
        rows.setdefault(MISSING_STRING, predictor.missing)
    names = np.array(list(rows), dtype=object if predictor.of_strings else np.float64)
    beyond = np.array(list(rows.values())) - predictor.unseen
    at = column.then("Equal", names).where(beyond, 0).total(1) + predictor.unseen
    if not predictor.of_strings:
        at = column.then("Squeeze", np.array([1])).then("IsNaN").where(predictor.missing, at)
    factor = Table.of(predictor.rows, column.graph, single)
    return _Cell(factor, factor.rows(at), at)


def _bounds(model: Description, draws: Draws, q: Value, mean: Value, coverages: Sequence[float]) -> list[Value]:
    """Quantiles of the draws' deviations from their mean, which are a mixture, times the spread.

    q : components (M, R) of the draws; mean : predictions (M, K).
    """
    K, D = len(model.bias), len(draws.shares)
    noise = _STUDENT if math.isfinite(draws.degrees_of_freedom) else _NORMAL
    levels = np.array([0.5 + side * 0.5 * coverage for coverage in coverages for side in (-1.0, 1.0)])
    wanted, scales = levels[:, None, None], np.ascontiguousarray(draws.noise.T)

    each = (q @ _of_each_draw(model, draws)).then("Reshape", np.array([0, K, D])) + np.ascontiguousarray(draws.bias.T)
    own = mean if model.classes is None else (each * draws.shares).total(2)  # cells filled in are not the expected ones
    centres = each - own.then("Unsqueeze", np.array([2]))
    at_levels = centres + noise.quantile(levels)[:, None, None, None] * scales  # of each draw, (Q, M, K, D)
    low, high = (at_levels.then(end, np.array([3]), keepdims=0) for end in ("ReduceMin", "ReduceMax"))

    def step(x: Value, low: Value, high: Value) -> tuple[Value, ...]:
        """Newton's method inside a shrinking bracket."""
        z = (x.then("Unsqueeze", np.array([3])) - centres) / scales
        excess = (noise.below(z) * draws.shares).total(3) - wanted
        low, high = excess.then("Less", 0.0).where(x, low), excess.then("Greater", 0.0).where(x, high)
        density = (noise.density(z) * (draws.shares / scales)).total(3)
        moved = x - excess / density.then("Max", _TINY)
        inside = moved.then("GreaterOrEqual", low).then("And", moved.then("LessOrEqual", high))
        new = inside.where(moved, (low + high) * 0.5)
        wrong = excess.then("Abs").then("Greater", _CLOSE)
        some = wrong.cast(TensorProto.INT64).then("ReduceSum", keepdims=0).then("Greater", 0)
        return some, wrong.where(new, x), low, high

    start = (at_levels * draws.shares).total(3)
    x, _, _ = q.graph.loop(_NEWTON_STEPS, step, [start, low, high], [len(levels), None, K])
    bounds = mean + _spread(draws, mean) * x
    return [bounds.then("Gather", at) for at in range(len(levels))]


def _of_each_draw(model: Description, draws: Draws) -> Array:
    """(R, K D): what takes the components to the values of each draw, less its bias."""
    mine = draws.owners[:, None] == np.arange(len(draws.ranks))
    weights = model.V.T / draws.shares[draws.owners][:, None]
    return np.asarray(weights[:, :, None] * mine[:, None, :]).reshape(len(weights), -1)


def _spread(draws: Draws, mean: Value) -> Value:
    """The factor (M, K) on deviations from a mean."""
    steps = np.maximum(np.diff(draws.knots), _TINY)
    inside = ((mean.then("Unsqueeze", np.array([2])) - draws.knots[:, :-1]) / steps).then("Clip", 0.0, 1.0)
    return ((inside * np.diff(draws.logs)).total(2) + draws.logs[:, 0]).then("Exp")


@dataclass(frozen=True)
class _Noise:
    """Distribution function and density of values, and quantiles of numbers, for noise of scale one."""

    below: Callable[[Value], Value]
    density: Callable[[Value], Value]
    quantile: Callable[[Array], Array]


def _normal_below(z: Value) -> Value:
    size = z.then("Abs").then("Min", 40.0)
    tail = (size * size * -0.5).then("Exp") * _polynomial(_HART_ABOVE, size) / _polynomial(_HART_BELOW, size)
    return z.then("Less", 0.0).where(tail, 1.0 - tail)


def _normal_density(z: Value) -> Value:
    return (z * z * -0.5).then("Exp") * (1.0 / math.sqrt(2.0 * math.pi))


def _student_below(z: Value) -> Value:
    clipped = z.then("Clip", -1e30, 1e30)
    s = clipped / (clipped * clipped + 4.0).then("Sqrt")
    return s * (3.0 - s * s) * 0.25 + 0.5


def _student_density(z: Value) -> Value:
    c = (z * z * 0.25 + 1.0).then("Reciprocal")
    return c * c * c.then("Sqrt") * 0.375


def _polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """By Horner's rule, from the coefficient of the highest power."""
    highest, following, *others = coefficients
    value = x * highest + following
    for coefficient in others:
        value = value * x + coefficient
    return value


_NORMAL = _Noise(_normal_below, _normal_density, ndtri)
_STUDENT = _Noise(_student_below, _student_density, lambda q: np.asarray(stdtrit(4.0, q)))
