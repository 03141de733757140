"""Positions between levels in sixteen bits: what a fit reads of them, whether they are kept as floats or as bytes.

A training cell lies a multiple of 2^-16 of the way to the next level. In memory that is a float32, which holds it
exactly; in files and between machines it is a uint16, at half the size. Compiled loops read both to the same number.
See docs/decisions/0014-code-files.md.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from csid._kernels.simd import peek

STEPS = 1 << 16
"""Steps from one level to the next; a cell is at most one step below the next."""

_STEP = np.float32(1.0 / STEPS)


def as_numbers(positions: NDArray[Any]) -> NDArray[np.float64]:
    """Positions as parts of the way to the next level."""
    numbers = positions.astype(np.float64)
    if positions.dtype == np.uint16:
        numbers *= 1.0 / STEPS
    return numbers


def position(positions: Any, at: Any) -> Any:
    """The position at a flat index, as a float32."""
    raise NotImplementedError("called from compiled code only")


@overload(position, jit_options={"nogil": True, "error_model": "numpy"})
def _position_in_its_type(positions: Any, at: Any) -> Callable[..., Any]:
    return _short_position if positions.dtype == types.uint16 else _float_position


def _short_position(positions: Any, at: Any) -> Any:
    return np.float32(peek(positions, at)) * _STEP


def _float_position(positions: Any, at: Any) -> Any:
    return peek(positions, at)
