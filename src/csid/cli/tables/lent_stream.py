"""Python streams that Arrow reads in its own threads, until it has let go of them.

After an error Arrow goes on reading ahead. A thread of it that asks a Python stream for more while the interpreter ends
hangs the process or aborts it ("terminate called").
"""

import io
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

_PATIENCE = 10.0


def batches_of(opened: Callable[[io.RawIOBase], Any], start: bytes, text: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a table or a reader. No thread reads the stream any more when they end, however they end.

    opened : gives the table or the reader of a stream, and keeps no reference to it.
    start : bytes that were read from `text` before.
    """
    ended, released = threading.Event(), threading.Event()
    stream = _Lent(start, text, ended)
    weakref.finalize(stream, released.set).atexit = False
    found = None
    try:
        found = opened(stream)
        yield from found.to_batches() if isinstance(found, pa.Table) else found
    finally:
        ended.set()
        del stream, found
        released.wait(_PATIENCE)


class _Lent(io.RawIOBase):
    """A stream with bytes in front of it, which ends at once when `ended` is set."""

    def __init__(self, start: bytes, text: Any, ended: threading.Event) -> None:
        self._start, self._text, self._ended = start, text, ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._ended.is_set():
            return 0
        data = self._start[: len(buffer)] or self._text.read(len(buffer))
        self._start = self._start[len(data) :]
        buffer[: len(data)] = data
        return len(data)
