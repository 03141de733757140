"""Changes to model files that keep them files: of header entries, of arrays, and of a size wherever it occurs."""

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_NUMBERS = [0.0, -0.0, -1.0, 0.5, 1.0, 2.0, 1e-308, 5e-324, 1e-9, 1e9, 1e154, 1e300, 1.7e308, -1e308]
_VALUES: list[Callable[[], Any]] = [
    lambda: random.choice([0, 1, 2, -1, 3, 1 << 20, 1 << 31, 1 << 53, 1 << 70, 10**400]),
    lambda: random.choice(_NUMBERS),
    lambda: random.choice(["", "inf", "-inf", "level", "marginalize", "student_t", "gaussian", "number", "category"]),
    lambda: random.choice([None, True, False, [], {}]),
    lambda: _nested(random.choice([2, 10, 40, 500])),
]


def mutated(contents: bytes, seed: int) -> bytes:
    """A file with one to four changes; the same bytes if it cannot be taken apart or changed."""
    random.seed(seed)
    index_changes: dict[str, Any] = {}
    try:
        header, arrays = _taken_apart(contents)
        for _ in range(random.randint(1, 4)):
            change = random.choice([_entry, _entry, _array, _array, _size, _size, _index])
            change(header, arrays, index_changes)
        return _put_together(header, arrays, index_changes)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError, OverflowError):
        return contents


def _taken_apart(contents: bytes) -> tuple[dict[str, Any], Arrays]:
    length = int.from_bytes(contents[:8], "little")
    index = json.loads(contents[8 : 8 + length])
    header, data = json.loads(index.pop("__metadata__")["csid"]), contents[8 + length :]
    arrays: Arrays = {}
    for name, entry in index.items():
        start, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[start:end], _TYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return dict(header), arrays


def _put_together(header: dict[str, Any], arrays: Arrays, index_changes: dict[str, Any]) -> bytes:
    index: dict[str, Any] = {"__metadata__": {"csid": json.dumps(header)}}
    start = 0
    for name, array in arrays.items():
        end = start + array.nbytes
        index[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
        if name in index_changes:
            index[name] |= index_changes[name]
    text = json.dumps(index).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values())


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with every key in it."""
    found, left = [], [value]
    while left:
        outer = left.pop()
        keys = list(outer) if isinstance(outer, dict) else range(len(outer))
        found += [(outer, key) for key in keys]
        left += [outer[key] for key in keys if isinstance(outer[key], dict | list)]
    return found


def _entry(header: dict[str, Any], arrays: Arrays, _: dict[str, Any]) -> None:
    """Another value of a header entry, a copy of another entry, or none."""
    places = _places(header)
    if not places:
        return
    place, key = random.choice(places)
    kind = random.randrange(4)
    if kind == 0:
        del place[key]
    elif kind == 1:
        other, at = random.choice(places)
        place[key] = json.loads(json.dumps(other[at]))
    else:
        place[key] = random.choice(_VALUES)()


def _array(header: dict[str, Any], arrays: Arrays, _: dict[str, Any]) -> None:
    """Other numbers in an array, another shape or type, another array in its place, or none."""
    if not arrays:
        return
    name = random.choice(list(arrays))
    array, kind = arrays[name], random.randrange(8)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = arrays[random.choice(list(arrays))].copy()
    elif kind == 2 and array.size:
        with np.errstate(all="ignore"):
            arrays[name] = (array * random.choice(_NUMBERS)).astype(array.dtype)
    elif kind == 3:
        arrays[name] = array.astype(random.choice(list(_TYPES.values())))
    elif kind == 4:
        arrays[f"{name.rpartition('.')[0]}.{random.randrange(5)}"] = array.copy()
    elif array.size:
        with np.errstate(all="ignore"):
            array.flat[random.randrange(array.size)] = np.array(random.choice([*_NUMBERS, np.nan, np.inf])).astype(
                array.dtype
            )


def _size(header: dict[str, Any], arrays: Arrays, _: dict[str, Any]) -> None:
    """A size, such as the rank, is changed in all arrays and entries that have it."""
    sizes = sorted({size for array in arrays.values() for size in array.shape})
    if not sizes:
        return
    old = random.choice(sizes)
    new = min(random.choice([0, 1, 2, max(0, old - 1), old + 1, 2 * old, 40]), 1000)
    for name, array in arrays.items():
        for axis, size in enumerate(array.shape):
            if size == old:
                shape = (*array.shape[:axis], new, *array.shape[axis + 1 :])
                array = np.take(array, np.arange(new) % old, axis) if old else np.zeros(shape)
        arrays[name] = array.astype(arrays[name].dtype)
    for place, key in _places(header):
        if type(place[key]) is int and place[key] == old:
            place[key] = new


def _index(header: dict[str, Any], arrays: Arrays, index_changes: dict[str, Any]) -> None:
    """An entry of the index that contradicts the bytes."""
    if arrays:
        index_changes[random.choice(list(arrays))] = random.choice(
            [
                {"shape": [1] * 70},
                {"shape": [0, 1 << 60]},
                {"shape": [1 << 40, 1 << 40]},
                {"shape": [-1]},
                {"shape": []},
                {"data_offsets": [0, 1 << 50]},
                {"data_offsets": [8, 0]},
                {"dtype": "BF16"},
                {"dtype": "F32"},
            ]
        )


def _nested(depth: int) -> Any:
    value: Any = random.choice([1, "a"])
    for _ in range(depth):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value
