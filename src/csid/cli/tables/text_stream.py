"""The text of a file as UTF-8: unpacked, decoded, and without a byte-order mark."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from typing import Any, cast

from csid.cli.errors import DataError

_PACKED: dict[bytes, Callable[..., Any]] = {
    rb"\x1f\x8b": gzip.open,
    rb"BZh[1-9]1AY&SY": bz2.BZ2File,
    rb"\xfd7zXZ": lzma.LZMAFile,
}
ZIP = b"PK\x03\x04"
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_UTF8 = ("utf8", "utf-8")
_BUFFER = 1 << 21


def text_stream(stream: io.BufferedReader, label: str, encoding: str | None) -> io.BufferedReader:
    """A stream of UTF-8. encoding : None detects UTF-16 and otherwise takes the text as UTF-8."""
    start = stream.peek(10)
    unpacked = stream
    for mark, opened in _PACKED.items():
        if re.match(mark, start):
            unpacked = io.BufferedReader(cast(io.RawIOBase, opened(stream)), _BUFFER)
    if start.startswith(ZIP):
        unpacked = io.BufferedReader(cast(io.RawIOBase, _member(stream, label)), _BUFFER)
    start = unpacked.peek(4)
    found = encoding or _detected(start)
    if encoding in (None, *_UTF8) and start.startswith(codecs.BOM_UTF8):
        unpacked.read(len(codecs.BOM_UTF8))
        return unpacked
    if found in _UTF8:
        return unpacked
    try:
        return io.BufferedReader(_Recoded(unpacked, found), _BUFFER)
    except LookupError:
        raise DataError(f"{label}: there is no encoding {found!r}. Use --encoding latin1, for example.") from None


def _detected(start: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if len(start) >= 4 and start[1] == start[3] == 0 != start[0]:
        return "utf-16-le"
    if len(start) >= 4 and start[0] == start[2] == 0 != start[1]:
        return "utf-16-be"
    return "utf8"


def _member(stream: io.BufferedReader, label: str) -> Any:
    """The only file of a zip archive."""
    try:
        archive = zipfile.ZipFile(stream)
        members = [
            each.filename
            for each in archive.infolist()
            if not (each.is_dir() or each.filename.startswith("__MACOSX/") or each.filename.endswith(".DS_Store"))
        ]
        if len(members) == 1:
            return archive.open(members[0])
    except (OSError, RuntimeError) as error:  # a password, a compression that Python lacks, or damage
        raise DataError(f"{label} cannot be unzipped: {error}.") from None
    listed = ", ".join(map(repr, members[:5])) + (", …" if len(members) > 5 else "")
    raise DataError(f"{label} holds {len(members)} files ({listed}); expected one. Unzip it first.")


class _Recoded(io.RawIOBase):
    """Text of another encoding, as UTF-8."""

    def __init__(self, stream: io.BufferedReader, encoding: str) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder(encoding)()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._stream.read(len(buffer))
            self._ready = self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        taken = self._ready[: len(buffer)]
        self._ready = self._ready[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)
