"""Prefix and suffix products: their product is over all predictors but one, without a division."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def before(values: Array) -> Array:
    """Products over all entries before each, along the first axis.

    >>> before(np.array([2.0, 3.0, 5.0])).tolist()
    [1.0, 2.0, 6.0]
    """
    return np.asarray(np.cumprod(np.concatenate([np.ones_like(values[:1]), values[:-1]]), axis=0))


def behind(values: Array) -> Array:
    """Products over all entries after each, along the first axis.

    >>> behind(np.array([2.0, 3.0, 5.0])).tolist()
    [15.0, 5.0, 1.0]
    """
    return before(values[::-1])[::-1]
