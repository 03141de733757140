"""The values of a tensor at encoded rows, and products of its factor rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels import row_loops
from csid._kernels.arguments import RowProduct
from csid._kernels.threads import Workers, row_parts
from csid.tensor.cells import Cells
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


def row_product(factors: Factors, outside: NDArray[Any], modes: NDArray[np.intp]) -> RowProduct:
    """Kernel arguments for the product of `outside` and the factor rows of some modes, at every row."""
    return RowProduct(outside, factors.table, factors.offsets[modes], modes)


def model_values(cells: Cells, factors: Factors, start: int = 0, stop: int | None = None) -> Array:
    """Model values (rows, K) at rows from `start` to `stop`, by default all."""
    part = start, cells.n_rows if stop is None else stop
    table, modes = factors.table, np.arange(cells.n_modes, dtype=np.intp)
    V, values = factors.V.astype(table.dtype, copy=False), np.empty((part[1] - start, len(factors.V)))
    row_loops.evaluate(cells.arrays, table, factors.offsets, modes, V, factors.bias, part, values)
    return values


def values_of_rows(cells: Cells, factors: Factors, workers: Workers) -> Array:
    """Model values (M, K) at all rows, in threads."""
    parts = workers.map(lambda part: model_values(cells, factors, *part), row_parts(cells.n_rows))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def multiply(
    cells: Cells, factors: Factors, outside: Array, modes: NDArray[np.intp], products: Array, workers: Workers
) -> None:
    """Fill products (M, S) with `outside` times the factor rows of some modes."""
    product = row_product(factors, outside, modes)
    workers.map(lambda part: row_loops.multiply(cells.arrays, product, part, products), workers.parts(cells.n_rows))
