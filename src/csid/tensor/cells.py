"""The cells of the tensor that rows fall on: their encoded predictors, without targets and weights."""

from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8] | NDArray[np.uint16]
Positions = NDArray[np.float32] | NDArray[np.uint16]


@dataclass(frozen=True)
class Cells:
    """The cells of M rows and N predictors, all on the tensor: the compiled loops that read them check nothing.

    Codes and fractions are in Fortran order, so that a run of rows and a few of its modes fit into the cache.

    codes : (M, N) uint8 or uint16, the level of each cell; `levels[n]` for a missing one.
    fractions : (M, N) position towards the next level, float32, or uint16 in steps of 2^-16; (0, N) when every mode is
        constant.
    levels : (N,) the number of levels I_n.
    known : (N,) the number of levels of observed cells, which come first: all, unless missing cells have a level.
    mapped : whether the arrays are views of a code file; then rows are not reordered.
    """

    codes: Codes
    fractions: Positions
    levels: NDArray[np.intp]
    known: NDArray[np.intp]
    mapped: bool = False

    def __post_init__(self) -> None:
        for name in ("codes", "fractions"):
            object.__setattr__(self, name, np.asfortranarray(getattr(self, name)))
        _check_shapes(self.codes, self.fractions, self.levels)
        _check_codes(self.codes, self.levels)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_modes(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def arrays(self) -> tuple[Codes, Positions]:
        """Codes (N, M) and fractions, (N, M) or (N, 0), for the kernels."""
        return self.codes.T, self.fractions.T

    @cached_property
    def any_missing(self) -> NDArray[np.bool_]:
        """(N,) whether a predictor is missing in some row."""
        return np.array([(codes == I_n).any() for codes, I_n in zip(self.codes.T, self.levels, strict=True)])

    @cached_property
    def incomplete(self) -> NDArray[np.intp]:
        """Indices of the rows in which some predictor is missing."""
        incomplete = np.zeros(self.n_rows, np.bool_)
        for codes, known in zip(self.codes.T, self.known, strict=True):
            incomplete |= codes >= known
        return np.flatnonzero(incomplete)

    @cached_property
    def incomplete_by_pattern(self) -> NDArray[np.intp]:
        """The incomplete rows, with those in which the same predictors are missing next to each other."""
        rows = self.incomplete
        patterns = [codes[rows] >= known for codes, known in zip(self.codes.T, self.known, strict=True)]
        varied = [pattern for pattern in patterns if pattern.any()]
        return rows[np.lexsort(varied)] if varied else rows

    @property
    def data_bytes(self) -> int:
        """Bytes of codes and single-precision fractions, in memory or in a code file."""
        return self.codes.nbytes + 4 * self.fractions.size

    def take(self, rows: NDArray[Any]) -> "Cells":
        """Rows given by indices or a mask, copied into memory."""
        fractions = self.fractions.T[:, rows].T if len(self.fractions) else self.fractions
        return replace(self, codes=self.codes.T[:, rows].T, fractions=fractions, mapped=False)

    def with_codes(self, codes: Codes) -> "Cells":
        """The same rows with other codes."""
        return replace(self, codes=codes)

    def with_any_missing(self, modes: NDArray[np.bool_]) -> "Cells":
        """The same rows, but `any_missing` is also set for `modes` (N,): they are missing in rows seen earlier."""
        other = copy(self)
        other.__dict__["any_missing"] = self.any_missing | modes
        return other

    def __copy__(self) -> "Cells":
        """Copy with cached values."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """As they travel between processes: without what can be made again from them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def _check_shapes(codes: Codes, fractions: Positions, levels: NDArray[np.intp]) -> None:
    N = len(levels)
    if codes.ndim != 2 or codes.shape[1] != N or codes.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"the codes are {codes.dtype} of shape {codes.shape}, but must be uint8 or uint16 of (rows, {N}): one for "
            "each predictor of the model."
        )
    if fractions.shape not in (codes.shape, (0, N)) or fractions.dtype not in (np.float32, np.uint16):
        raise ValueError(
            f"the positions are {fractions.dtype} of shape {fractions.shape}, but must be float32 or uint16 of "
            f"{codes.shape}, or of {(0, N)} if every predictor is constant between levels."
        )


def _check_codes(codes: Codes, levels: NDArray[np.intp]) -> None:
    """The largest legal code is the number of levels, which stands for a missing cell."""
    largest = codes.max(axis=0, initial=0)
    beyond = np.flatnonzero(largest > levels)
    if len(beyond):
        n = int(beyond[0])
        raise ValueError(
            f"predictor {n} has the code {largest[n]} in row {int(np.argmax(codes[:, n])) + 1:,}, but the model has "
            f"{levels[n]} levels of it: codes must be from 0 to {levels[n]}, which is a missing cell."
        )
