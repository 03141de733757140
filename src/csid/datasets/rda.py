"""The data frame in a file of R's `save`, in the binary format that R wrote by default until 2019.

Only what a plain data frame consists of is understood: numbers, words, factors and their attributes.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from csid.datasets.tables import Column, Table, column_of

_START = b"RDX2\nX\n"
_MISSING_INTEGER = -(2**31)


@dataclass(frozen=True)
class _Value:
    """An R vector and its attributes."""

    data: Any
    attributes: dict[str, Any] = field(default_factory=dict)


def parse(data: bytes) -> Table:
    """The one object of an unpacked file, a data frame, as a table."""
    if not data.startswith(_START):
        raise ValueError("the file does not begin as an R file of format 2 does")
    stream = _Stream(data, len(_START))
    stream.take(12)  # versions: of the format, of the R that wrote it, and of the first R that can read it
    objects = stream.item()
    frames = [value for value in objects.values() if isinstance(value, _Value) and "names" in value.attributes]
    if len(frames) != 1:
        raise ValueError(f"the R file holds {len(frames)} data frames where one is expected")
    (frame,) = frames
    return {name: _column(value) for name, value in zip(frame.attributes["names"].data, frame.data, strict=True)}


def _column(value: _Value) -> Column:
    """Numbers, words, or the words that a factor's numbers stand for; words that all are numbers become numbers."""
    if isinstance(value.data, list):
        return column_of(value.data)
    numbers = np.asarray(value.data)
    if "levels" in value.attributes:
        words = ["", *value.attributes["levels"].data]
        return column_of(words[max(number, 0)] for number in numbers.tolist())
    missing = numbers == _MISSING_INTEGER if numbers.dtype.kind == "i" else np.isnan(numbers)
    return np.where(missing, np.nan, numbers.astype(np.float64))


class _Stream:
    """Items of R's serialisation, read one after the other."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = memoryview(data)
        self._at = start
        self._symbols: list[str] = []

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError("the R file ends early")
        self._at += count
        return self._data[self._at - count : self._at]

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def item(self) -> Any:
        """A vector as `_Value`, a word or a symbol as str, a pairlist as dict, nothing as None."""
        flags = self.integer()
        kind = flags & 0xFF
        match kind:
            case 0 | 254:
                return None
            case 1:
                self._symbols.append(self.item())
                return self._symbols[-1]
            case 255:
                return self._symbols[(flags >> 8 or self.integer()) - 1]
            case 2:
                return self._pairlist(flags)
            case 9:
                length = self.integer()
                return "" if length < 0 else str(self.take(length), "utf-8")
            case 10 | 13 | 14 | 16 | 19:
                data = self._vector(kind, self.integer())
                return _Value(data, self.item() if flags & 0x200 else {})
            case _:
                raise ValueError(f"the R file holds an object of type {kind}, which no plain data frame has")

    def _pairlist(self, flags: int) -> dict[str, Any]:
        pairs = {}
        while flags & 0xFF == 2:
            if flags & 0x200:
                self.item()
            name = self.item() if flags & 0x400 else ""
            pairs[name] = self.item()
            flags = self.integer()
        return pairs

    def _vector(self, kind: int, length: int) -> Any:
        if kind in (16, 19):
            return [self.item() for _ in range(length)]
        dtype = np.dtype(">f8" if kind == 14 else ">i4")
        return np.frombuffer(self.take(length * dtype.itemsize), dtype=dtype)
