"""Rows that lack cells, under a joint PMF of the predictors, as nodes of an ONNX graph.

Only these rows are computed anew. Loops run over the classes that they may be of and over the cells that they lack, so
that memory is that of rows times components, and a batch that lacks nothing costs next to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from csid.description import Classes, Draws
from csid.export.onnx_nodes import Table, Value

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lacking:
    """J rows of M that lack cells.

    product : (M, R) over the observed predictors, of the rows of their factors; rows : (J,) which they are.
    lacked : (N, J) the predictors that each row lacks, rising, and behind them N; some : the first of these N places,
        which are all that any row needs.
    probabilities : (J, C) of the classes.
    """

    classes: Classes
    product: Value
    rows: Value
    lacked: Value
    some: Value
    probabilities: Value

    @classmethod
    def of(cls, classes: Classes, levels: Sequence[Value], product: Value) -> "Lacking":
        """levels : (M,) of each predictor, the number of its levels for a missing cell."""
        first, *others = (level.then("Unsqueeze", np.array([0])) for level in levels)
        cells, N = first.then("Concat", *others, axis=0), len(levels)
        behind = classes.pmf.levels[:, None]
        rows = _where_any(cells.then("Equal", behind), 0)
        cells = cells.then("Gather", rows, axis=1)
        missing = cells.then("Equal", behind)
        names = missing.where(np.arange(N)[:, None], N)
        lacked = names.then("TopK", np.array([N]), axis=0, largest=0, unused=1)
        some = _where_any(lacked.then("Less", N), 1)
        return cls(classes, product, rows, lacked, some, _probabilities(classes, cells, missing))

    def expected(self, factors: Sequence[Array], single: bool) -> Value:
        """Components (M, R), those of these rows averaged over the classes; factors : (I_n, R) of the predictors."""
        C, R = self.classes.pmf.classes.rank, factors[0].shape[1]
        means = [B.T @ A for A, B in zip(factors, self.classes.pmf.given_class, strict=True)]
        mean = Table.of(np.vstack([*means, np.ones((C, R))]), self.rows.graph, single)
        kept = self.probabilities.then("Less", self.classes.least).where(0.0, self.probabilities)
        shares, observed = kept / kept.then("ReduceSum", np.array([1]), keepdims=1), self._observed()

        def add(c: Value, total: Value) -> Value:
            def fill(place: Value, product: Value) -> Value:
                return product * mean.rows(self.lacked.then("Gather", place) * C + c)

            return total + _column(shares, c) * c.graph.each(self.some, fill, observed, [None, R])

        likely = _where_any(kept.then("Greater", 0.0), 0)
        return self._in_place(self.rows.graph.each(likely, add, observed * 0.0, [None, R]))

    def drawn(self, factors: Sequence[Table], draws: Draws) -> Value:
        """Components (M, R), those of these rows with the missing cells filled in, another way for each draw.

        factors : (I_n + 1, R) of the predictors, whose last rows are ones.
        """
        _, D, C = self.classes.drawn.shape
        levels = self.classes.drawn + _starts(self.classes)[:, None, None]
        ones = np.full(D * C, np.sum(self.classes.pmf.levels + 1) - 1)
        filling, factor = self.rows.graph.constant(np.append(levels, ones)), factors[0].above(factors[1:])
        of_draws = self._chosen() + C * np.arange(D)

        def fill(place: Value, product: Value) -> Value:
            at = self.lacked.then("Gather", place).then("Unsqueeze", np.array([1])) * (D * C) + of_draws
            return product * factor.entries(filling.then("Gather", at).then("Gather", draws.owners, axis=1))

        return self._in_place(self.rows.graph.each(self.some, fill, self._observed(), [None, len(draws.owners)]))

    def _chosen(self) -> Value:
        """Classes (J, D) of the rows in each draw: the last before which the probabilities sum to less than these."""
        before, D = self.probabilities.then("CumSum", 1, exclusive=1), len(self.classes.quantiles)

        def choose(c: Value, chosen: Value) -> Value:
            return _column(before, c).then("Less", self.classes.quantiles).where(c.cast(TensorProto.DOUBLE), chosen)

        possible = _where_any(self.probabilities.then("Greater", 0.0), 0)
        first = _column(before, before.graph.constant(0)) * np.zeros(D)
        return before.graph.each(possible, choose, first, [None, D]).cast(TensorProto.INT64)

    def _observed(self) -> Value:
        return self.product.then("Gather", self.rows)

    def _in_place(self, components: Value) -> Value:
        return self.product.then("ScatterND", self.rows.then("Unsqueeze", np.array([1])), components)


def _probabilities(classes: Classes, cells: Value, missing: Value) -> Value:
    """Of the classes (J, C), given the levels (N, J) of the cells that are not missing."""
    pmf, C = classes.pmf, classes.pmf.classes.rank
    tables = [
        np.vstack([np.log(lift)[bins], np.zeros(C)]) for lift, bins in zip(pmf.classes.lifts, pmf.bins, strict=True)
    ]
    lifts, at = Table.of(np.vstack(tables), cells.graph), cells + _starts(classes)[:, None]

    def add(n: Value, scores: Value) -> Value:
        return scores + lifts.rows(at.then("Gather", n))

    none = cells.total(0).cast(TensorProto.DOUBLE).then("Unsqueeze", np.array([1])) * 0.0
    start, observed = none + np.log(pmf.classes.shares), _where_any(missing.then("Not"), 1)
    return cells.graph.each(observed, add, start, [None, C]).then("Softmax", axis=1)


def _starts(classes: Classes) -> NDArray[np.intp]:
    """(N,) where predictors begin in tables under one another that have a row for each level and one more."""
    rows = classes.pmf.levels + 1
    return np.asarray(np.cumsum(rows) - rows)


def _where_any(flags: Value, axis: int) -> Value:
    """Numbers of the entries, along the other axis of a matrix, in which some flag is set."""
    return flags.cast(TensorProto.INT64).total(axis).then("Greater", 0).then("NonZero").then("Squeeze", np.array([0]))


def _column(matrix: Value, c: Value) -> Value:
    return matrix.then("Gather", c, axis=1).then("Unsqueeze", np.array([1]))
