"""Sums that do not depend on the number of BLAS threads."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sums_over_rows(weights: Array, values: Array) -> Array:
    """Weighted sums (K,) of values (M, K). Not by BLAS, whose rounding depends on its number of threads."""
    return np.asarray(np.einsum("m,mk->k", weights, values))
