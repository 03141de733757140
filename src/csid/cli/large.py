"""Files that are too large for memory: typed by their first rows, and read in parts as a fit needs them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from csid.cli.errors import DataError, UsageError
from csid.cli.frames import arrow_types, described, known_targets, numbers, predictors
from csid.cli.tables import Reading, parts, sources
from csid.cli.training import Wanted
from csid.out_of_core import Batch, Rows
from csid.schema import Schema, Type

_SHARE_OF_MEMORY = 0.15
"""Of what is free: a file takes several times its size as a table, and again as what is made of it."""


@dataclass(frozen=True)
class FileRows(Rows):
    """The rows of files that have a target."""

    data: str
    reading: Reading
    schema: Schema

    def batches(self) -> Iterator[Batch]:
        names = [*self.schema.targets, *([] if self.schema.weight is None else [self.schema.weight])]
        more: dict[str, Type] = dict.fromkeys(names, "number")
        for number, (table, y) in enumerate(self._parts(arrow_types(self.schema, more))):
            weights = None if self.schema.weight is None else numbers(table, self.schema.weight, "weight")
            one = y[:, 0] if y.shape[1] == 1 else y
            yield Batch(predictors(table, self.schema), one, weights, f"{self.data}, part {number + 1}")

    def counts(self) -> Iterator[tuple[int, Any]]:
        names = [*self.schema.targets, *([] if self.schema.weight is None else [self.schema.weight])]
        for table, y in self._parts(dict.fromkeys(names, pa.float64())):
            weights = None if self.schema.weight is None else numbers(table, self.schema.weight, "weight")
            yield len(y), weights

    def _parts(self, types: dict[str, pa.DataType]) -> Iterator[tuple[pa.Table, Any]]:
        """Tables of rows that have all targets, and these."""
        for table in parts(self.data, replace(self.reading, types=types)):
            y, known = known_targets(table, self.schema.targets)
            yield (table, y) if len(known) == len(y) else (table.take(known), y[known])


@dataclass(frozen=True)
class LargeTraining:
    """What a fit takes of large files; see `Training`. The targets come with the rows."""

    schema: Schema
    X: FileRows
    columns: list[dict[str, Any]]
    notes: list[str]
    y: None = None
    weights: None = None

    def split(self, share: float, seed: int) -> NoReturn:
        raise UsageError(
            f"--holdout {share} needs all rows in memory (--in-memory): keep some rows in another file, and give it to "
            "csid evaluate."
        )


def is_large(data: str) -> bool:
    """Whether a table of the files would take too much of the memory that is free."""
    if data == "-":
        return False
    size = sum(source.path.stat().st_size for source in sources(data) if source.path is not None)
    return size > _SHARE_OF_MEMORY * free_memory()


def free_memory() -> int:
    """Bytes that programs may still take."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) << 10
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 8 << 30


def read_large(wanted: Wanted) -> LargeTraining:
    """Type files by their first rows."""
    data, reading = wanted.data, wanted.reading
    if data == "-":
        raise UsageError("standard input can be read once only: write it to a file to fit it --out-of-core.")
    first = next((table for table in parts(data, reading) if table.num_rows), None)
    if first is None:
        raise DataError(f"{data} has no rows.")
    schema = wanted.schema_of(first)
    notes = [f"too large for memory: columns are typed by the first {first.num_rows:,} rows, and codes kept on disk."]
    return LargeTraining(schema, FileRows(data, reading, schema), described(first, schema), notes)
