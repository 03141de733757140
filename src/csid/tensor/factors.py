"""The factors during a fit: one padded table for the kernels, and views of it for the algebra."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from csid._kernels.simd import WIDTH

Array = NDArray[np.float64]

_LINE_BYTES = 64


@dataclass
class Factors:
    """State of a fit.

    table : (sum_n (I_n + 1) + 1, S) stacked factors in double or single precision: for each mode its I_n levels and a
        row for a missing cell, and at the end a spare row. S is the padded rank.
    V : (K, S) output factor; with a single output all ones, and never updated.
    bias : (K,)
    rank : F; columns beyond it are zero.
    levels : (N,) I_n; offsets : (N,) first row of each mode; marginals : N arrays p_n (I_n,).
    """

    table: NDArray[Any]
    V: Array
    bias: Array
    rank: int
    levels: NDArray[np.intp]
    offsets: NDArray[np.intp]
    marginals: tuple[Array, ...]

    @cached_property
    def _mode_of_row(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.levels)), self.levels + 1)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.table.nbytes + self.V.nbytes

    @property
    def n_modes(self) -> int:
        return len(self.levels)

    def factor(self, n: int) -> Array:
        """A view of `A_n`, (I_n, F)."""
        start = int(self.offsets[n])
        return self.table[start : start + int(self.levels[n]), : self.rank]

    def padded_factor(self, n: int) -> Array:
        """A view of `A_n` and the row of a missing cell below it, with padding columns: (I_n + 1, S)."""
        start = int(self.offsets[n])
        return self.table[start : start + int(self.levels[n]) + 1]

    def set_factor(self, n: int, A: Array) -> None:
        """Replace `A_n` and the row `p_n^T A_n` that stands for a missing cell."""
        self.factor(n)[:] = A
        self.table[int(self.offsets[n]) + int(self.levels[n]), : self.rank] = self.marginals[n] @ A

    def rescale(self, scale: Array) -> None:
        """Multiply the columns of each factor by a row of `scale`, (N, F)."""
        self.table[:-1, : self.rank] *= scale[self._mode_of_row]

    @property
    def output_factor(self) -> Array:
        """A view of `V`, (K, F)."""
        return self.V[:, : self.rank]

    def components(self, chosen: NDArray[np.intp]) -> "Factors":
        """A copy of some components, with the same bias."""
        some = replace(
            self,
            table=np.zeros((len(self.table), padded_rank(len(chosen))), self.table.dtype),
            V=np.zeros((len(self.V), padded_rank(len(chosen)))),
            rank=len(chosen),
        )
        some.table[:, : some.rank], some.output_factor[:] = self.table[:, chosen], self.V[:, chosen]
        return some

    def set_components(self, chosen: NDArray[np.intp], some: "Factors") -> None:
        """Replace some components by those of other factors."""
        self.table[:, chosen], self.V[:, chosen] = some.table[:, : some.rank], some.output_factor

    def of_modes(self, modes: NDArray[np.intp]) -> "Factors":
        """A copy with the table rows of some modes only, for sums over these. Offsets of other modes are invalid."""
        lengths = self.levels[modes] + 1
        starts = np.cumsum(lengths) - lengths
        rows = np.arange(lengths.sum()) + np.repeat(self.offsets[modes] - starts, lengths)
        offsets = np.zeros_like(self.offsets)
        offsets[modes] = starts
        spare = np.zeros((1, self.table.shape[1]), self.table.dtype)
        return replace(self, table=np.vstack([self.table[rows], spare]), offsets=offsets)

    def rounded(self) -> "Factors":
        """The factors in single precision; infinite where they overflow."""
        table = cache_aligned(self.table.shape, np.float32)
        with np.errstate(over="ignore"):
            table[:] = self.table
        return replace(self, table=table)

    def copy(self) -> "Factors":
        return replace(self, table=self.table.copy(), V=self.V.copy(), bias=self.bias.copy())


def cache_aligned(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """An uninitialised array that starts at a cache line, so that no SIMD vector straddles two lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.empty(size + _LINE_BYTES, np.uint8)
    start = -buffer.ctypes.data % _LINE_BYTES
    return buffer[start : start + size].view(dtype).reshape(shape)


def table_offsets(levels: NDArray[np.intp]) -> NDArray[np.intp]:
    """First row of each mode in a stacked table, where each mode has `I_n` levels and a row for a missing cell."""
    return np.concatenate([[0], np.cumsum(levels[:-1] + 1)]).astype(np.intp)


def table_rows(levels: NDArray[np.intp]) -> int:
    """Number of rows of a stacked table: those of all modes and a spare row at the end."""
    return int(levels.sum()) + len(levels) + 1


def padded_rank(rank: int) -> int:
    """The rank rounded up to a multiple of the SIMD width."""
    return -(-rank // WIDTH) * WIDTH


def stack_factors(factors: tuple[Array, ...], V: Array, bias: Array, marginals: tuple[Array, ...]) -> Factors:
    """Stack factors `A_n` (I_n, F), `V` (K, F) and bias (K,) into a padded table."""
    rank = V.shape[1]
    levels = np.array([len(A) for A in factors], dtype=np.intp)
    S = padded_rank(rank)
    stacked = Factors(
        table=cache_aligned((table_rows(levels), S)),
        V=np.zeros((len(V), S)),
        bias=np.array(bias, dtype=np.float64),
        rank=rank,
        levels=levels,
        offsets=table_offsets(levels),
        marginals=marginals,
    )
    stacked.table[:] = 0.0
    stacked.output_factor[:] = V
    for n, A in enumerate(factors):
        stacked.set_factor(n, A)
    return stacked
