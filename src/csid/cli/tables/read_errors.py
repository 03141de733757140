"""Errors of Arrow in the user's words: the file, the line, the column, what was found and what to do."""

import gzip
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from csid.cli.errors import DataError
from csid.cli.tables.batches import record_batches
from csid.cli.tables.csv_text import read_header, unzipped
from csid.cli.tables.read_options import Reading
from csid.cli.tables.sources import Source

_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_WRONG_TYPE = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'", re.DOTALL
)
_LONGEST_QUOTE = 80


@contextmanager
def explained(source: Source, reading: Reading) -> Iterator[None]:
    """Turn errors of Arrow into a `DataError`."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError, UnicodeError) as error:
        text = str(_with_line(error, source, reading))
        raise DataError(f"{source.label}: {_message(text, source, reading)}") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{source.label} is damaged or truncated: {error}.") from None


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


def _message(text: str, source: Source, reading: Reading) -> str:
    if match := _RAGGED.search(text):
        row, expected, got, line = match.groups()
        quoted = line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 3] + "..."
        return f"{_line(row)} has {got} values, but the header has {expected} columns: {quoted!r}."
    if match := _WRONG_TYPE.search(text):
        column, row, kind, value = match.groups()
        expected = {"double": "a number", "bool": "true or false", "timestamp": "a date"}.get(kind, kind)
        return (
            f"{_column(int(column), source, reading)} holds {value!r} in {_line(row)}; expected {expected}. "
            f"If it means a missing value, use --missing {shlex.quote(value)}."
        )
    if "UTF8" in text:
        return f"{text}. If the text is not UTF-8, give its --encoding, such as latin1."
    return f"{text.strip().rstrip('.')}."


def _column(at: int, source: Source, reading: Reading) -> str:
    """The column by name, or by number on standard input, whose header cannot be read again."""
    if source.path is None:
        return f"column {at + 1}"
    with source.opened() as stream:
        return f"column {read_header(unzipped(stream), source.label, reading).names[at]!r}"


def _line(row: str | None) -> str:
    return "a line" if row is None else f"line {int(row) + 1}"
