"""Arrays and a JSON header in one safetensors file: written atomically, verified by a checksum, validated when read.

Layout of safetensors: the length of a JSON index; the index (name, type, shape and offset of every array, and strings
by name); the arrays. The string `csid` is our header, whose first entry is the checksum of its rest and all arrays.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from csid.files import atomic_file
from csid.model_file.migration import migrated

PROTOCOL = 2
"""Increased when earlier versions can no longer read new files. `migration` converts files of earlier protocols."""

_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}
_LONGEST_HEADER = 1 << 26
_SUM_ENDS = len('{"sha256": "", ') + 64


class ModelFileError(ValueError):
    """A model file cannot be read."""


@dataclass(frozen=True)
class Section:
    """A JSON object of a header, whose entries are checked as they are read.

    path : of the file, for error messages; place : of the object in the header, such as `predictors.0.`.
    """

    path: str
    place: str
    entries: Mapping[str, Any]

    def wrong(self, key: str, why: str) -> ModelFileError:
        """The error for an entry."""
        return ModelFileError(f"{self.path} is not a valid csid model file: its header's {self.place}{key} {why}.")

    def error(self, key: str, why: str) -> ModelFileError:
        """The error for an entry of the header as a whole."""
        return Section(self.path, "", {}).wrong(key, why)

    def _get(self, key: str, kind: type | tuple[type, ...], what: str) -> Any:
        if key not in self.entries:
            raise self.wrong(key, "is missing")
        value = self.entries[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(key, f"is not {what}")
        return value

    def text(self, key: str) -> str:
        return str(self._get(key, str, "a string"))

    def flag(self, key: str) -> bool:
        return bool(self._get(key, bool, "true or false"))

    def whole(self, key: str, least: int = 0, most: int = 1 << 53) -> int:
        value = int(self._get(key, int, "an integer"))
        if not least <= value <= most:
            raise self.wrong(key, f"is {value}, not from {least} to {most}")
        return value

    def number(self, key: str) -> float:
        """A number. null stands for NaN, and the strings "inf" and "-inf" for infinity."""
        value = self._get(key, (int, float, str, type(None)), "a number")
        if isinstance(value, str) and value not in ("inf", "-inf"):
            raise self.wrong(key, "is not a number")
        return float("nan") if value is None else float(value)

    def texts(self, key: str) -> list[str]:
        values = self._get(key, list, "a list of strings")
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "is not a list of strings")
        return list(values)

    def items(self, key: str) -> list[Any]:
        return list(self._get(key, list, "a list"))

    def section(self, key: str) -> "Section":
        return Section(self.path, f"{self.place}{key}.", self._get(key, dict, "an object"))

    def sections(self, key: str) -> Iterator["Section"]:
        for at, entries in enumerate(self._get(key, list, "a list of objects")):
            if not isinstance(entries, dict):
                raise self.wrong(f"{key}.{at}", "is not an object")
            yield Section(self.path, f"{self.place}{key}.{at}.", entries)


def json_number(value: float) -> float | str | None:
    """A number as JSON, which `Section.number` reads."""
    if np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else str(float(value))


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file. An existing file is replaced only when the new one is complete."""
    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    rest = json.dumps({"protocol": PROTOCOL, **header}, allow_nan=False)[1:]
    with atomic_file(path) as temporary:
        try:
            save_file(stored, temporary, {"csid": f'{{"sha256": "{_sum(rest, stored)}", {rest}'})
        except SafetensorError as error:
            raise OSError(f"{path} could not be written: {error}") from None


def read(path: str | os.PathLike[str]) -> tuple[Section, dict[str, NDArray[Any]]]:
    """The header and the arrays of a file, converted to the current protocol."""
    name = str(Path(path))
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {name}")
    if not Path(path).is_file():
        raise ModelFileError(f"{name} is not a file.")
    _check_index_length(Path(path))
    try:
        with safe_open(path, framework="numpy") as file:
            texts = file.metadata() or {}
            if "csid" not in texts:
                raise ModelFileError(f"{name} is a safetensors file, but not one of csid.")
            types = {key: file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118, it is no dict
            for key, kind in types.items():
                if kind not in _TYPES:
                    raise ModelFileError(f"{name} is not a valid csid model file: its array {key!r} has type {kind}.")
            arrays = {key: file.get_tensor(key) for key in types}
    except SafetensorError as error:
        raise ModelFileError(f"{name} is not a csid model, or it was truncated or damaged: {error}.") from None
    header = _parsed(name, texts["csid"])
    protocol = header.whole("protocol")
    if protocol > PROTOCOL:
        written_by = header.entries.get("csid", "a later version")
        raise ModelFileError(
            f"{name} was written by csid {written_by} in protocol {protocol}, but this version reads up to {PROTOCOL}: "
            "upgrade with pip install --upgrade csid."
        )
    _check_sum(header, texts["csid"], arrays)
    if protocol < PROTOCOL:
        entries, arrays = migrated(header.entries, arrays)
        header = Section(header.path, header.place, entries)
    return header, arrays


def _check_index_length(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(8)
    if len(start) < 8:
        raise ModelFileError(f"{path} is not a csid model: it has {len(start)} bytes.")
    length = int.from_bytes(start, "little")
    if length > min(_LONGEST_HEADER, path.stat().st_size - 8):
        raise ModelFileError(f"{path} is not a csid model, or it was truncated: its index is longer than the file.")


def _parsed(name: str, text: str) -> Section:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is not a valid csid model file: its header is not JSON ({error}).") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{name} is not a valid csid model file: its header is not an object.")
    return Section(name, "", header)


def _check_sum(header: Section, text: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    if header.text("sha256") != _sum(text[_SUM_ENDS:], arrays):
        raise ModelFileError(f"{header.path} is damaged: its checksum does not match. Copy or save it again.")


def _sum(rest: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(rest.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data.cast("B") if array.size else b"")
    return digest.hexdigest()
