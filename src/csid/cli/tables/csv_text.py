"""CSV and TSV text: the header with its delimiter, and the rows as record batches."""

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv

from csid.cli.errors import DataError
from csid.cli.tables.lent_stream import batches_of
from csid.cli.tables.read_options import Reading

_DELIMITERS = ",;\t|"
_BLOCK_BYTES = 1 << 21
_LONGEST_HEADER = 1 << 22
_GZIP = b"\x1f\x8b"


class Header(NamedTuple):
    """The first line of a text file."""

    names: list[str]
    delimiter: str


def unzipped(stream: io.BufferedReader) -> Any:
    """The text of a file that may be gzipped."""
    return gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP else stream


def read_header(text: Any, label: str, reading: Reading) -> Header:
    """Read the column names; the delimiter, if not given, is the most frequent candidate outside quotes."""
    line = text.readline(_LONGEST_HEADER)
    while line.count(b'"') % 2 and len(line) < _LONGEST_HEADER:  # a quoted name may hold line breaks
        more = text.readline(_LONGEST_HEADER)
        if not more:
            break
        line += more
    try:
        decoded = line.decode("utf-8-sig" if reading.encoding == "utf8" else reading.encoding).rstrip("\r\n")
    except (UnicodeError, LookupError) as error:
        raise DataError(f"{label}: {error}. Give the encoding of the text, such as --encoding latin1.") from None
    unquoted = re.sub('"[^"]*"', "", decoded)
    delimiter = reading.delimiter or max(_DELIMITERS, key=lambda mark: (unquoted.count(mark), mark == ","))
    names = next(csv.reader(io.StringIO(decoded), delimiter=delimiter), [])
    if not names or b"\0" in line:
        raise DataError(f"{label} is not a table: its first line holds no column names.")
    if all(map(_is_number, names)):
        raise DataError(f"{label}: the first line holds only numbers; expected column names.")
    return Header(names, delimiter)


def text_batches(
    text: Any, header: Header, wanted: Sequence[str], reading: Reading, streamed: bool
) -> Iterator[pa.RecordBatch]:
    """The rows below the header. Whole files are parsed by several threads, and their types inferred from all rows."""
    types = reading.types or {}
    first = text.read(1)
    if not first:  # a header without rows
        fields = [pa.field(name, types.get(name, pa.null())) for name in wanted]
        yield pa.RecordBatch.from_pylist([], schema=pa.schema(fields))
        return
    as_text = {} if reading.types is None else dict.fromkeys(wanted, pa.string())
    convert = pa.csv.ConvertOptions(
        column_types={**as_text, **types},
        null_values=list(reading.missing),
        strings_can_be_null=True,
        include_columns=wanted,
    )
    options = pa.csv.ReadOptions(
        block_size=_BLOCK_BYTES, encoding=reading.encoding, column_names=header.names, use_threads=not streamed
    )
    parse = pa.csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True)
    opened = partial(
        pa.csv.open_csv if streamed else pa.csv.read_csv,
        read_options=options,
        parse_options=parse,
        convert_options=convert,
    )
    yield from batches_of(opened, first, text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
