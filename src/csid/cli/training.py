"""Read a training file: infer its schema and take its rows, in memory or out of core."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from csid.cli.column_notes import described, dropped
from csid.cli.columns import with_normalised_text
from csid.cli.errors import DataError
from csid.cli.file_rows import FileRows, first_part
from csid.cli.labelled_rows import LabelledRows, labelled
from csid.cli.options import ColumnOptions, TextFormat, missing_values
from csid.cli.schema_inference import infer
from csid.cli.tables import MISSING, Reading, read
from csid.encoding.text import normalised
from csid.fitted.schema import Schema

Rows = TypeVar("Rows", LabelledRows, FileRows)


class TrainingFile(NamedTuple):
    """A file to fit, and what the command line tells of it."""

    data: str
    targets: Sequence[str]
    columns: ColumnOptions
    text: TextFormat

    @property
    def reading(self) -> Reading:
        return Reading(missing_values(self.columns.missing) or MISSING, *self.text)

    def with_schema(self, table: pa.Table) -> tuple[pa.Table, Schema]:
        """A table of the file, with its texts normalised if that is wanted, and its schema."""
        if not self.columns.normalise_text:
            return table, infer(table, self.targets, self.columns)
        special = {*self.targets, self.columns.weight, self.columns.group}
        table = with_normalised_text(table, [name for name in table.column_names if name not in special])
        ordinal = [_normalised_order(given) for given in self.columns.ordinal or []]
        schema = infer(table, self.targets, self.columns._replace(ordinal=ordinal))
        return table, replace(schema, normalise_text=True)


def _normalised_order(given: str) -> str:
    """The text of --ordinal with its values normalised."""
    name, equals, values = given.partition("=")
    return name + equals + ",".join(dict.fromkeys(map(normalised, values.split(","))))


@dataclass(frozen=True)
class Training(Generic[Rows]):
    """What a fit needs.

    rows : in memory, or streamed from files.
    title : of the table of columns; columns : a line for each column of the file; notes : what the user should know.
    """

    schema: Schema
    rows: Rows
    title: str
    columns: list[dict[str, Any]]
    notes: list[str]


def read_in_memory(file: TrainingFile) -> Training[LabelledRows]:
    """Read all rows, and infer column types from them."""
    table, schema = file.with_schema(read(file.data, file.reading))
    rows = labelled(table, schema, file.columns.weight, file.columns.group)
    if len(rows.y) < 2:
        raise DataError(f"{file.data} has {len(rows.y)} row(s) with a target; a fit needs at least 2.")
    notes = [*filter(None, [rows.note]), *dropped(table, schema, file.columns.ignore), *rows.remarks(schema.targets)]
    return Training(schema, rows, f"{file.data}: {len(rows.y):,} rows", described(table, schema), notes)


def read_out_of_core(file: TrainingFile) -> Training[FileRows]:
    """Infer column types from the first rows; the fit streams all rows."""
    first, schema = file.with_schema(first_part(file.data, file.reading))
    notes = [
        f"Fitting out of core: column types are inferred from the first {first.num_rows:,} rows, and encoded rows are "
        "kept on disk.",
        *dropped(first, schema, file.columns.ignore),
        *(f"In these rows, {each}" for each in labelled(first, schema, None, None).remarks(schema.targets)),
    ]
    return Training(schema, FileRows(file.data, file.reading, schema), file.data, described(first, schema), notes)
