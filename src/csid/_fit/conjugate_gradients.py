"""Conjugate gradients on the normal equations of a mode: products with the rows, never the blocks."""

import numpy as np
from numpy.typing import NDArray

from csid._fit import kernels
from csid._fit.blocks import FLAT, lowers
from csid._fit.factors import Factors
from csid._fit.problem import Problem
from csid._fit.statistics import Workers, row_parts

Array = NDArray[np.float64]

_TOLERANCE = 1e-10
_MAX_PRODUCTS = 200


class NormalOperator:
    """`A -> (data + penalty) A` for mode k, and the right-hand side, both divided by the total weight."""

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

        def project(part: tuple[int, int]) -> tuple[Array, Array]:
            out, diagonal = np.zeros(shape), np.zeros(shape)
            kernels.project(
                *problem.cells,
                problem.roots,
                problem.targets,
                factors.bias,
                self._outside,
                factors.table,
                factors.offsets[self._modes],
                self._modes,
                self._k,
                factors.V,
                padded,
                X is None,
                *part,
                out,
                diagonal,
            )
            return out, diagonal

        results = self._workers.map(project, row_parts(problem.n_rows, 2 * padded.nbytes))
        scale = 1.0 / problem.total_weight
        out, diagonal = (scale * np.sum(sums, axis=0)[:, : factors.rank] for sums in zip(*results, strict=True))
        return out, diagonal


def solve_mode(operator: NormalOperator, A: Array) -> Array:
    """Improve `A` until the gradient of the quadratic has shrunk by `_TOLERANCE`, preconditioned by the diagonal.

    Every product lowers the quadratic, so stopping early still lowers the objective.
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
