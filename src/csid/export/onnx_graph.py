"""Predictions and intervals of a described model, as nodes of an ONNX graph.

Everything is in double precision, as csid computes. Only operators of the standard set are used, such that ONNX Runtime
has them for doubles: it has no `Erf` of doubles, so the normal distribution function is written out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto
from scipy.special import ndtri, stdtrit

from csid.export.description import Category, Description, Draws, Number, Predictor
from csid.export.onnx_nodes import Graph, Value

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
    q = _components(model.predictors, columns, single)
    prediction = q @ np.ascontiguousarray(model.V.T) + model.bias
    if model.draws is None or not coverages:
        return [prediction]
    return [prediction, *_bounds(model, model.draws, q, prediction, coverages)]


def _components(predictors: Sequence[Predictor], columns: Sequence[Value], single: bool) -> Value:
    """(M, R): the product, over predictors, of the rows of their factors."""
    product, *others = (
        _row_of_number(predictor, column, single)
        if isinstance(predictor, Number)
        else _row_of_category(predictor, column, single)
        for predictor, column in zip(predictors, columns, strict=True)
    )
    for other in others:
        product = product * other
    return product


def _row_of_number(predictor: Number, column: Value, single: bool) -> Value:
    x = column.then("Squeeze", np.array([1]))
    missing = x.then("IsNaN")
    take = _taking(predictor.rows, column.graph, single)
    last = len(predictor.grid)
    if not predictor.linear:
        at = column.then("Greater", predictor.edges).cast(TensorProto.INT64).total(1)
        return take(missing.where(last, at))
    inner = predictor.grid[1:-1]  # beyond the outer levels, t is clipped
    at = column.then("GreaterOrEqual", inner).cast(TensorProto.INT64).total(1)
    level, step = (column.graph.constant(each).then("Gather", at) for each in (predictor.grid, np.diff(predictor.grid)))
    t = missing.where(0.0, ((x - level) / step).then("Clip", 0.0, 1.0))
    t = t.cast(TensorProto.FLOAT).cast(TensorProto.DOUBLE)  # rounded as csid does, docs/decisions/0006
    lower, upper = take(missing.where(last, at)), take(at + 1)
    return lower + t.then("Unsqueeze", np.array([1])) * (upper - lower)


def _row_of_category(predictor: Category, column: Value, single: bool) -> Value:
    rows = {category: row for row, category in enumerate(predictor.categories)}
    if predictor.of_strings:
        rows.setdefault(MISSING_STRING, predictor.missing)
    names = np.array(list(rows), dtype=object if predictor.of_strings else np.float64)
    beyond = np.array(list(rows.values())) - predictor.unseen
    at = column.then("Equal", names).where(beyond, 0).total(1) + predictor.unseen
    if not predictor.of_strings:
        at = column.then("Squeeze", np.array([1])).then("IsNaN").where(predictor.missing, at)
    return _taking(predictor.rows, column.graph, single)(at)


def _taking(rows: Array, graph: Graph, single: bool) -> Callable[[Value], Value]:
    """A function that takes rows by their numbers."""
    table = graph.constant(rows.astype(np.float32) if single else rows)

    def take(at: Value) -> Value:
        taken = table.then("Gather", at)
        return taken.cast(TensorProto.DOUBLE) if single else taken

    return take


def _bounds(model: Description, draws: Draws, q: Value, mean: Value, coverages: Sequence[float]) -> list[Value]:
    """Quantiles of the draws' deviations from the mean, which are a mixture, times the spread.

    q : components (M, R); mean : predictions (M, K).
    """
    K, D = len(model.bias), len(draws.shares)
    noise = _STUDENT if math.isfinite(draws.degrees_of_freedom) else _NORMAL
    levels = np.array([0.5 + side * 0.5 * coverage for coverage in coverages for side in (-1.0, 1.0)])
    wanted, scales = levels[:, None, None], np.ascontiguousarray(draws.noise.T)

    each = (q @ _of_each_draw(model, draws)).then("Reshape", np.array([0, K, D])) + np.ascontiguousarray(draws.bias.T)
    centres = each - mean.then("Unsqueeze", np.array([2]))
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
    owner = np.repeat(np.arange(len(draws.ranks)), draws.ranks)
    mine = owner[:, None] == np.arange(len(draws.ranks))
    weights = model.V.T / draws.shares[owner][:, None]
    return np.asarray(weights[:, :, None] * mine[:, None, :]).reshape(len(owner), -1)


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
