"""What the missing cells of a row leave open: the variance of the system's value over them.

With O the observed and M the missing predictors of a row, and predictors independent (the rank-one PMF),

    Var f_j(x_M | x_O) = sum_fg V(j, f) V(j, g) q_f q_g (prod_{n in M} G_n(f, g) - prod_{n in M} m_n(f) m_n(g))

where q = prod_{n in O} w_n^T A_n, and m_n = p_n^T A_n and G_n = A_n^T diag(p_n) A_n are moments over the levels of
observed cells.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.gap_variance import GapMoments, gap_variances
from csid._kernels.threads import Workers, row_parts
from csid.tensor.cells import Cells
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


def marginals_of_known(marginals: tuple[Array, ...], known: NDArray[np.intp]) -> tuple[Array, ...]:
    """The marginals p_n of observed cells: without the level of missing cells, if there is one."""
    masses = [p[:count] for p, count in zip(marginals, known.tolist(), strict=True)]
    return tuple(p / p.sum() if p.sum() > 0.0 else np.full(len(p), 1.0 / len(p)) for p in masses)


class Gaps(NamedTuple):
    """Rows with missing cells.

    rows : (J,) their indices; variances : (J, K) of their values over their missing cells.
    """

    rows: NDArray[np.intp]
    variances: Array

    @classmethod
    def of(cls, cells: Cells, factors: Factors, workers: Workers) -> "Gaps":
        """The incomplete rows, in an order in which rows that lack the same cells are neighbours."""
        rows, F = cells.incomplete_by_pattern, factors.rank
        first, second = np.empty((cells.n_modes, F)), np.empty((cells.n_modes, F, F))
        for n, p in enumerate(marginals_of_known(factors.marginals, cells.known)):
            A = np.asarray(factors.factor(n)[: len(p)], np.float64)
            first[n], second[n] = p @ A, np.einsum("i,if,ig->fg", p, A, A, optimize=False)
        moments = GapMoments(cells.known, first, second)
        table, V = factors.table[:, :F].astype(np.float64), np.ascontiguousarray(factors.output_factor)
        variances = np.empty((len(rows), len(V)))

        def fill(part: tuple[int, int]) -> None:
            gap_variances(cells.arrays, rows, table, factors.offsets, moments, V, part, variances)

        workers.map(fill, row_parts(len(rows)))
        return cls(rows, variances)

    def weights(self, precision: Array, alpha: Array) -> Array:
        """Factors (J,) of the weights of rows whose noise has variance 1 / (alpha lambda), to which v is added.

        precision : (J,) lambda; alpha : (K,). The outputs of a row share its weight.
        """
        return np.asarray(1.0 / (1.0 + precision * (self.variances @ alpha) / len(alpha)))


def deviations_in_gaps(residuals: Array, variances: Array, alpha: Array, rng: np.random.Generator) -> Array:
    """Draws (J, K) of the part of residuals that is due to missing cells, the rest being noise of precision alpha (K,).

    variances : (J, K) of the system's value over the missing cells of a row.
    """
    share = variances * alpha / (1.0 + variances * alpha)
    return np.asarray(share * residuals + np.sqrt(share / alpha) * rng.standard_normal(residuals.shape))
