"""The game behind Shapley values: a row against a background, on factors whose products stay near one.

Predictors inside a coalition have the values `a_n = w_n(x)^T A_n` of the row, those outside the values of a background
row. The product of the training marginals is the background row in which every cell is missing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from csid._kernels.simd import WIDTH
from csid._kernels.threads import Workers
from csid.encoding import EncodedRows
from csid.tensor.cells import Cells
from csid.tensor.cpd import CPD
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

_LARGEST_POWER = 1000.0  # of two, whose reciprocal is a float as well
_ROWS_IN_PART = 64
_BACKGROUND_BYTES = 16 << 20


def balanced(cpd: CPD) -> CPD:
    """The same tensor with the root mean square of each component near one in every factor; V carries its scale.

    Scales are powers of two, so nothing is rounded; deviations from one do not accumulate over the factors.
    """
    sizes = np.array([root_mean_squares(A, p) for A, p in zip(cpd.factors, cpd.marginals, strict=True)])
    logs = np.clip(np.log2(sizes), -_LARGEST_POWER, _LARGEST_POWER)
    powers = np.diff(np.rint(np.cumsum(logs, axis=0)), axis=0, prepend=0.0)
    factors = tuple(A * scale for A, scale in zip(cpd.factors, np.exp2(-powers), strict=True))
    return CPD(factors, np.ldexp(cpd.V, powers.sum(axis=0).astype(int)), cpd.bias, cpd.marginals)


def root_mean_squares(A: Array, p: Array) -> Array:
    """(F,) of the columns of a factor over a marginal, or over all levels if those have no mass; one for zeros."""
    largest = np.abs(A).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)  # squares leave the range of floats before the entries do
    unit = (A / largest) ** 2
    squares = np.where(p @ unit > 0, p @ unit, unit.mean(axis=0))
    return np.asarray(np.where(squares > 0, largest * np.sqrt(squares), 1.0))


def uniform_rule(degree: int) -> tuple[Array, Array]:
    """Nodes and weights that integrate a polynomial of this degree over [0, 1] exactly (Gauss-Legendre)."""
    nodes, weights = roots_legendre(degree // 2 + 1)
    return 0.5 + 0.5 * nodes, 0.5 * weights


def play(
    kernel: Callable[..., None],
    factors: Factors,
    rows: EncodedRows,
    background: EncodedRows | None,
    rule: tuple[Array, Array],
    shape: tuple[int, ...],
    workers: Workers,
) -> Array:
    """For every row, (M, *shape, K) the mean over the background of what a kernel of `shapley_kernels` adds up.

    Factors are those of a balanced tensor. Rows are independent, so results do not depend on the number of threads.
    """
    n_rows, K = len(rows.codes), len(factors.V)
    values = np.zeros((n_rows, int(np.prod(shape)), K))
    parts = [(start, min(start + _ROWS_IN_PART, n_rows)) for start in range(0, n_rows, _ROWS_IN_PART)]
    cells = Cells(rows.codes, rows.fractions, factors.levels, factors.levels).arrays
    for outside in _outside(factors, background):
        given = (cells, (factors.table, factors.offsets, factors.V), outside, rule)
        workers.map(lambda part, given=given: kernel(*given, *part, values), parts)  # type: ignore[misc]
    if background is not None:
        values /= len(background.codes)
    return values.reshape(n_rows, *shape, K)


def _outside(factors: Factors, background: EncodedRows | None) -> Iterator[Array]:
    """Cells of the background as the kernels read them, (S / 8, B, N, 8), some rows at a time."""
    everything = factors.levels[None, :]  # the code of a missing cell
    codes: NDArray[Any] = everything if background is None else background.codes
    fractions = np.zeros((0, 1)) if background is None else background.fractions
    S = factors.table.shape[1]
    most = max(1, _BACKGROUND_BYTES // (8 * S * factors.n_modes))
    for start in range(0, len(codes), most):
        at = factors.offsets + codes[start : start + most].astype(np.intp)
        cells = factors.table[at]
        if len(fractions):
            t = fractions[start : start + most, :, None].astype(np.float64)
            cells += t * (factors.table[at + 1] - cells)
        B, N, _ = cells.shape
        yield np.ascontiguousarray(cells.reshape(B, N, S // WIDTH, WIDTH).transpose(2, 0, 1, 3))
