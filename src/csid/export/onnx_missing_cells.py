"""Rows that lack cells, under a joint PMF of the predictors, as nodes of an ONNX graph.

Only these rows are computed anew. Loops run over the classes that they may be of and over the predictors that they
lack, so that memory is that of rows times components, and a batch that lacks nothing costs next to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from csid.export.description import Classes, Draws
from csid.export.onnx_nodes import Value, taking

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lacking:
    """J rows of M that lack cells.

    complete : (M, R) products, over the observed predictors, of the rows of their factors; rows : (J,) which they are.
    missing : (N, J, 1) whether a cell is; lacked : predictors that are missing in some row.
    probabilities : (J, C) of the classes.
    """

    complete: Value
    rows: Value
    missing: Value
    lacked: Value
    probabilities: Value

    @classmethod
    def of(cls, classes: Classes, levels: Sequence[Value], complete: Value) -> "Lacking":
        """levels : (M,) of each predictor, the number of its levels for a missing cell."""
        first, *others = (level.then("Unsqueeze", np.array([0])) for level in levels)
        cells, behind = first.then("Concat", *others, axis=0), classes.pmf.levels[:, None]
        rows = _where_any(cells.then("Equal", behind), 0)
        some = cells.then("Gather", rows, axis=1)
        missing = some.then("Equal", behind)
        observed = _where_any(missing.then("Not"), 1)
        probabilities = _scores(classes, some, observed).then("Softmax", axis=1)
        return cls(complete, rows, missing.then("Unsqueeze", np.array([2])), _where_any(missing, 1), probabilities)

    def expected(self, classes: Classes, factors: Sequence[Array], single: bool) -> Value:
        """Components (M, R), those of these rows averaged over the classes."""
        C = classes.pmf.classes.rank
        means = [B.T @ A for A, B in zip(factors, classes.pmf.given_class, strict=True)]
        mean, shape = taking(np.vstack(means), self.rows.graph, single), [None, factors[0].shape[1]]
        kept = self.probabilities.then("Less", classes.least).where(0.0, self.probabilities)
        shares = kept / kept.then("ReduceSum", np.array([1]), keepdims=1)
        start = self._observed()

        def add(c: Value, total: Value) -> Value:
            def fill(n: Value, product: Value) -> Value:
                return product * self.missing.then("Gather", n).where(mean(n * C + c), 1.0)

            return total + _column(shares, c) * c.graph.each(self.lacked, fill, start, shape)

        return self._in_place(start.graph.each(_where_any(kept.then("Greater", 0.0), 0), add, start * 0.0, shape))

    def drawn(self, classes: Classes, factors: Sequence[Array], draws: Draws, single: bool) -> Value:
        """Components (M, R), those of these rows with the missing cells filled in, another way for each draw."""
        pairs = zip(factors, classes.drawn, strict=True)
        filled = [np.take_along_axis(A, levels[draws.owners].T, axis=0) for A, levels in pairs]  # (C, R) of each
        in_classes, start = taking(np.stack(filled), self.rows.graph, single), self._observed()
        of_components = self._classes(classes.quantiles).then("Gather", draws.owners, axis=1)

        def fill(n: Value, product: Value) -> Value:
            row = in_classes(n).then("GatherElements", of_components, axis=0)
            return product * self.missing.then("Gather", n).where(row, 1.0)

        return self._in_place(start.graph.each(self.lacked, fill, start, [None, factors[0].shape[1]]))

    def _classes(self, quantiles: Array) -> Value:
        """Classes (J, D) of the rows in each draw: the last before which the probabilities sum to less than these."""
        before = self.probabilities.then("CumSum", 1, exclusive=1)

        def choose(c: Value, chosen: Value) -> Value:
            return _column(before, c).then("Less", quantiles).where(c.cast(TensorProto.DOUBLE), chosen)

        possible = _where_any(self.probabilities.then("Greater", 0.0), 0)
        none = _column(before, before.graph.constant(0)) * np.zeros(len(quantiles))
        return before.graph.each(possible, choose, none, [None, len(quantiles)]).cast(TensorProto.INT64)

    def _observed(self) -> Value:
        return self.complete.then("Gather", self.rows)

    def _in_place(self, components: Value) -> Value:
        return self.complete.then("ScatterND", self.rows.then("Unsqueeze", np.array([1])), components)


def _scores(classes: Classes, cells: Value, observed: Value) -> Value:
    """Logarithms (J, C) of the shares of the classes times the lifts of the cells (N, J), 1 for a missing one."""
    of_classes, counts = classes.pmf.classes, [len(lift) for lift in classes.pmf.classes.lifts]
    lifts = np.vstack([*(np.log(lift) for lift in of_classes.lifts), np.zeros(of_classes.rank)])
    first_bins = np.cumsum([0, *counts[:-1]])
    bins = [np.append(bins + first, len(lifts) - 1) for bins, first in zip(classes.pmf.bins, first_bins, strict=True)]
    first_levels = np.cumsum([0, *(len(each) for each in bins[:-1])])
    graph = cells.graph
    lift, bin_of = taking(lifts, graph, single=False), graph.constant(np.concatenate(bins))
    at = bin_of.then("Gather", cells + first_levels[:, None])

    def add(n: Value, scores: Value) -> Value:
        return scores + lift(at.then("Gather", n))

    none = cells.total(0).cast(TensorProto.DOUBLE).then("Unsqueeze", np.array([1])) * 0.0
    return graph.each(observed, add, none + np.log(of_classes.shares), [None, of_classes.rank])


def _where_any(flags: Value, axis: int) -> Value:
    """Numbers of the entries, along the other axis of a matrix, in which some flag is set."""
    return flags.cast(TensorProto.INT64).total(axis).then("Greater", 0).then("NonZero").then("Squeeze", np.array([0]))


def _column(matrix: Value, c: Value) -> Value:
    return matrix.then("Gather", c, axis=1).then("Unsqueeze", np.array([1]))
