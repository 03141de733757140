"""The code file: encoded rows on disk, memory-mapped, so that sums over rows read them as they read memory.

A folder with a header in JSON and arrays as .npy, which hold numbers and run nothing: codes mode by mode, a byte or two
a cell, positions in two bytes a cell, targets and weights. See docs/decisions/0014-code-files.md.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from csid._fit.problem import Problem
from csid.encoding import Encoding, Mode
from csid.encoding.encoding import code_type
from csid.files import folder_written_aside

Array = NDArray[np.float64]

VERSION = 1
_HEADER = "header.json"


class CodeFileError(ValueError):
    """A folder is no code file, or not one that this version reads."""


@dataclass(frozen=True)
class CodeFile:
    """Encoded rows.

    codes : (N, M) uint8 or uint16; positions : (N, M) uint16, or (N, 0) float32 where every cell is on a level.
    targets : (M, K) in units of their spread; weights : (M,).
    """

    codes: NDArray[Any]
    positions: NDArray[Any]
    targets: Array
    weights: Array

    @classmethod
    @contextmanager
    def written(cls, path: Path, modes: tuple[Mode, ...], n_rows: int, n_outputs: int) -> Iterator["CodeFile"]:
        """A new file, to be filled; it takes its place at `path` when the block ends well, else it is removed."""
        with folder_written_aside(path) as aside:
            linear = any(mode.linear for mode in modes)
            N, none = len(modes), np.zeros((len(modes), 0), np.float32)
            file = cls(
                _new(aside / "codes.npy", (N, n_rows), code_type(modes)),
                _new(aside / "positions.npy", (N, n_rows), np.uint16) if linear else none,
                _new(aside / "targets.npy", (n_rows, n_outputs), np.float64),
                _new(aside / "weights.npy", (n_rows,), np.float64),
            )
            yield file
            header = {"version": VERSION, "rows": n_rows, "predictors": N, "outputs": n_outputs}
            (aside / _HEADER).write_text(json.dumps(header | {"linear": linear}))

    @classmethod
    def opened(cls, path: Path) -> "CodeFile":
        """A file as it was written; its arrays are checked against its header."""
        try:
            header = json.loads((path / _HEADER).read_text())
            version, M, N, K = (int(header[name]) for name in ("version", "rows", "predictors", "outputs"))
            linear = bool(header["linear"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CodeFileError(f"{path} is no code file: {error}.") from None
        if version != VERSION:
            raise CodeFileError(f"{path} is a code file of version {version}; this csid reads version {VERSION}.")
        none = np.zeros((N, 0), np.float32)
        return cls(
            _mapped(path / "codes.npy", (N, M), (np.uint8, np.uint16)),
            _mapped(path / "positions.npy", (N, M), (np.uint16,)) if linear else none,
            _mapped(path / "targets.npy", (M, K), (np.float64,)),
            _mapped(path / "weights.npy", (M,), (np.float64,)),
        )

    @property
    def n_rows(self) -> int:
        return len(self.weights)

    def problem(self, encoding: Encoding) -> Problem:
        """The rows as a fit reads them: views of the file, nothing is copied."""
        plain = (np.asarray(array) for array in (self.codes, self.positions, self.weights, self.targets))
        codes, positions, weights, targets = plain
        levels, ordered = encoding.levels, encoding.ordered
        return Problem(codes.T, positions.T, weights, targets, levels, ordered, encoding.marginals, mapped=True)


def _new(path: Path, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
    """An array in a new file whose space is taken at once: writing to a mapped file on a full disk ends the process."""
    array = open_memmap(path, "w+", dtype, shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def _mapped(path: Path, shape: tuple[int, ...], types: tuple[type, ...]) -> NDArray[Any]:
    try:  # writable, as compiled loops know no other arrays; what is written does not reach the file
        array: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CodeFileError(f"{path} is no array of a code file: {error}.") from None
    if array.shape != shape or array.dtype not in types or not array.flags.c_contiguous:
        raise CodeFileError(f"{path} holds {array.dtype} of shape {array.shape}, where {shape} is expected.")
    return array
