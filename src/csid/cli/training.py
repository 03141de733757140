"""Read a training file: infer its schema and take its rows, in memory or out of core."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from csid.cli.column_notes import described, dropped
from csid.cli.errors import DataError
from csid.cli.file_rows import FileRows, first_part
from csid.cli.labelled_rows import LabelledRows, labelled
from csid.cli.options import ColumnOptions, TextFormat, missing_values
from csid.cli.schema_inference import infer
from csid.cli.tables import MISSING, Reading, read
from csid.fitted.schema import Schema

Rows = TypeVar("Rows", LabelledRows, FileRows)


class TrainingFile(NamedTuple):
    """A file to fit, and what the command line says about it."""

    data: str
    targets: Sequence[str]
    columns: ColumnOptions
    text: TextFormat

    @property
    def reading(self) -> Reading:
        missing = missing_values(self.columns.missing) or MISSING
        return Reading(missing, self.text.delimiter, self.text.encoding, self.text.sheet)


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
    """Read all rows, and infer from them what the columns are."""
    schema, table, remarks, odd = infer(read(file.data, file.reading), file.targets, file.columns, file.text.cells)
    rows = labelled(table, schema, file.columns.weight, file.columns.group)
    if len(rows.y) < 2:
        raise DataError(f"{file.data} has {len(rows.y)} row(s) with a target; a fit needs at least 2.")
    notes = [
        *rows.notes,
        *odd.notes(),
        *remarks,
        *dropped(table, schema, file.columns.ignore),
        *rows.remarks(schema.targets),
    ]
    return Training(schema, rows, f"{file.data}: {len(rows.y):,} rows", described(table, schema), notes)


def read_out_of_core(file: TrainingFile) -> Training[FileRows]:
    """Infer from the first rows what the columns are; the fit streams all rows."""
    first = first_part(file.data, file.reading)
    schema, table, remarks, odd = infer(first, file.targets, file.columns, file.text.cells)
    notes = [
        f"Fitting out of core: column types are inferred from the first {first.num_rows:,} rows, and encoded rows are "
        "kept on disk.",
        *remarks,
        *dropped(table, schema, file.columns.ignore),
        *(f"In these rows, {each}" for each in labelled(table, schema, None, None).remarks(schema.targets)),
    ]
    rows = FileRows(file.data, file.reading, schema, odd)
    return Training(schema, rows, file.data, described(table, schema), notes)
