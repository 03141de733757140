"""Rows with missing cells, under a joint PMF of the predictors, as nodes of an ONNX graph.

Only these rows are computed again. Loops run over their possible classes and over their missing cells, so memory grows
with rows times components only, and a complete batch costs almost nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from csid.export.onnx_nodes import LookupTable, Value
from csid.fitted.description import DescribedClasses, DescribedDraws

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IncompleteRows:
    """J rows, of M, that have missing cells.

    product : (M, R) over the observed predictors, of the rows of their factors; rows : (J,) indices of the rows.
    missing : (N, J) indices of the missing predictors of each row, increasing, then N as padding.
    places : those of the N places of `missing` that some row uses.
    probabilities : (J, C) of the classes.
    """

    classes: DescribedClasses
    product: Value
    rows: Value
    missing: Value
    places: Value
    probabilities: Value

    @classmethod
    def of(cls, classes: DescribedClasses, levels: Sequence[Value], product: Value) -> "IncompleteRows":
        """levels : (M,) of each predictor; its number of levels marks a missing cell."""
        first, *others = (level.then("Unsqueeze", np.array([0])) for level in levels)
        cells, N = first.then("Concat", *others, axis=0), len(levels)
        behind = classes.pmf.levels[:, None]
        rows = _where_any(cells.then("Equal", behind), 0)
        cells = cells.then("Gather", rows, axis=1)
        is_missing = cells.then("Equal", behind)
        indices = is_missing.where(np.arange(N)[:, None], N)
        missing = indices.then("TopK", np.array([N]), axis=0, largest=0, unused=1)
        places = _where_any(missing.then("Less", N), 1)
        return cls(classes, product, rows, missing, places, _probabilities(classes, cells, is_missing))

    def expected(self, factors: Sequence[Array], single: bool) -> Value:
        """Components (M, R), in these rows averaged over the classes; factors : (I_n, R) of the predictors."""
        C, R = self.classes.pmf.classes.rank, factors[0].shape[1]
        means = [B.T @ A for A, B in zip(factors, self.classes.pmf.given_class, strict=True)]
        mean = LookupTable.of(np.vstack([*means, np.ones((C, R))]), self.rows.graph, single)
        kept = self.probabilities.then("Less", self.classes.least).where(0.0, self.probabilities)
        weights, observed = kept / kept.then("ReduceSum", np.array([1]), keepdims=1), self._observed()

        def add(c: Value, total: Value) -> Value:
            def fill(place: Value, product: Value) -> Value:
                return product * mean.rows(self.missing.then("Gather", place) * C + c)

            return total + _column(weights, c) * c.graph.each(self.places, fill, observed, [None, R])

        likely = _where_any(kept.then("Greater", 0.0), 0)
        return self._in_place(self.rows.graph.each(likely, add, observed * 0.0, [None, R]))

    def drawn(self, factors: Sequence[LookupTable], draws: DescribedDraws) -> Value:
        """Components (M, R), in these rows with the missing cells imputed, differently in each draw.

        factors : (I_n + 1, R) of the predictors, whose last rows are ones.
        """
        _, D, C = self.classes.drawn.shape
        levels = self.classes.drawn + _starts(self.classes)[:, None, None]
        ones = np.full(D * C, np.sum(self.classes.pmf.levels + 1) - 1)
        filling, factor = self.rows.graph.constant(np.append(levels, ones)), factors[0].above(factors[1:])
        of_draws = self._chosen() + C * np.arange(D)

        def fill(place: Value, product: Value) -> Value:
            at = self.missing.then("Gather", place).then("Unsqueeze", np.array([1])) * (D * C) + of_draws
            return product * factor.entries(filling.then("Gather", at).then("Gather", draws.owners, axis=1))

        return self._in_place(self.rows.graph.each(self.places, fill, self._observed(), [None, len(draws.owners)]))

    def factor(self) -> Value:
        """(M, K, 1) by which deviations of the draws are multiplied."""
        factors = np.asarray(self.classes.imputation_factor)
        everywhere = self.product.then("Gather", np.array([0]), axis=1) * np.zeros((1, len(factors))) + 1.0
        here = everywhere.then("Gather", self.rows) * factors
        return self._scattered(everywhere, here).then("Unsqueeze", np.array([2]))

    def _chosen(self) -> Value:
        """Classes (J, D) of the rows in each draw: the last before which the probabilities sum to less than u."""
        before, D = self.probabilities.then("CumSum", 1, exclusive=1), len(self.classes.quantiles)

        def choose(c: Value, chosen: Value) -> Value:
            return _column(before, c).then("Less", self.classes.quantiles).where(c.cast(TensorProto.DOUBLE), chosen)

        possible = _where_any(self.probabilities.then("Greater", 0.0), 0)
        first = _column(before, before.graph.constant(0)) * np.zeros(D)
        return before.graph.each(possible, choose, first, [None, D]).cast(TensorProto.INT64)

    def _observed(self) -> Value:
        return self.product.then("Gather", self.rows)

    def _in_place(self, components: Value) -> Value:
        return self._scattered(self.product, components)

    def _scattered(self, everywhere: Value, here: Value) -> Value:
        """A matrix with other values in these rows."""
        return everywhere.then("ScatterND", self.rows.then("Unsqueeze", np.array([1])), here)


def _probabilities(classes: DescribedClasses, cells: Value, missing: Value) -> Value:
    """Of the classes (J, C), given the levels (N, J) of the observed cells."""
    pmf, C = classes.pmf, classes.pmf.classes.rank
    tables = [
        np.vstack([np.log(lift)[bins], np.zeros(C)]) for lift, bins in zip(pmf.classes.lifts, pmf.bins, strict=True)
    ]
    lifts, at = LookupTable.of(np.vstack(tables), cells.graph), cells + _starts(classes)[:, None]

    def add(n: Value, logits: Value) -> Value:
        return logits + lifts.rows(at.then("Gather", n))

    none = cells.total(0).cast(TensorProto.DOUBLE).then("Unsqueeze", np.array([1])) * 0.0
    start, observed = none + np.log(pmf.classes.weights), _where_any(missing.then("Not"), 1)
    return cells.graph.each(observed, add, start, [None, C]).then("Softmax", axis=1)


def _starts(classes: DescribedClasses) -> NDArray[np.intp]:
    """(N,) first rows of the predictors in stacked tables that have a row per level and one more."""
    rows = classes.pmf.levels + 1
    return np.asarray(np.cumsum(rows) - rows)


def _where_any(flags: Value, axis: int) -> Value:
    """Indices, along the other axis of a matrix, of the entries in which some flag is set."""
    return flags.cast(TensorProto.INT64).total(axis).then("Greater", 0).then("NonZero").then("Squeeze", np.array([0]))


def _column(matrix: Value, c: Value) -> Value:
    return matrix.then("Gather", c, axis=1).then("Unsqueeze", np.array([1]))
