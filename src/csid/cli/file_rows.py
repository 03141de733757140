"""Rows of files that are too large for memory, read part by part each time a fit needs them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from csid.cli.columns import Array, arrow_types, known_targets, numbers, predictors
from csid.cli.errors import DataError, UsageError
from csid.cli.tables import Reading, parts
from csid.data.out_of_core import Batch, RowBatches
from csid.fitted.schema import Schema, Type


@dataclass(frozen=True)
class FileRows(RowBatches):
    """The rows of files that have all targets."""

    data: str
    reading: Reading
    schema: Schema

    def batches(self) -> Iterator[Batch]:
        types: dict[str, Type] = dict.fromkeys(self._numeric(), "number")
        for number, (table, y) in enumerate(self._parts(arrow_types(self.schema, types))):
            y = y[:, 0] if y.shape[1] == 1 else y
            label = f"{self.data}, part {number + 1}"
            yield Batch(predictors(table, self.schema), y, self._weights(table), label)

    def counts(self) -> Iterator[tuple[int, Any]]:
        for table, y in self._parts(dict.fromkeys(self._numeric(), pa.float64())):
            yield len(y), self._weights(table)

    def _numeric(self) -> list[str]:
        return [*self.schema.targets, *filter(None, [self.schema.weight])]

    def _weights(self, table: pa.Table) -> Array | None:
        return None if self.schema.weight is None else numbers(table, self.schema.weight, "weight")

    def _parts(self, types: dict[str, pa.DataType]) -> Iterator[tuple[pa.Table, Array]]:
        """Tables of the rows that have all targets, and these targets."""
        for table in parts(self.data, replace(self.reading, types=types)):
            y, known = known_targets(table, self.schema.targets)
            yield (table, y) if len(known) == len(y) else (table.take(known), y[known])


def first_part(data: str, reading: Reading) -> pa.Table:
    """The first rows of files that can be read more than once."""
    if data == "-":
        raise UsageError("standard input can be read only once: save it to a file to fit it with --out-of-core.")
    first = next((table for table in parts(data, reading) if table.num_rows), None)
    if first is None:
        raise DataError(f"{data} has no rows.")
    return first
