"""Conjugate gradients on the normal equations of a mode, by products with the rows, without forming the blocks."""

import numpy as np
from numpy.typing import NDArray

from csid._kernels import row_loops
from csid._kernels.block_banded import lowers
from csid._kernels.block_cholesky import FLAT
from csid._kernels.threads import Workers, row_parts
from csid.data.problem import Problem
from csid.data.statistics import row_arrays
from csid.tensor.evaluation import row_product
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

_TOLERANCE = 1e-10
_MAX_PRODUCTS = 200


class NormalOperator:
    """The linear operator `A -> (data + penalty) A` of mode k, its right-hand side and its diagonal.

    The data term and the right-hand side are divided by the number of observations.
    """

    def __init__(
        self,
        problem: Problem,
        factors: Factors,
        k: int,
        outside: Array,
        modes: NDArray[np.intp],
        penalty: Array,
        workers: Workers,
    ) -> None:
        self._problem, self._factors, self._k = problem, factors, k
        self._outside, self._modes, self._penalty, self._workers = outside, modes, penalty, workers
        rhs, diagonal = self._project(None)
        p = problem.marginals[k][:, None]
        self.rhs = rhs[:-1] + p * rhs[-1]
        self.diagonal = diagonal[:-1] + p**2 * diagonal[-1] + penalty[0][:, None]

    def __call__(self, X: Array) -> Array:
        p = self._problem.marginals[self._k]
        product, _ = self._project(np.vstack([X, p @ X]))
        return np.asarray(product[:-1] + p[:, None] * product[-1] + self._penalise(X))

    def _penalise(self, X: Array) -> Array:
        product = self._penalty[0][:, None] * X
        for d, band in enumerate(self._penalty[1:], start=1):
            product[:-d] += band[:-d, None] * X[d:]
            product[d:] += band[:-d, None] * X[:-d]
        return np.asarray(product)

    def _project(self, X: Array | None) -> tuple[Array, Array]:
        problem, factors = self._problem, self._factors
        shape = (int(problem.levels[self._k]) + 1, factors.table.shape[1])
        padded = np.zeros(shape)
        if X is not None:
            padded[:, : factors.rank] = X

        rows = row_arrays(problem, factors.bias)
        product = row_product(factors, self._outside, self._modes)

        def project(part: tuple[int, int]) -> Array:
            sums = np.zeros((2, *shape))
            row_loops.project(rows, product, self._k, factors.V, padded, X is None, part, sums)
            return sums

        sums = self._workers.map(project, row_parts(problem.n_rows, 2 * padded.nbytes))
        out, diagonal = 1.0 / problem.n_observations * np.sum(sums, axis=0)[:, :, : factors.rank]
        return out, diagonal


def solve_mode(operator: NormalOperator, A: Array) -> Array:
    """Preconditioned conjugate gradients from `A`, until the gradient is small relative to the right-hand side.

    The preconditioner is the diagonal. Every step lowers the quadratic, so stopping early still lowers the objective.
    """
    diagonal = operator.diagonal
    first = operator.rhs - operator(A)
    residual, step = first.copy(), np.zeros_like(A)
    inverse = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    direction = z = inverse * residual
    power = float((residual * z).sum())
    enough = _TOLERANCE**2 * float((operator.rhs**2 * inverse).sum())
    for _ in range(_MAX_PRODUCTS):
        if power <= enough:
            break
        product = operator(direction)
        curvature = float((direction * product).sum())
        if curvature <= FLAT * float((diagonal * direction**2).sum()):
            break
        length = power / curvature
        step += length * direction
        residual -= length * product
        z = inverse * residual
        power, previous = float((residual * z).sum()), power
        direction = z + (power / previous) * direction
    lower = lowers(step, np.ascontiguousarray(A), first, first - residual, diagonal)
    return A + step if lower else A
