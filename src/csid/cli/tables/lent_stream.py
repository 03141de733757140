"""Python streams that Arrow reads in its own threads, until these have let go of them.

After an error Arrow goes on reading ahead. A thread of it that needs Python while the interpreter ends, to read more or
to free what it has read, hangs the process or aborts it ("terminate called").
"""

import io
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_PATIENCE = 10.0


def batches_of(opened: Callable[[io.RawIOBase], Any], start: bytes, text: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a table or a reader. When they end, however they end, no thread uses the stream any more.

    opened : gives the table or the reader of a stream, and keeps no reference to it.
    start : bytes that were read from `text` before.
    """
    loan = _Loan()
    stream = _Lent(start, text, loan)
    loan.lend(stream)
    found = None
    try:
        found = opened(stream)
        yield from found.to_batches() if isinstance(found, pa.Table) else found
    finally:
        loan.ended.set()
        del stream, found
        loan.wait()


class _Loan:
    """The objects that Arrow holds. ended : tells the stream to end."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._lent: dict[int, weakref.ref[Any]] = {}
        self._returned: queue.SimpleQueue[weakref.ref[Any]] = queue.SimpleQueue()

    def lend(self, thing: Any) -> None:
        reference = weakref.ref(thing, self._returned.put)  # in C: its thread does not lose the interpreter in it
        self._lent[id(reference)] = reference
        while not self._returned.empty():
            del self._lent[id(self._returned.get())]

    def wait(self) -> None:
        """Wait until Arrow has let go of everything."""
        try:
            while self._lent:
                del self._lent[id(self._returned.get(timeout=_PATIENCE))]
        except queue.Empty:
            pass


class _Lent(io.RawIOBase):
    """A stream with bytes in front of it, which ends at once when its loan has ended."""

    def __init__(self, start: bytes, text: Any, loan: _Loan) -> None:
        self._start, self._text, self._loan = start, text, loan

    def readable(self) -> bool:
        return True

    def read_buffer(self, size: int) -> NDArray[np.uint8]:
        """What Arrow calls instead of `read`."""
        if self._loan.ended.is_set():
            return np.empty(0, np.uint8)
        data = self._start[:size] or self._text.read(size)
        self._start = self._start[len(data) :]
        buffer = np.frombuffer(data, np.uint8)
        self._loan.lend(buffer)
        return buffer
