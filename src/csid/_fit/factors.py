"""The factors while they are fitted: one padded table for the kernels, views of it for the algebra."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from csid._fit.lanes import WIDTH
from csid._fit.problem import Known

Array = NDArray[np.float64]

_LINE_BYTES = 64


@dataclass
class Factors:
    """State of a fit.

    table : (sum of I_n + 1, plus 1; S) stacked factors as described in `kernels`, in double or single precision.
    V : (K, S) output factor; all ones, and never updated, for a single output.
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
        """A view of `A_n` with the row of a missing cell behind it, padded to whole lanes: (I_n + 1, S)."""
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
        """Some components, copied, with the same bias."""
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
        """What sums over some modes read: a table of theirs alone, copied; the offsets of the others mean nothing."""
        lengths = self.levels[modes] + 1
        starts = np.cumsum(lengths) - lengths
        rows = np.arange(lengths.sum()) + np.repeat(self.offsets[modes] - starts, lengths)
        offsets = np.zeros_like(self.offsets)
        offsets[modes] = starts
        spare = np.zeros((1, self.table.shape[1]), self.table.dtype)
        return replace(self, table=np.vstack([self.table[rows], spare]), offsets=offsets)

    def rounded(self) -> "Factors":
        """The factors in single precision; infinite where they are beyond its range."""
        table = whole_lines(self.table.shape, np.float32)
        with np.errstate(over="ignore"):
            table[:] = self.table
        return replace(self, table=table)

    def copy(self) -> "Factors":
        return replace(self, table=self.table.copy(), V=self.V.copy(), bias=self.bias.copy())


def whole_lines(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """An array to be filled that begins with a cache line, so that no group of lanes lies in two."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    spacious = np.empty(size + _LINE_BYTES, np.uint8)
    start = -spacious.ctypes.data % _LINE_BYTES
    return spacious[start : start + size].view(dtype).reshape(shape)


def table_offsets(levels: NDArray[np.intp]) -> NDArray[np.intp]:
    """First row of each mode in a stacked table: `I_n` levels and one row for missing, mode under mode."""
    return np.concatenate([[0], np.cumsum(levels[:-1] + 1)]).astype(np.intp)


def table_rows(levels: NDArray[np.intp]) -> int:
    """Rows of a stacked table: those of the modes, and a spare one behind the last."""
    return int(levels.sum()) + len(levels) + 1


def padded_rank(rank: int) -> int:
    """The rank rounded up to whole lanes."""
    return -(-rank // WIDTH) * WIDTH


def stack_factors(factors: tuple[Array, ...], V: Array, bias: Array, marginals: tuple[Array, ...]) -> Factors:
    """Factors `A_n` (I_n, F), `V` (K, F) and bias (K,) as a padded table."""
    rank = V.shape[1]
    levels = np.array([len(A) for A in factors], dtype=np.intp)
    S = padded_rank(rank)
    stacked = Factors(
        table=whole_lines((table_rows(levels), S)),
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


def random_factors(known: Known, rank: int, rng: np.random.Generator, low_bias: bool = True) -> Factors:
    """A start near one, whose products over many predictors stay of order one.

    A low bias starts two standard deviations below the mean of the targets, or at the least of them: what it leaves to
    the products is then positive, as they are; otherwise it starts at the mean (docs/decisions/0004-start-of-bias.md).
    """
    spread = 0.5 * min(1.0, np.sqrt(12.0 / known.n_modes))

    def near_one(rows: int) -> Array:
        return np.asarray(1.0 + spread * rng.uniform(-1.0, 1.0, (rows, rank)))

    factors = tuple(near_one(int(levels)) for levels in known.levels)
    V = np.ones((1, rank)) if known.n_outputs == 1 else near_one(known.n_outputs)
    if not low_bias:
        return stack_factors(factors, V, known.mean, known.marginals)
    deviation = np.sqrt((known.squares + known.within) / known.total_weight)
    low = np.maximum(known.least, known.mean - 2.0 * deviation)
    return stack_factors(factors, V, low, known.marginals)
