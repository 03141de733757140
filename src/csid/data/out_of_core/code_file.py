"""The code file: encoded rows on disk, memory-mapped, so that sums over rows read them like arrays in memory.

A folder with a JSON header and .npy arrays, which hold numbers only and cannot run code: codes mode by mode in one or
two bytes per cell, positions in two bytes per cell, targets and weights. See docs/decisions/0014-code-files.md.
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

from csid.data.problem import Problem
from csid.encoding import Encoding, Mode
from csid.encoding.encoding import code_type
from csid.files import atomic_folder
from csid.tensor.cells import Cells

Array = NDArray[np.float64]

VERSION = 1
_HEADER = "header.json"


class CodeFileError(ValueError):
    """A folder is not a code file, or has a version that is not supported."""


@dataclass(frozen=True)
class CodeFile:
    """Encoded rows.

    codes : (N, M) uint8 or uint16.
    positions : (N, M) uint16; (N, 0) float32 when every mode is constant.
    targets : (M, K) standardised; weights : (M,).
    """

    codes: NDArray[Any]
    positions: NDArray[Any]
    targets: Array
    weights: Array

    @classmethod
    @contextmanager
    def create(cls, path: Path, modes: tuple[Mode, ...], n_rows: int, n_outputs: int) -> Iterator["CodeFile"]:
        """A new file to be filled in the block. It replaces `path` when the block succeeds, else it is removed."""
        with atomic_folder(path) as temporary:
            linear = any(mode.linear for mode in modes)
            N, none = len(modes), np.zeros((len(modes), 0), np.float32)
            file = cls(
                _new(temporary / "codes.npy", (N, n_rows), code_type(modes)),
                _new(temporary / "positions.npy", (N, n_rows), np.uint16) if linear else none,
                _new(temporary / "targets.npy", (n_rows, n_outputs), np.float64),
                _new(temporary / "weights.npy", (n_rows,), np.float64),
            )
            yield file
            header = {"version": VERSION, "rows": n_rows, "predictors": N, "outputs": n_outputs}
            (temporary / _HEADER).write_text(json.dumps(header | {"linear": linear}))

    @classmethod
    def open(cls, path: Path) -> "CodeFile":
        """Map an existing file. Its arrays are checked against its header."""
        try:
            header = json.loads((path / _HEADER).read_text())
            version, M, N, K = (int(header[name]) for name in ("version", "rows", "predictors", "outputs"))
            linear = bool(header["linear"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CodeFileError(f"{path} is not a code file: {error}.") from None
        if version != VERSION:
            raise CodeFileError(f"{path} is a code file of version {version}, but this csid reads version {VERSION}.")
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
        """The problem of these rows: views of the file, without copies."""
        plain = (np.asarray(array) for array in (self.codes, self.positions, self.weights, self.targets))
        codes, positions, weights, targets = plain
        cells = Cells(codes.T, positions.T, encoding.levels, encoding.known, mapped=True)
        return Problem(cells, weights, targets, encoding.ordered, encoding.marginals)


def _new(path: Path, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
    """A new mapped file whose disk space is allocated at once: writing to it on a full disk would kill the process."""
    array = open_memmap(path, "w+", dtype, shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def _mapped(path: Path, shape: tuple[int, ...], types: tuple[type, ...]) -> NDArray[Any]:
    try:  # copy-on-write, because the compiled loops take writable arrays only
        array: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CodeFileError(f"{path} is not an array of a code file: {error}.") from None
    if array.shape != shape or array.dtype not in types or not array.flags.c_contiguous:
        legal = " or ".join(np.dtype(kind).name for kind in types)
        raise CodeFileError(f"{path} holds {array.dtype} of shape {array.shape}, but must hold {legal} of {shape}.")
    return array
