"""The encoded samples: levels, targets and weights, with repeated cells merged into counts and means."""

from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16]
Positions = NDArray[np.float32] | NDArray[np.uint16]

_ROWS_AT_ONCE = 1 << 20


def sums_over_rows(weights: Array, values: Array) -> Array:
    """Weighted sums (K,) of values (M, K); not by BLAS, whose last digits depend on how many threads it has."""
    return np.asarray(np.einsum("m,mk->k", weights, values))


class Known(Protocol):
    """What is known of samples without looking at a row; see `Problem`."""

    @property
    def levels(self) -> NDArray[np.intp]: ...
    @property
    def ordered(self) -> NDArray[np.intp]: ...
    @property
    def marginals(self) -> tuple[Array, ...]: ...
    @property
    def any_missing(self) -> NDArray[np.bool_]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_modes(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def within(self) -> Array: ...
    @property
    def mean(self) -> Array: ...
    @property
    def squares(self) -> Array: ...
    @property
    def least(self) -> Array: ...


@dataclass(frozen=True)
class Problem:
    """What a fit reads of the data.

    codes : (M, N) uint8 or uint16, level of each cell, `levels[n]` for a missing one.
    fractions : (M, N) position towards the next level, or (0, N) when every cell is on a level: float32, or uint16 in
        steps of 2^-16, as training rows are rounded to.
        Both are kept mode by mode (in Fortran order), so that a run of rows and a few modes of it fit in the cache.
    weights : (M,) positive sample weights, the tensor W of Eq. (6) once repeated cells are merged.
    targets : (M, K) outputs, the tensor Y of Eq. (6).
    levels : (N,) the number of levels I_n.
    ordered : (N,) how many of them, from the first, have neighbours (0 for a category).
    marginals : N arrays p_n (I_n,), the rank-one PMF.
    within : (K,) sums of squares inside merged cells, constant in the factors.
    mapped : whether the rows are in a file, and arrays are views of it: then rows are not put in another order.
    """

    codes: Codes
    fractions: Positions
    weights: Array
    targets: Array
    levels: NDArray[np.intp]
    ordered: NDArray[np.intp]
    marginals: tuple[Array, ...]
    within: Array = field(default_factory=lambda: np.zeros(1))
    mapped: bool = False

    def __post_init__(self) -> None:
        for name in ("codes", "fractions"):
            object.__setattr__(self, name, np.asfortranarray(getattr(self, name)))

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_modes(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @cached_property
    def cells(self) -> tuple[Codes, Positions]:
        """What the kernels read of the predictors: codes (N, M) and fractions, (N, M) or (N, 0)."""
        return self.codes.T, self.fractions.T

    @cached_property
    def any_missing(self) -> NDArray[np.bool_]:
        """(N,) whether a predictor is missing in some row."""
        return np.array([(codes == I_n).any() for codes, I_n in zip(self.codes.T, self.levels, strict=True)])

    @cached_property
    def incomplete(self) -> NDArray[np.intp]:
        """Rows in which some predictor is missing."""
        lacking = np.zeros(self.n_rows, np.bool_)
        for codes, I_n in zip(self.codes.T, self.levels, strict=True):
            lacking |= codes == I_n
        return np.flatnonzero(lacking)

    @cached_property
    def unweighted(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weights == 1.0).all())

    @cached_property
    def roots(self) -> Array:
        return self.weights if self.unweighted else np.sqrt(self.weights)

    @cached_property
    def total_weight(self) -> float:
        """The paper's M."""
        return float(self.weights.sum())

    @property
    def mean(self) -> Array:
        """(K,) of the targets."""
        return sums_over_rows(self.weights, self.targets) / self.total_weight

    @property
    def squares(self) -> Array:
        """(K,) sums of the squares of the targets about their mean, without those inside merged cells."""
        mean, sums = self.mean, np.zeros(self.n_outputs)
        for start in range(0, self.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            sums += sums_over_rows(self.weights[part], (self.targets[part] - mean) ** 2)
        return sums

    @property
    def least(self) -> Array:
        """(K,) the smallest target of each output."""
        return np.asarray(self.targets.min(axis=0))

    def __getstate__(self) -> dict[str, Any]:
        """As it travels between processes: without what can be made again from it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __copy__(self) -> "Problem":
        """With what is known of the rows."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.data_bytes

    @property
    def data_bytes(self) -> int:
        """Bytes of the encoded samples in memory, as many where they are in a file."""
        return self.codes.nbytes + 4 * self.fractions.size + self.weights.nbytes + self.targets.nbytes

    def take(self, rows: NDArray[Any]) -> "Problem":
        """The problem on some of its rows, given by index or mask."""
        return replace(
            self,
            codes=self.codes.T[:, rows].T,
            fractions=self.fractions.T[:, rows].T if len(self.fractions) else self.fractions,
            weights=self.weights[rows],
            targets=self.targets[rows],
            within=np.zeros(self.n_outputs),
            mapped=False,
        )

    def with_weights(self, weights: Array) -> "Problem":
        """The same rows with other weights; which predictors are missing is not looked for again."""
        other = replace(self, weights=weights)
        other.__dict__["any_missing"] = self.any_missing
        return other

    def also_lacking(self, modes: NDArray[np.bool_]) -> "Problem":
        """The same rows, as part of more, in which other predictors (N,) are missing as well."""
        other = copy(self)
        other.__dict__["any_missing"] = self.any_missing | modes
        return other

    def with_targets(self, targets: Array) -> "Problem":
        """The same rows with other targets; what is known of the rows is not looked for again."""
        _ = self.cells, self.any_missing, self.roots, self.total_weight
        other = copy(self)
        object.__setattr__(other, "targets", targets)
        return other

    def reweighted(self, factors: Array) -> "Problem":
        """The problem with its weights multiplied; rows of factor 0 are dropped, unless rows are in a file."""
        if self.mapped:
            return self.with_weights(self.weights * factors)
        kept = factors > 0
        part = self.take(kept)
        return replace(part, weights=part.weights * factors[kept])


def _hash_rows(columns: list[NDArray[Any]]) -> NDArray[np.uint64]:
    """A number for each row; equal rows have equal ones."""
    hashes = np.full(len(columns[0]), 14695981039346656037, np.uint64)
    for column in columns:
        hashes ^= column
        hashes *= np.uint64(1099511628211)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _same_as_first(columns: list[NDArray[Any]], order: NDArray[np.intp], starts: NDArray[np.intp]) -> bool:
    """Whether every row equals the first row of its group; a group runs from one start to the next in `order`."""
    first = np.repeat(order[starts[:-1]], np.diff(starts))
    return all(np.array_equal(column[order], column[first]) for column in columns)


def _columns_of_cells(problem: Problem) -> list[NDArray[Any]]:
    """Whole numbers that are the same in two rows if the rows fall on the same cell."""
    columns: list[NDArray[Any]] = list(problem.codes.T)
    if len(problem.fractions):
        positions = problem.fractions.T
        columns += list(positions.view(np.uint32) if positions.dtype == np.float32 else positions)
    return columns


def ordered_by_cell(problem: Problem) -> Problem:
    """The same rows in an order that depends on their cells alone, so that sums over them round the same.

    Rows on the same cell keep their order. Rows in a file stay as they are.
    """
    if problem.mapped:
        return problem
    order = np.argsort(_hash_rows(_columns_of_cells(problem)), kind="stable")
    return replace(problem.take(order), within=problem.within)


def merge_repeated_cells(problem: Problem) -> Problem:
    """Merge rows that fall on the same cell into one with their summed weight and mean target: Eq. (5) to Eq. (6).

    The objective is unchanged: the spread inside a cell is kept in `within`. Rows in a file stay as they are.
    """
    if problem.mapped:
        return problem
    columns = _columns_of_cells(problem)
    hashes = _hash_rows(columns)
    ordered = np.sort(hashes)
    if (ordered[1:] != ordered[:-1]).all():
        return problem
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    if not _same_as_first(columns, order, starts):
        return problem
    by_first_row = np.argsort(order[starts[:-1]])
    weights = np.add.reduceat(problem.weights[order], starts[:-1])
    weighted = problem.weights[order, None] * problem.targets[order]
    targets = np.add.reduceat(weighted, starts[:-1], axis=0) / weights[:, None]
    apart = problem.targets[order] - np.repeat(targets, np.diff(starts), axis=0)
    spread = sums_over_rows(problem.weights[order], apart**2)
    merged = problem.take(order[starts[:-1]][by_first_row])
    return replace(
        merged,
        weights=weights[by_first_row],
        targets=targets[by_first_row],
        within=problem.within + spread,
    )
