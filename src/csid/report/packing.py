"""Numbers as text in a page: bytes grouped by significance, deflated, in base 64."""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Place = tuple[int, int]
"""Position of an array among the numbers of a page: its start and its length."""

_DIGITS = 28  # of a fixed-point number; differences of two fit into 32 bits with their sign
_FEWEST_DIGITS = 10
_MOST_BITS = 12 << 23  # of all cells together: 12 MB, and 16 MB in base 64


class Packing:
    """Arrays of a page, one after the other: doubles, and cells of factors as 32-bit integers.

    cells : how many cells of factors are to come. Each has 28 binary digits; on a page of many, as many as keep it
        below 20 MB, but at least ten, whose rounding is small relative to the deviation between the draws.
    """

    def __init__(self, cells: int = 0) -> None:
        self.digits = _DIGITS if _DIGITS * cells <= _MOST_BITS else max(_FEWEST_DIGITS, _MOST_BITS // cells)
        self._doubles: list[Array] = []
        self._cells: list[NDArray[np.uint32]] = []
        self._n_doubles = self._n_cells = 0

    def doubles(self, values: Any) -> Place:
        """Store an array with all its digits, row by row."""
        array = np.asarray(values, dtype=np.float64).ravel()
        self._doubles.append(array)
        self._n_doubles += array.size
        return self._n_doubles - array.size, array.size

    def cells(self, A: Array) -> tuple[int, Place]:
        """Store a factor (I, R) as fixed-point numbers, with a unit per column, stored as a double.

        The unit is 2^-digits of the largest entry. With 28 digits, predictions change by less than 1e-7 of their
        standard deviation. Each level is stored as its difference from the one before, which is small if factors are
        smooth; the lowest bit is the sign.
        """
        largest = np.abs(A).max(axis=0)
        units = np.where(largest > 0.0, largest, 1.0) / 2.0**self.digits
        steps: NDArray[np.int64] = np.diff(np.rint(A / units), axis=0, prepend=0.0).astype(np.int64)
        self._cells.append(((steps << 1) ^ (steps >> 63)).astype(np.uint32).ravel())
        self._n_cells += A.size
        return self._n_cells - A.size, self.doubles(units)

    def texts(self) -> dict[str, str]:
        """All doubles and all cells, in base 64."""
        nothing = np.empty(0)
        return {
            "doubles": _packed(np.concatenate([nothing, *self._doubles]).astype("<f8")),
            "cells": _packed(np.concatenate([nothing.astype(np.uint32), *self._cells]).astype("<u4")),
        }


def _packed(array: NDArray[Any]) -> str:
    shuffled = np.ascontiguousarray(array.view(np.uint8).reshape(-1, array.itemsize).T)
    return base64.b64encode(zlib.compress(shuffled.tobytes(), 7)).decode("ascii")
