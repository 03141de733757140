"""Errors of Arrow in the user's words: the file, the line, the column, what was found and what to do."""

import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from csid.cli.errors import DataError
from csid.cli.tables.batches import record_batches
from csid.cli.tables.csv_text import read_header
from csid.cli.tables.read_options import Reading
from csid.cli.tables.sources import Source
from csid.cli.tables.text_stream import text_stream

_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_LONGEST_QUOTE = 80


@contextmanager
def explained(source: Source, reading: Reading) -> Iterator[None]:
    """Turn errors of Arrow into a `DataError`."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError, UnicodeError) as error:
        text = str(_with_line(error, source, reading))
        raise DataError(f"{source.label}: {_message(text, _header_lines(source, reading))}") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{source.label} is damaged or truncated: {error}.") from None
    except OSError as error:
        if error.errno is not None:
            raise
        said = str(error).partition("\n")[0]
        raise DataError(f"{source.label} is damaged or truncated: {said.rstrip('.')}.") from None


def _with_line(error: Exception, source: Source, reading: Reading) -> Exception:
    """The error with the line it is in: threads that parse a file do not know it, so read the file once more."""
    if source.path is None or "Row #" in str(error) or "CSV" not in str(error):
        return error
    try:
        with source.opened() as stream:
            for _ in record_batches(stream, source, reading, streamed=True):
                pass
    except pa.ArrowInvalid as again:
        return again if "Row #" in str(again) else error
    except DataError:
        pass
    return error


def _message(text: str, header_lines: int) -> str:
    if match := _RAGGED.search(text):
        row, expected, got, line = match.groups()
        quoted = line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 3] + "..."
        values = "1 value" if got == "1" else f"{got} values"
        return f"{_line(row, header_lines)} has {values}, but the header has {expected} columns: {quoted!r}."
    if "UTF8" in text:
        return f"{text}. If the text is not UTF-8, give its --encoding, such as latin1."
    return f"{text.strip().rstrip('.')}."


def _header_lines(source: Source, reading: Reading) -> int:
    """How many lines a text file has above its rows."""
    if source.path is None:
        return 1
    try:
        with source.opened() as stream:
            return read_header(text_stream(stream, source.label, reading.encoding), source.label, reading).lines
    except (DataError, UnicodeError):
        return 1


def _line(row: str | None, header_lines: int) -> str:
    return "a line" if row is None else f"line {int(row) + header_lines}"
