"""Read all rows of DATA: as one table, or in parts whose memory does not grow with the number of rows."""

from collections.abc import Iterator

import pyarrow as pa

from csid.cli.errors import DataError
from csid.cli.tables.batches import record_batches
from csid.cli.tables.read_errors import explained
from csid.cli.tables.read_options import Reading
from csid.cli.tables.sources import Source, sources

_PART_ROWS = 1 << 16


def read(data: str, reading: Reading) -> pa.Table:
    """All rows of all files as one table. Inferred types agree with all rows of all files."""
    files = sources(data)
    tables = [_read_one(source, reading) for source in files]
    names = tables[0].column_names
    for source, table in zip(files, tables, strict=True):
        for odd in sorted(set(table.column_names) ^ set(names)):
            raise DataError(
                f"{source.label} and {files[0].label} have different columns: {odd!r} is in only one of them."
            )
    try:
        whole = pa.concat_tables([table.select(names) for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"the files of {data} have columns of different types: {error}.") from None
    if whole.num_rows == 0:
        raise DataError(f"{data} has no rows.")
    return whole


def parts(data: str, reading: Reading) -> Iterator[pa.Table]:
    """The rows of all files, some thousands at a time."""
    for source in sources(data):
        with source.opened() as stream, explained(source, reading):
            for batch in record_batches(stream, source, reading, streamed=True):
                for start in range(0, max(1, batch.num_rows), _PART_ROWS):
                    yield pa.Table.from_batches([batch.slice(start, _PART_ROWS)])


def _read_one(source: Source, reading: Reading) -> pa.Table:
    with source.opened() as stream, explained(source, reading):
        return pa.Table.from_batches(list(record_batches(stream, source, reading, streamed=False)))
