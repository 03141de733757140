"""The wanted columns of one file as Arrow record batches; the content of the file tells its format."""

import io
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from csid.cli.errors import DataError
from csid.cli.tables.csv_text import read_header, text_batches, unzipped
from csid.cli.tables.read_options import Reading
from csid.cli.tables.sources import Source

_BATCH_ROWS = 1 << 16


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
        yield from _typed(batches, pa.schema([file.schema_arrow.field(name) for name in wanted]), reading)
    elif start[:6] == b"ARROW1":
        arrow = pa.ipc.open_file(source.path if source.path is not None else io.BytesIO(stream.read()))
        wanted = _wanted(arrow.schema.names, source.label, reading)
        batches = (arrow.get_batch(at).select(wanted) for at in range(arrow.num_record_batches))
        yield from _typed(batches, pa.schema([arrow.schema.field(name) for name in wanted]), reading)
    else:
        text = unzipped(stream)
        header = read_header(text, source.label, reading)
        yield from text_batches(text, header, _wanted(header.names, source.label, reading), reading, streamed)


def _wanted(names: Sequence[str], label: str, reading: Reading) -> list[str]:
    """The columns of the file to read."""
    for at, name in enumerate(names):
        if not name.strip():
            raise DataError(f"{label}: column {at + 1} has no name.")
        if name in names[:at]:
            raise DataError(f"{label}: two columns are named {name!r}.")
    if reading.types is None:
        return list(names)
    everything = "*" in reading.also
    for name in (*reading.types, *(() if everything else reading.also)):
        if name not in names and name not in reading.optional:
            raise DataError(f"{label} has no column {name!r}; its columns are {', '.join(map(repr, names))}.")
    return [name for name in names if everything or name in reading.types or name in reading.also]


def _typed(batches: Iterator[pa.RecordBatch], fields: pa.Schema, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches with their columns cast to the wanted types."""
    types = reading.types or {}
    target = pa.schema([field.with_type(types.get(field.name, field.type)) for field in fields])
    empty = iter([pa.RecordBatch.from_pylist([], schema=fields)])
    for batch in chain(empty, batches):
        columns = [_cast(batch.column(field.name), field) for field in target]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise DataError(f"column {field.name!r} has type {column.type}; expected {field.type}: {error}.") from None
