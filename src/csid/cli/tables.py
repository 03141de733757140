"""Files of data as Arrow tables: CSV and TSV, gzipped or not, Parquet, Arrow, and standard input; whole or in parts."""

import csv
import glob
import gzip
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from csid.cli.errors import DataError, UsageError
from csid.files import written_aside

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?")
"""Words that stand for a missing cell unless others are given."""

_BLOCK = 1 << 21
_ROWS = 1 << 16
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 22


@dataclass(frozen=True)
class Source:
    """A file to read, or standard input; label : how messages call it."""

    label: str
    path: Path | None

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        if self.path is None:
            yield io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))  # whatever it is, it can be peeked into then
        else:
            with self.path.open("rb") as stream:
                yield stream


@dataclass(frozen=True)
class Reading:
    """How files are read.

    missing : words that stand for a missing cell; delimiter : of a text, None to find it out.
    types : of the columns wanted, by name; None for all columns, with types that are inferred.
    optional : columns of these that need not be there; also : others wanted, `*` for all, as text.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    encoding: str = "utf8"
    types: Mapping[str, pa.DataType] | None = None
    optional: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()


def sources(data: str) -> list[Source]:
    """The files that a name stands for: `-` for standard input, a path, a pattern of paths, or a folder of Parquet."""
    if data == "-":
        return [Source("standard input", None)]
    if Path(data).is_dir():
        inside = sorted(Path(data).rglob("*.parquet"))
        if inside:
            return [Source(str(path), path) for path in inside]
        raise UsageError(f"{data} is a folder: name its files by a pattern, such as '{data.rstrip('/')}/*.parquet'.")
    if Path(data).exists() or not glob.has_magic(data):
        if not Path(data).exists():
            raise FileNotFoundError(2, "there is no such file", data)
        return [Source(data, Path(data))]
    paths = sorted(glob.glob(data))  # noqa: PTH207, the pattern may be of any place
    if not paths:
        raise DataError(f"no file matches {data}.")
    return [Source(path, Path(path)) for path in paths]


def read(data: str, reading: Reading) -> pa.Table:
    """All rows of all files, typed once."""
    files = sources(data)
    tables = [_whole(source, reading) for source in files]
    names = tables[0].column_names
    for source, table in zip(files, tables, strict=True):
        for odd in sorted(set(table.column_names) ^ set(names)):
            raise DataError(f"{source.label} and {files[0].label} differ: column {odd!r} is in one of them only.")
    try:
        whole = pa.concat_tables([table.select(names) for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"the files of {data} have columns of different types: {error}.") from None
    if whole.num_rows == 0:
        raise DataError(f"{data} has no rows.")
    return whole


def parts(data: str, reading: Reading) -> Iterator[pa.Table]:
    """The rows of all files, some thousands at a time, in memory that does not grow with them."""
    for source in sources(data):
        with source.opened() as stream, _explained(source, reading):
            for batch in _batches(stream, source, reading, pa.csv.open_csv):
                for start in range(0, max(1, batch.num_rows), _ROWS):
                    yield pa.Table.from_batches([batch.slice(start, _ROWS)])


@contextmanager
def writer(path: str) -> Iterator[Callable[[pa.Table], None]]:
    """Writes tables to a file, whose ending says the format, or as CSV to standard output (`-`): all or nothing."""
    if path == "-":
        with _Output(".csv", sys.stdout.buffer) as output:
            yield output.add
            return
    ending = "".join(Path(path).suffixes[-2:]).lower()
    with written_aside(path) as aside, aside.open("wb") as file:
        raw = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if ending.endswith(".gz") else file
        with _Output(ending.removesuffix(".gz")[-8:], raw) as output:
            yield output.add
        if raw is not file:
            raw.close()


class _Output:
    """Opens the writer of a format when the first table shows its columns."""

    def __init__(self, ending: str, file: Any) -> None:
        self._ending, self._file = ending, file
        self._writer: Any = None

    def __enter__(self) -> "_Output":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, table: pa.Table) -> None:
        if self._writer is None:
            if self._ending.endswith(".parquet"):
                self._writer = pa.parquet.ParquetWriter(self._file, table.schema)
            elif self._ending.endswith((".arrow", ".feather")):
                self._writer = pa.ipc.new_file(self._file, table.schema)
            else:
                mark = "\t" if self._ending.endswith(".tsv") else ","
                options = pa.csv.WriteOptions(delimiter=mark, quoting_style="needed")
                self._writer = pa.csv.CSVWriter(self._file, table.schema, write_options=options)
        self._writer.write_table(table)


def _whole(source: Source, reading: Reading) -> pa.Table:
    with source.opened() as stream, _explained(source, reading):
        batches = list(_batches(stream, source, reading, pa.csv.read_csv))
        return pa.Table.from_batches(batches)


def _batches(
    stream: io.BufferedReader, source: Source, reading: Reading, read_text: Callable[..., Any]
) -> Iterator[pa.RecordBatch]:
    """The wanted columns; the first batch is there even if it has no rows."""
    start = stream.peek(8)[:8]
    if not start:
        raise DataError(f"{source.label} is empty.")
    if start[:4] == b"PAR1":
        file = pa.parquet.ParquetFile(source.path if source.path is not None else io.BytesIO(stream.read()))
        wanted = _wanted(file.schema_arrow.names, source, reading)
        batches = file.iter_batches(_ROWS, columns=wanted)
        yield from _typed(batches, pa.schema([file.schema_arrow.field(name) for name in wanted]), reading)
    elif start[:6] == b"ARROW1":
        arrow = pa.ipc.open_file(source.path if source.path is not None else io.BytesIO(stream.read()))
        wanted = _wanted(arrow.schema.names, source, reading)
        some = (arrow.get_batch(at).select(wanted) for at in range(arrow.num_record_batches))
        yield from _typed(some, pa.schema([arrow.schema.field(name) for name in wanted]), reading)
    else:
        text = gzip.GzipFile(fileobj=stream) if start[:2] == b"\x1f\x8b" else stream
        names, delimiter = _header(text, source, reading)
        wanted = _wanted(names, source, reading)
        as_text = {} if reading.types is None else dict.fromkeys(wanted, pa.string())
        convert = pa.csv.ConvertOptions(
            column_types={**as_text, **(reading.types or {})},
            null_values=list(reading.missing),
            strings_can_be_null=True,
            include_columns=wanted,
        )
        yield from _parsed(text, names, delimiter, convert, reading, read_text)


def _parsed(
    text: Any, names: list[str], delimiter: str, convert: Any, reading: Reading, read_text: Callable[..., Any]
) -> Iterator[pa.RecordBatch]:
    first = text.read(1)
    if not first:  # a header alone
        types = reading.types or {}
        fields = [pa.field(name, types.get(name, pa.null())) for name in convert.include_columns]
        yield pa.RecordBatch.from_pylist([], schema=pa.schema(fields))
        return
    options = pa.csv.ReadOptions(
        block_size=_BLOCK, encoding=reading.encoding, column_names=names, use_threads=read_text is pa.csv.read_csv
    )
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    found = read_text(_Behind(first, text), options, parse, convert)
    yield from found.to_batches() if isinstance(found, pa.Table) else found


class _Behind(io.RawIOBase):
    """A stream from which some bytes have been read already."""

    def __init__(self, start: bytes, stream: Any) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start or self._stream.read(len(buffer))
        self._start = b""
        buffer[: len(data)] = data
        return len(data)


def _typed(batches: Iterator[pa.RecordBatch], fields: pa.Schema, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches whose columns have the types wanted."""
    types = reading.types or {}
    target = pa.schema([field.with_type(types.get(field.name, field.type)) for field in fields])
    empty = iter([pa.RecordBatch.from_pylist([], schema=fields)])
    for batch in chain(empty, batches):
        columns = [_cast(batch.column(field.name), field, field.name) for field in target]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def _cast(column: pa.Array, field: pa.Field, name: str) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise DataError(f"column {name!r} has type {column.type} where {field.type} is expected: {error}.") from None


def _wanted(names: Sequence[str], source: Source, reading: Reading) -> list[str]:
    """The columns to read, of those that are there."""
    for at, name in enumerate(names):
        if not name.strip():
            raise DataError(f"{source.label}: column {at + 1} has no name.")
        if name in names[:at]:
            raise DataError(f"{source.label}: two columns have the name {name!r}.")
    if reading.types is None:
        return list(names)
    everything = "*" in reading.also
    for name in (*reading.types, *(() if everything else reading.also)):
        if name not in names and name not in reading.optional:
            raise DataError(f"{source.label} has no column {name!r}; it has {', '.join(map(repr, names))}.")
    return [name for name in names if everything or name in reading.types or name in reading.also]


def _header(text: Any, source: Source, reading: Reading) -> tuple[list[str], str]:
    """Names of the columns, and the delimiter."""
    line = text.readline(_LONGEST_HEADER)
    while line.count(b'"') % 2 and len(line) < _LONGEST_HEADER:
        more = text.readline(_LONGEST_HEADER)
        if not more:
            break
        line += more
    try:
        decoded = line.decode("utf-8-sig" if reading.encoding == "utf8" else reading.encoding).rstrip("\r\n")
    except (UnicodeError, LookupError) as error:
        raise DataError(f"{source.label}: {error}; name the --encoding of the text, such as latin1.") from None
    bare = re.sub('"[^"]*"', "", decoded)
    delimiter = reading.delimiter or max(_DELIMITERS, key=lambda mark: (bare.count(mark), mark == ","))
    names = next(csv.reader(io.StringIO(decoded), delimiter=delimiter), [])
    if not names or b"\0" in line:
        raise DataError(f"{source.label} is no table: its first line holds no names of columns.")
    if all(map(is_number, names)):
        raise DataError(f"{source.label}: the first line holds numbers only, where names of columns are expected.")
    return names, delimiter


def is_number(value: Any) -> bool:
    """Whether a cell is a number, or a text of one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_WRONG = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'", re.DOTALL
)


@contextmanager
def _explained(source: Source, reading: Reading) -> Iterator[None]:
    """Errors of Arrow in words for users; the line is found by reading once more where Arrow did not say."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError, UnicodeError) as error:
        raise DataError(f"{source.label}: {_words(str(_with_line(error, source, reading)), source, reading)}") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{source.label} is damaged, or was cut off: {error}.") from None


def _with_line(error: Exception, source: Source, reading: Reading) -> Exception:
    if source.path is None or "Row #" in str(error) or "CSV" not in str(error):
        return error
    try:
        with source.opened() as stream:
            for _ in _batches(stream, source, reading, pa.csv.open_csv):
                pass
    except pa.ArrowInvalid as again:
        return again if "Row #" in str(again) else error
    except DataError:
        pass
    return error


def _words(text: str, source: Source, reading: Reading) -> str:
    if match := _RAGGED.search(text):
        row, expected, got, cells = match.groups()
        shown = cells if len(cells) <= 80 else cells[:77] + "..."
        return f"{_line(row)} has {got} cells where the header has {expected}: {shown!r}."
    if match := _WRONG.search(text):
        column, row, kind, value = match.groups()
        name = f"column {int(column) + 1}"
        if source.path is not None:
            with source.opened() as stream:
                packed = gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == b"\x1f\x8b" else stream
                name = f"column {_header(packed, source, reading)[0][int(column)]!r}"
        what = {"double": "a number", "bool": "true or false", "timestamp": "a date"}.get(kind, kind)
        return (
            f"{name} holds {value!r} in {_line(row)} where {what} is expected. "
            f"If it stands for a missing cell, say so: --missing '{value}'."
        )
    if "UTF8" in text:
        return f"{text}. If the text is not UTF-8, name its --encoding, such as latin1."
    return f"{text.strip().rstrip('.')}."


def _line(row: str | None) -> str:
    return "a line" if row is None else f"line {int(row) + 1}"
