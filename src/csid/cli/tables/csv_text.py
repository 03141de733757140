"""CSV and TSV text: the header with its delimiter, and the rows as record batches of text."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv

from csid.cli.errors import DataError
from csid.cli.tables.lent_stream import batches_of
from csid.cli.tables.read_options import Reading

_DELIMITERS = ",;\t|"
_BLOCK_BYTES, _LARGEST_BLOCK = 1 << 21, 1 << 26
_BYTES_PER_COLUMN = 1 << 13
"""At least so many in a block, that tables of thousands of columns do not come in parts of a few rows."""
_LONGEST_HEADER = 1 << 22
_SEPARATOR = re.compile(r"sep=(.)$", re.IGNORECASE)


class Header(NamedTuple):
    """The names of a text file, its delimiter, how many lines end with the header, and the text read behind it."""

    names: list[str]
    delimiter: str
    lines: int
    rest: bytes


class _Record(NamedTuple):
    """A line of the file, or several if quotes hold line breaks; end : where it ends in the text."""

    text: str
    end: int


def read_header(text: io.BufferedReader, label: str, reading: Reading) -> Header:
    """Read the column names: the first line that is neither blank nor a comment.

    The delimiter, if not given, is the candidate that is most frequent in the header; one that is as frequent in the
    line below is preferred.
    """
    start = _start_of(text, label)
    delimiter, comment, records = reading.delimiter, None, _records(start)
    for record in records:
        said = _SEPARATOR.match(record.text)
        if said:
            delimiter = delimiter or said[1]
        elif record.text.startswith("#"):
            comment = record
        elif record.text.strip(" \t"):
            break
    else:
        if comment is None or "\0" in start:
            raise DataError(f"{label} is not a table: it has no line with column names.")
        record = comment
    below = next((each.text for each in islice(records, 1) if each.text.strip()), "")
    if "\0" in record.text:
        raise DataError(f"{label} is not a table: its first line holds no column names.")
    delimiter = delimiter or _delimiter(record.text, below)
    names, end = _cells(record.text, delimiter), record.end
    if comment is not None and all(map(_is_number, names)):  # as NumPy writes: the header is a comment
        above = _cells(comment.text.lstrip("# "), delimiter)
        if len(above) == len(names):
            names, end = above, comment.end
    elif record is comment:
        names = _cells(comment.text.lstrip("# "), delimiter)
    if all(map(_is_number, names)):
        raise DataError(f"{label}: the first line holds only numbers; expected column names.")
    lines = len(re.findall(r"\r\n|\n|\r", start[:end]))
    return Header([name.strip() for name in names], delimiter, lines, start[end:].encode())


def text_batches(
    text: Any, header: Header, wanted: Sequence[str], reading: Reading, streamed: bool
) -> Iterator[pa.RecordBatch]:
    """The rows below the header, as text. Whole files are parsed by several threads."""
    start = header.rest.lstrip(b"\r\n") or text.read(1)
    schema = pa.schema([pa.field(name, pa.string()) for name in wanted])
    yield pa.RecordBatch.from_pylist([], schema=schema)
    if not start:  # a header without rows
        return
    convert = pa.csv.ConvertOptions(
        column_types=schema,
        null_values=list(reading.missing),
        strings_can_be_null=True,
        include_columns=wanted,
    )
    block = min(max(_BLOCK_BYTES, _BYTES_PER_COLUMN * len(header.names)), _LARGEST_BLOCK)
    options = pa.csv.ReadOptions(block_size=block, column_names=header.names, use_threads=not streamed)
    parse = pa.csv.ParseOptions(
        delimiter=header.delimiter, newlines_in_values=True, invalid_row_handler=_without_comments
    )
    opened = partial(
        pa.csv.open_csv if streamed else pa.csv.read_csv,
        read_options=options,
        parse_options=parse,
        convert_options=convert,
    )
    yield from batches_of(opened, start, text)


def _start_of(text: io.BufferedReader, label: str) -> str:
    """The first megabytes of a file, cut between two characters."""
    data = text.read(_LONGEST_HEADER)
    while data and len(data) == _LONGEST_HEADER and data[-1] & 0x80:
        more = text.read(1)
        data += more
        if not more or not more[0] & 0x80:
            break
    try:
        return data.decode()
    except UnicodeError as error:
        raise DataError(f"{label}: {error}. Give the encoding of the text, such as --encoding latin1.") from None


def _records(text: str) -> Iterator[_Record]:
    start = 0
    for line in re.finditer(r"\r\n|\n|\r|\Z", text):
        if text.count('"', start, line.start()) % 2 == 0 and start < len(text):
            yield _Record(text[start : line.start()], line.end())
            start = line.end()


def _delimiter(header: str, below: str) -> str:
    def counted(line: str, mark: str) -> int:
        return re.sub('"[^"]*"', "", line).count(mark)

    def fitness(mark: str) -> tuple[bool, int, bool]:
        count = counted(header, mark)
        return 0 < count == counted(below, mark), count, mark == ","

    return max(_DELIMITERS, key=fitness)


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(line), delimiter=delimiter), [])


def _without_comments(row: Any) -> str:
    return "skip" if row.text.startswith("#") else "error"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
