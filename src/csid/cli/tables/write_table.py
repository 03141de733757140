"""Write tables to a file whose extension tells the format, or as CSV to standard output."""

import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from csid.cli.tables.formulas import without_formulas
from csid.files import atomic_file


@contextmanager
def writer(path: str) -> Iterator[Callable[[pa.Table], None]]:
    """Give a function that appends a table to the file, which is replaced only when all is written; `-` is CSV."""
    if path == "-":
        with _Output(".csv", sys.stdout.buffer) as output:
            yield output.add
            return
    extension = "".join(Path(path).suffixes[-2:]).lower()
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        raw = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if extension.endswith(".gz") else file
        with _Output(extension.removesuffix(".gz"), raw) as output:
            yield output.add
        if raw is not file:
            raw.close()


class _Output:
    """Opens the writer of a format when the first table shows its columns."""

    def __init__(self, extension: str, file: Any) -> None:
        self._extension, self._file = extension, file
        self._is_binary = extension.endswith((".parquet", ".arrow", ".feather"))
        self._writer: Any = None

    def __enter__(self) -> "_Output":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, table: pa.Table) -> None:
        shown = table if self._is_binary else without_formulas(table)
        if self._writer is None:
            self._writer = self._opened(shown.schema)
        self._writer.write_table(shown)

    def _opened(self, schema: pa.Schema) -> Any:
        if self._extension.endswith(".parquet"):
            return pa.parquet.ParquetWriter(self._file, schema)
        if self._extension.endswith((".arrow", ".feather")):
            return pa.ipc.new_file(self._file, schema)
        delimiter = "\t" if self._extension.endswith(".tsv") else ","
        return pa.csv.CSVWriter(
            self._file, schema, write_options=pa.csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        )
