"""Covariances of the values `a_n` of pairs of components over the distribution of each predictor, block by block."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csid.encoding import EncodedRows
from csid.explain.games import balanced
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_LARGEST_DEVIATION = 1e145
_BLOCK_BYTES = 1 << 20  # of the matrices of all predictors


class LevelMoments(NamedTuple):
    """Moments of the weights `w` of a predictor's levels: `E[w_i]`, `E[w_i^2]` and `E[w_i w_(i+1)]`."""

    p: Array
    squares: Array
    neighbours: Array


def on_levels(p: Array) -> LevelMoments:
    """Of a predictor that is always at one of its levels."""
    return LevelMoments(p, p, np.zeros(len(p) - 1))


def moments_of(rows: EncodedRows, n: int, p: Array) -> LevelMoments:
    """Of predictor n over the rows in which it is observed; if there are none, on the levels with probabilities p."""
    I_n = len(p)
    observed = rows.codes[:, n] < I_n
    i = rows.codes[observed, n].astype(np.intp)
    if len(i) == 0:
        return on_levels(p)
    t = rows.fractions[observed, n].astype(np.float64) if len(rows.fractions) else np.zeros(len(i))

    def mean(weights: Array, up: int) -> Array:
        return np.asarray(np.bincount(i + up, weights, minlength=I_n + 1)[:I_n] / len(i))

    return LevelMoments(
        mean(1.0 - t, 0) + mean(t, 1),
        mean((1.0 - t) ** 2, 0) + mean(t**2, 1),
        mean(t * (1.0 - t), 0)[:-1],
    )


class ComponentBlock(NamedTuple):
    """Components f by components g: `C` and `mm`, (N, F', F''), and how often the block enters a symmetric sum."""

    f: slice
    g: slice
    C: Array
    mm: Array
    times: float

    def form(self, x: Array, matrix: Array) -> Array:
        """What the block adds to the quadratic forms (K,) `x_k^T matrix x_k`."""
        return np.asarray(self.times * ((x[:, self.f] @ matrix) * x[:, self.g]).sum(axis=1))


class ComponentPairs(NamedTuple):
    """A balanced tensor over predictors with given moments.

    V : (K, F); means : (N, F) `m_n`; centred : N arrays (I_n, F), `A_n - m_n`; weighted : `E[w w^T] (A_n - m_n)`.
    """

    V: Array
    means: Array
    centred: list[Array]
    weighted: list[Array]

    def blocks(self) -> Iterator[ComponentBlock]:
        """All pairs of components; blocks off the diagonal come once and enter sums twice."""
        width = max(16, int(np.sqrt(_BLOCK_BYTES / (8 * len(self.means)))))
        starts = range(0, self.V.shape[1], width)
        # one thread: blocks are too small for several to help, and sums then do not depend on the number of threads
        with threadpool_limits(1, "blas"):
            for f, g in ((slice(a, a + width), slice(b, b + width)) for a in starts for b in starts if a <= b):
                C = np.array([A[:, f].T @ B[:, g] for A, B in zip(self.centred, self.weighted, strict=True)])
                mm = self.means[:, f, None] * self.means[:, None, g]
                yield ComponentBlock(f, g, C, mm, 1.0 if f == g else 2.0)


def component_pairs(cpd: CPD, moments: list[LevelMoments]) -> ComponentPairs:
    """The factors of a tensor, centred and weighted by the moments of its predictors."""
    tensor = balanced(cpd)
    if np.abs(tensor.V).max(initial=0.0) > _LARGEST_DEVIATION:
        raise ArithmeticError(
            "the variance of the prediction is beyond the range of floats: divide the targets by a power of ten and "
            "fit again."
        )
    means = np.array([moment.p @ A for moment, A in zip(moments, tensor.factors, strict=True)])
    centred = [A - m for A, m in zip(tensor.factors, means, strict=True)]
    weighted = [_weighted(A, moment) for A, moment in zip(centred, moments, strict=True)]
    return ComponentPairs(tensor.V, means, centred, weighted)


def _weighted(A: Array, moment: LevelMoments) -> Array:
    """`E[w w^T] A`, from the diagonal and its neighbours."""
    product = moment.squares[:, None] * A
    product[:-1] += moment.neighbours[:, None] * A[1:]
    product[1:] += moment.neighbours[:, None] * A[:-1]
    return product
