"""Rows of files that are too large for memory, read part by part each time a fit needs them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from csid.cli.cells import OddCells
from csid.cli.columns import Array, numbers, predictors, with_types
from csid.cli.errors import DataError, UsageError
from csid.cli.tables import Reading, parts
from csid.cli.targets import known_targets
from csid.data.out_of_core import Batch, RowBatches
from csid.fitted.schema import Schema


@dataclass(frozen=True)
class FileRows(RowBatches):
    """The rows of files that have all targets; odd : collects the cells that cannot be read."""

    data: str
    reading: Reading
    schema: Schema
    odd: OddCells

    def batches(self) -> Iterator[Batch]:
        self.odd.clear()
        first_row = 0
        for number, table in enumerate(self._parts([column.name for column in self.schema.columns])):
            table = with_types(table, self.schema, self.schema.formats, self.odd, first_row)
            X = predictors(table, self.schema, self.odd, first_row)
            y, known = known_targets(table, self.schema)
            weights = self._weights(table)
            first_row += table.num_rows
            if len(known) < table.num_rows:
                X, weights = X.take(known), None if weights is None else weights[known]
            yield Batch(X, y, weights, f"{self.data}, part {number + 1}")
        self.odd.refuse_columns_of_text()

    def counts(self) -> Iterator[tuple[int, Any]]:
        for table in self._parts([]):
            table = with_types(table, self.schema, self.schema.formats)
            _, known = known_targets(table, self.schema)
            weights = self._weights(table)
            yield len(known), None if weights is None else weights[known]

    def _parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        return parts(self.data, replace(self.reading, columns=[*columns, *self.schema.formats]))

    def _weights(self, table: pa.Table) -> Array | None:
        return None if self.schema.weight is None else numbers(table, self.schema.weight, "weight")


def first_part(data: str, reading: Reading) -> pa.Table:
    """The first rows of files that can be read more than once."""
    if data == "-":
        raise UsageError("standard input can be read only once: save it to a file to fit it with --out-of-core.")
    first = next((table for table in parts(data, reading) if table.num_rows), None)
    if first is None:
        raise DataError(f"{data} has no rows.")
    return first
