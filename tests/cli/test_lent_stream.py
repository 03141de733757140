"""Arrow's threads leave a stream alone when its batches have ended."""

import io
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from csid.cli.tables.lent_stream import batches_of

ROWS = b"".join(b"%d,%d\n" % (row, row) for row in range(2000))


class SlowText(io.RawIOBase):
    """Text that takes a while to read."""

    def __init__(self, start: bytes) -> None:
        self.start, self.reads = start, 0
        self.being_read = threading.Lock()

    def read(self, size: int = -1) -> bytes:
        with self.being_read:
            self.reads += 1
            time.sleep(0.02)
            start, self.start = self.start, b""
            return (start + ROWS)[:size] if self.reads < 100 else b""


def _ended_early(batches: Iterator[Any]) -> None:
    next(batches)
    next(batches)


@pytest.mark.parametrize("start", [b"1,2,3\n", b""], ids=["a bad row", "a reader that has enough"])
def test_no_thread_reads_on(start: bytes) -> None:
    text = SlowText(start)
    options = pa.csv.ReadOptions(block_size=1 << 13, column_names=["a", "b"])
    with suppress(pa.ArrowInvalid):
        _ended_early(batches_of(partial(pa.csv.open_csv, read_options=options), b"", text))
    assert not text.being_read.locked()
    reads = text.reads
    time.sleep(0.2)
    assert text.reads == reads


def test_bytes_that_were_read_before_come_first() -> None:
    options = pa.csv.ReadOptions(block_size=100, column_names=["a", "b"])
    found = list(batches_of(partial(pa.csv.open_csv, read_options=options), b"7,8\n9", io.BytesIO(b",1\n" + ROWS)))
    assert pa.Table.from_batches(found)["a"].to_pylist() == [7, 9, *range(2000)]
