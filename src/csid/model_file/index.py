"""The index of a safetensors file, checked against the bytes that are there before any array is allocated."""

import json
import math
from pathlib import Path
from typing import Any, TypeGuard

from csid.model_file.errors import ModelFileError

_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "I64": 8}
_LONGEST_INDEX = 1 << 26
_MOST_DIMENSIONS = 3


def checked_header(path: Path) -> str:
    """The header of csid in the index of a file whose arrays have legal types and shapes, and are all there."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        looks_right = 1 < length <= _LONGEST_INDEX and file.read(1) == b"{"
        if size < 8 or not looks_right:
            raise ModelFileError(f"{path} is not a csid model.")
        if length > size - 8:
            raise _truncated(path, size)
        file.seek(8)
        text = file.read(length)
    try:
        index = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is not a csid model: its index is not JSON.") from None
    metadata = index.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get("csid"), str):
        raise ModelFileError(f"{path} is a safetensors file, but not one of csid.")
    end = 8 + length + max((_end_of(path, name, entry) for name, entry in index.items()), default=0)
    if end > size:
        raise _truncated(path, size)
    if end < size:
        raise ModelFileError(f"{path} is damaged: {size - end} bytes follow its last array. Copy or save it again.")
    return str(metadata["csid"])


def _truncated(path: Path, size: int) -> ModelFileError:
    return ModelFileError(f"{path} is not a valid csid model file (truncated after {size} bytes).")


def _end_of(path: Path, name: str, entry: Any) -> int:
    """Where an array ends, if its type, shape and place agree."""
    if not isinstance(entry, dict):
        raise array_error(path, name, "has no type and shape")
    kind, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(kind, str) or kind not in _ITEM_BYTES:
        raise array_error(path, name, f"has type {kind}")
    if not _are_sizes(shape) or len(shape) > _MOST_DIMENSIONS:
        raise array_error(path, name, f"does not have a shape of at most {_MOST_DIMENSIONS} dimensions")
    if not _are_sizes(place) or len(place) != 2 or place[1] - place[0] != math.prod(shape) * _ITEM_BYTES[kind]:
        raise array_error(path, name, "does not have the bytes that its shape needs")
    return int(place[1])


def _are_sizes(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 53 for value in values)


def array_error(path: object, name: str, why: str) -> ModelFileError:
    """The error for an array."""
    return ModelFileError(f"{path} is not a valid csid model file: its array {name!r} {why}.")
