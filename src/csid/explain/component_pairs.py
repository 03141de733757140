"""Covariances of the values `a_n` of pairs of components, over the distribution of each predictor, block by block."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csid.cpd import CPD
from csid.encoding import EncodedRows
from csid.explain.games import balanced

Array = NDArray[np.float64]

_BLOCK_BYTES = 1 << 20  # of the matrices of all predictors


class Moments(NamedTuple):
    """What the variance needs of the distribution of a predictor: `E[w_i]`, `E[w_i^2]` and `E[w_i w_(i+1)]`."""

    p: Array
    squares: Array
    beside: Array


def on_levels(p: Array) -> Moments:
    """Of a predictor that is always at one of its levels."""
    return Moments(p, p, np.zeros(len(p) - 1))


def moments_of(rows: EncodedRows, n: int, p: Array) -> Moments:
    """Of predictor n in the rows in which it is observed; on the levels by p if there are none."""
    I_n = len(p)
    observed = rows.codes[:, n] < I_n
    i = rows.codes[observed, n].astype(np.intp)
    if len(i) == 0:
        return on_levels(p)
    t = rows.fractions[observed, n].astype(np.float64) if len(rows.fractions) else np.zeros(len(i))

    def mean(weights: Array, up: int) -> Array:
        return np.asarray(np.bincount(i + up, weights, minlength=I_n + 1)[:I_n] / len(i))

    return Moments(
        mean(1.0 - t, 0) + mean(t, 1),
        mean((1.0 - t) ** 2, 0) + mean(t**2, 1),
        mean(t * (1.0 - t), 0)[:-1],
    )


class Block(NamedTuple):
    """Components f by components g: `C` and `mm`, (N, F', F''), and how often the block counts in a symmetric sum."""

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

    def blocks(self) -> Iterator[Block]:
        """All pairs of components, those on one side of the diagonal once and counting twice."""
        width = max(16, int(np.sqrt(_BLOCK_BYTES / (8 * len(self.means)))))
        starts = range(0, self.V.shape[1], width)
        # on one thread: blocks are too small for several to help, and sums then do not depend on their number
        with threadpool_limits(1, "blas"):
            for f, g in ((slice(a, a + width), slice(b, b + width)) for a in starts for b in starts if a <= b):
                C = np.array([A[:, f].T @ B[:, g] for A, B in zip(self.centred, self.weighted, strict=True)])
                mm = self.means[:, f, None] * self.means[:, None, g]
                yield Block(f, g, C, mm, 1.0 if f == g else 2.0)


def component_pairs(cpd: CPD, moments: list[Moments]) -> ComponentPairs:
    """The tensor and the moments of its predictors, made ready."""
    tensor = balanced(cpd)
    means = np.array([moment.p @ A for moment, A in zip(moments, tensor.factors, strict=True)])
    centred = [A - m for A, m in zip(tensor.factors, means, strict=True)]
    weighted = [_weighted(A, moment) for A, moment in zip(centred, moments, strict=True)]
    return ComponentPairs(tensor.V, means, centred, weighted)


def _weighted(A: Array, moment: Moments) -> Array:
    """`E[w w^T] A`, from the diagonal and its neighbours."""
    product = moment.squares[:, None] * A
    product[:-1] += moment.beside[:, None] * A[1:]
    product[1:] += moment.beside[:, None] * A[:-1]
    return product
