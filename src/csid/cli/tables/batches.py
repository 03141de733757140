"""The wanted columns of one file as Arrow record batches; the content of the file tells its format."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from csid.cli.errors import DataError
from csid.cli.tables.csv_text import read_header, text_batches
from csid.cli.tables.json_lines import json_rows, looks_like_json
from csid.cli.tables.plain_rows import batch_of
from csid.cli.tables.read_options import Reading
from csid.cli.tables.sources import Source
from csid.cli.tables.text_stream import text_stream
from csid.cli.tables.workbook import is_workbook, sheet_columns

_BATCH_ROWS = 1 << 16
_CATEGORY = {b"csid": b"category"}
UNNAMED = " (unnamed)"
"""Ends the name that a column without a name is given."""


def record_batches(
    stream: io.BufferedReader, source: Source, reading: Reading, *, streamed: bool
) -> Iterator[pa.RecordBatch]:
    """The wanted columns; a file without rows gives one empty batch. streamed : parse text block by block."""
    start = stream.peek(8)[:8]
    if not start:
        raise DataError(f"{source.label} is empty.")
    if start[:4] == b"PAR1":
        file = pa.parquet.ParquetFile(source.path if source.path is not None else io.BytesIO(stream.read()))
        wanted = _wanted(file.schema_arrow.names, source.label, reading)
        batches = file.iter_batches(_BATCH_ROWS, columns=wanted)
        yield from _typed(
            batches, pa.schema([file.schema_arrow.field(name) for name in wanted], file.schema_arrow.metadata), reading
        )
    elif start[:6] == b"ARROW1":
        arrow = pa.ipc.open_file(source.path if source.path is not None else io.BytesIO(stream.read()))
        wanted = _wanted(arrow.schema.names, source.label, reading)
        batches = (arrow.get_batch(at).select(wanted) for at in range(arrow.num_record_batches))
        yield from _typed(
            batches, pa.schema([arrow.schema.field(name) for name in wanted], arrow.schema.metadata), reading
        )
    elif is_workbook(stream):
        names, columns = sheet_columns(stream, source.label, reading.sheet)
        names = _named(names)
        wanted = _wanted(names, source.label, reading)
        batch = batch_of((columns[names.index(name)] for name in wanted), wanted)
        yield from _typed(iter([batch]), batch.schema, reading)
    else:
        text = text_stream(stream, source.label, reading.encoding)
        if looks_like_json(text):
            yield from _json_batches(text, source.label, reading, streamed)
            return
        header = read_header(text, source.label, reading)
        header = header._replace(names=_named(header.names))
        yield from text_batches(text, header, _wanted(header.names, source.label, reading), reading, streamed)


def _json_batches(text: io.BufferedReader, label: str, reading: Reading, streamed: bool) -> Iterator[pa.RecordBatch]:
    """Batches of JSON lines. Keys may be absent; of a stream, the first rows tell the columns."""
    wanted: list[str] | None = None
    for rows in json_rows(text, label, _BATCH_ROWS if streamed else None):
        if wanted is None:
            wanted = _wanted(list(dict.fromkeys(name for row in rows for name in row)), label, reading)
        batch = batch_of(([row.get(name) for row in rows] for name in wanted), wanted)
        yield from _typed(iter([batch]), batch.schema, reading)


def _named(names: Sequence[str]) -> list[str]:
    """Names of columns; one without a name gets its position."""
    return [name or f"column {at}{UNNAMED}" for at, name in enumerate(names, start=1)]


def _wanted(names: Sequence[str], label: str, reading: Reading) -> list[str]:
    """The columns of the file to read."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{label}: two columns are named {name!r}.")
    if reading.columns is None:
        return list(names)
    everything, known = "*" in reading.also, set(names)
    for name in (*reading.columns, *(() if everything else reading.also)):
        if name not in known and name not in reading.optional:
            raise DataError(f"{label} has no column {name!r}; its columns are {', '.join(map(repr, names))}.")
    asked = {*reading.columns, *reading.also}
    return [name for name in names if everything or name in asked]


def _typed(batches: Iterator[pa.RecordBatch], schema: pa.Schema, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of columns that have types: dictionaries are looked up, and words for missing cells are null."""
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    described = (schema.pandas_metadata or {}).get("columns", [])
    categories = {each["name"] for each in described if each["pandas_type"] == "categorical"}
    categories |= {field.name for field in schema if pa.types.is_dictionary(field.type)}
    words = pa.array(reading.missing, pa.string())
    for batch in chain([empty], batches):
        columns = [_plain(batch.column(name), words) for name in schema.names]
        fields = [
            pa.field(field.name, column.type, metadata=_CATEGORY if field.name in categories else None)
            for field, column in zip(schema, columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def is_category(table: pa.Table, name: str) -> bool:
    """Whether a column was a category in its file, as Parquet and Arrow files of pandas and polars have them."""
    return bool(table.schema.field(name).metadata == _CATEGORY)


def _plain(column: pa.Array, missing: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return pc.if_else(pc.is_in(column, missing), None, column) if pa.types.is_string(column.type) else column
