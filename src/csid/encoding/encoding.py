"""Encode a whole table: the modes of all predictors and the marginals of their levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.positions import STEPS
from csid.encoding.columns import Column, MapColumns, read_columns
from csid.encoding.counts import as_marginal, level_sums
from csid.encoding.modes import Interpolation, Missing, Mode, OrdinalMode, fit_mode
from csid.small_tables import MOST_ROWS, SmallTable, Tabular, left_out

Array = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16]
Positions = NDArray[np.float32] | NDArray[np.uint16]

_ROWS_PER_LEVEL_AND_PREDICTOR = 4
_FEWEST_AUTO_LEVELS, _MOST_AUTO_LEVELS = 16, 255
_LARGEST_STANDARDISED = 4.0


@dataclass(frozen=True)
class EncodedRows:
    """The level of each cell, and its position towards the next.

    codes : (M, N) uint8 or uint16; `I_n` for a missing cell or an unseen category.
    fractions : (M, N) position from 0 to 1 towards the next level; (0, N) when every mode is constant.
        float32; in training rows a multiple of 2^-16, as float32 or as uint16 ("short").
    """

    codes: Codes
    fractions: Positions


@dataclass(frozen=True, repr=False)
class Encoding(Tabular):
    """The fitted modes, in the order of the predictors, and their marginals.

    marginals : N arrays p_n (I_n,): the mean of w_n over the training rows in which predictor n was observed.
    """

    modes: tuple[Mode, ...]
    marginals: tuple[Array, ...]

    def table(self) -> SmallTable:
        """The levels of each predictor."""
        rows = [
            [
                mode.name,
                "number" if mode.n_ordered else "category",
                mode.n_levels,
                *(mode.level_names[at] if mode.n_known else "" for at in (0, mode.n_known - 1)),
                "own level" if mode.missing_level else "no level",
            ]
            for mode in self.modes[:MOST_ROWS]
        ]
        header = ["predictor", "kind", "levels", "from", "to", "missing cells"]
        N = len(self.modes)
        return SmallTable(f"Levels of {N} predictors", header, rows, left_out(N, "predictors"))

    @property
    def levels(self) -> NDArray[np.intp]:
        return np.array([mode.n_levels for mode in self.modes], dtype=np.intp)

    @property
    def known(self) -> NDArray[np.intp]:
        """(N,) the number of levels of observed cells, which come first."""
        return np.array([mode.n_known for mode in self.modes], dtype=np.intp)

    @property
    def ordered(self) -> NDArray[np.intp]:
        return np.array([mode.n_ordered for mode in self.modes], dtype=np.intp)

    @cached_property
    def standardised_levels(self) -> tuple[Array, ...]:
        """N arrays (I_n,): level values of zero mean and unit variance under the marginal, clipped to [-4, 4].

        Zero for levels without a numeric value, and for predictors without variance.
        """
        return tuple(_standardised_levels(mode, p) for mode, p in zip(self.modes, self.marginals, strict=True))

    def encode(self, X: Any, n_rows: int) -> EncodedRows:
        """Levels of the rows of X, and their positions between levels."""
        return _encode(self.modes, X, n_rows, steps=0)

    def encode_training(self, X: Any, n_rows: int) -> EncodedRows:
        """The same for training rows, whose positions are rounded to multiples of 2^-16."""
        return _encode(self.modes, X, n_rows)


def _standardised_levels(mode: Mode, p: Array) -> Array:
    standardised = np.zeros(mode.n_levels)
    weights = p[: mode.n_ordered]
    if not isinstance(mode, OrdinalMode) or weights.sum() == 0.0:
        return standardised
    weights = weights / weights.sum()
    largest = float(np.abs(mode.grid).max())
    values = mode.grid / largest if largest > 0.0 else mode.grid  # squares of huge or tiny numbers leave the range
    values = values - weights @ values
    deviation = np.sqrt(weights @ values**2)
    if deviation > 0.0:
        limits = -_LARGEST_STANDARDISED, _LARGEST_STANDARDISED
        standardised[: mode.n_ordered] = np.clip(values / deviation, *limits)
    return standardised


class Levels(NamedTuple):
    """How predictors are encoded.

    most : the largest number of levels of a numeric predictor, or an `Encoding` whose levels are used.
    """

    most: int | Literal["auto"] | Encoding
    interpolation: Interpolation
    missing: Missing

    def most_of(self, n_rows: int, n_predictors: int) -> int:
        """The largest number of levels of a numeric predictor fitted to `n_rows` rows."""
        if isinstance(self.most, Encoding):
            raise TypeError("the levels are given as an Encoding, so their number is not chosen from the rows.")
        return auto_levels(n_rows, n_predictors) if self.most == "auto" else self.most


def fit_encoding(
    X: Any,
    n_rows: int,
    names: Sequence[str],
    weights: Array,
    train: NDArray[np.intp],
    levels: Levels,
    categorical: Sequence[bool | None],
    map_columns: MapColumns = map,
) -> tuple[Encoding, EncodedRows]:
    """Fit the levels of every predictor on the training rows of X, and encode all rows.

    Parameters
    ----------
    weights : (M,) sample weights
    train : indices of the rows that levels and marginals are fitted on
    categorical : for each predictor True, False, or None to decide by the type of its column
    map_columns : such as the one from `column_threads`
    """
    most = levels.most_of(len(train), len(names))
    mass = None if np.ptp(weights[train]) == 0 else weights[train]
    some = None if len(train) == n_rows else train
    fitted: dict[int, Mode] = {}

    def fit(n: int, column: Column) -> None:
        flag = categorical[n]
        is_category = not column.is_ordered if flag is None else flag
        fitted[n] = fit_mode(column, some, names[n], mass, most, levels.interpolation, levels.missing, is_category)

    for _ in map_columns(fit, range(len(names)), read_columns(X)):
        pass
    modes = tuple(fitted[n] for n in range(len(names)))
    rows = _encode(modes, X, n_rows, map_columns=map_columns)
    return Encoding(modes, _marginals(modes, rows, mass, some, map_columns)), rows


def refine(encodings: Sequence[Encoding], X: Any, n_rows: int, weights: Array) -> Encoding:
    """The union of the levels of several encodings of a table, with its marginals on them; for linear interpolation.

    A function that is linear between the levels of one encoding is also linear between those of the union, so factors
    are interpolated without error.
    """
    modes = refined_modes(encodings)
    rows, train = _encode(modes, X, n_rows), np.flatnonzero(weights)
    mass = None if np.ptp(weights[train]) == 0 else weights[train]
    return Encoding(modes, _marginals(modes, rows, mass, None if len(train) == n_rows else train))


def refined_modes(encodings: Sequence[Encoding]) -> tuple[Mode, ...]:
    """The union of the levels of several encodings."""
    return tuple(_refined(modes) for modes in zip(*(encoding.modes for encoding in encodings), strict=True))


def _refined(modes: Sequence[Mode]) -> Mode:
    first = modes[0]
    if not isinstance(first, OrdinalMode):
        return first
    return replace(
        first, grid=np.unique(np.concatenate([mode.grid for mode in modes if isinstance(mode, OrdinalMode)]))
    )


def interpolate_factor(A: Array, old: Mode, new: Mode) -> Array:
    """A factor (I, F) on the levels of a mode, interpolated to those of a refined mode."""
    if not isinstance(old, OrdinalMode) or not isinstance(new, OrdinalMode):
        return A
    columns = [np.interp(new.grid, old.grid, column[: len(old.grid)]) for column in A.T]
    return np.vstack([np.transpose(columns), A[len(old.grid) :]])


def auto_levels(n_rows: int, n_predictors: int) -> int:
    """Levels for `levels="auto"`: one for every 4 rows per predictor, from 16 to 255 (one byte per code)."""
    wanted = n_rows // (_ROWS_PER_LEVEL_AND_PREDICTOR * n_predictors)
    return min(max(wanted, _FEWEST_AUTO_LEVELS), _MOST_AUTO_LEVELS)


def _encode(
    modes: Sequence[Mode], X: Any, n_rows: int, steps: int = STEPS, map_columns: MapColumns = map
) -> EncodedRows:
    codes: NDArray[Any] = np.empty((n_rows, len(modes)), code_type(modes), order="F")
    linear = any(mode.linear for mode in modes)
    fractions = np.zeros((n_rows if linear else 0, len(modes)), np.float32, order="F")
    encode_columns(modes, X, codes, fractions, steps, map_columns)
    return EncodedRows(codes, fractions)


def code_type(modes: Sequence[Mode]) -> type[np.uint8] | type[np.uint16]:
    """uint8 where every mode has at most 255 levels, else uint16."""
    return np.uint16 if max(mode.n_levels for mode in modes) > np.iinfo(np.uint8).max else np.uint8


def encode_columns(
    modes: Sequence[Mode],
    X: Any,
    codes: NDArray[Any],
    fractions: NDArray[Any],
    steps: int = STEPS,
    map_columns: MapColumns = map,
) -> None:
    """Fill codes (M, N) and fractions, (M, N) or (0, N), from a table of M rows and N columns.

    steps : fractions are rounded to multiples of 1 / steps; 0 for no rounding.
    map_columns : such as the map of a thread pool.
    """
    if tuple(X.shape) != codes.shape:  # else columns without a partner would keep what was in memory before
        raise ValueError(
            f"the table has {X.shape[0]} rows and {X.shape[1]} columns, but {codes.shape[0]} rows and "
            f"{codes.shape[1]} columns are encoded: give the columns that the encoding was fitted to."
        )

    def encode(n: int, column: Column) -> None:
        modes[n].encode(column, codes[:, n], fractions[:, n] if modes[n].linear else None, steps)

    for _ in map_columns(encode, range(len(modes)), read_columns(X)):
        pass


def _marginals(
    modes: Sequence[Mode],
    rows: EncodedRows,
    mass: Array | None,
    train: NDArray[np.intp] | None,
    map_columns: MapColumns = map,
) -> tuple[Array, ...]:
    some = slice(None) if train is None else train
    found: dict[int, Array] = {}

    def count(n: int, mode: Mode) -> None:
        positions = rows.fractions[some, n] if mode.linear else None
        found[n] = as_marginal(level_sums(rows.codes[some, n], positions, mass, mode.n_levels))

    for _ in map_columns(count, range(len(modes)), modes):
        pass
    return tuple(found[n] for n in range(len(modes)))
