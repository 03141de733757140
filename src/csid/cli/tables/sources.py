"""The files that DATA names: standard input, one file, a pattern of files, or a folder of Parquet files."""

import errno
import glob
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from csid.cli.errors import DataError, UsageError
from csid.cli.tables.text_stream import ZIP


@dataclass(frozen=True)
class Source:
    """A file to read, or standard input (path None); label : its name in messages."""

    label: str
    path: Path | None

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        if self.path is None:
            given = _peeking(sys.stdin.buffer)
            is_zip = given.peek(len(ZIP)).startswith(ZIP)  # whose contents are listed at its end
            yield _peeking(io.BytesIO(given.read())) if is_zip else given
        else:
            with self.path.open("rb") as stream:
                yield stream


def _peeking(stream: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(cast(io.RawIOBase, stream))


def sources(data: str) -> list[Source]:
    """The files that DATA names, in order."""
    if data == "-":
        return [Source("standard input", None)]
    if Path(data).is_dir():
        inside = sorted(Path(data).rglob("*.parquet"))
        if inside:
            return [Source(str(path), path) for path in inside]
        raise UsageError(
            f"{data} is a folder without Parquet files: give a file, or a pattern such as '{data.rstrip('/')}/*.csv'."
        )
    if Path(data).exists() or not glob.has_magic(data):
        if not Path(data).exists():
            raise FileNotFoundError(errno.ENOENT, "no such file", data)
        return [Source(data, Path(data))]
    paths = sorted(glob.glob(data))  # noqa: PTH207, the pattern may be absolute
    if not paths:
        raise DataError(f"no file matches the pattern {data}.")
    return [Source(path, Path(path)) for path in paths]
