"""Read a training file: infer its schema and take its rows, in memory or out of core."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from csid.cli.column_notes import described, dropped
from csid.cli.columns import numbers, with_types
from csid.cli.errors import DataError
from csid.cli.file_rows import FileRows, first_part
from csid.cli.labelled_rows import LabelledRows, labelled
from csid.cli.options import ColumnOptions, TextFormat, missing_values
from csid.cli.schema_inference import Inferred, infer
from csid.cli.tables import MISSING, Reading, parts, read
from csid.cli.task_choice import Choice, by_numbers
from csid.cli.tasks import TASKS, Task, TaskName
from csid.fitted.schema import Schema

Rows = TypeVar("Rows", LabelledRows, FileRows)


class TrainingFile(NamedTuple):
    """A file to fit, and what the command line says about it."""

    data: str
    targets: Sequence[str]
    columns: ColumnOptions
    text: TextFormat
    task: TaskName = TaskName.auto

    @property
    def reading(self) -> Reading:
        missing = missing_values(self.columns.missing) or MISSING
        return Reading(missing, self.text.delimiter, self.text.encoding, self.text.sheet)

    def inferred(self, table: pa.Table, task: Choice | None = None) -> Inferred:
        """What the columns of a table are. task : if it is known; else --task, or the targets, decide."""
        if task is None and self.task != TaskName.auto:
            task = Choice(self.task, "")
        return infer(table, self.targets, self.columns, self.text.cells, task)


@dataclass(frozen=True)
class Training(Generic[Rows]):
    """What a fit needs.

    task : of its targets; rows : in memory, or streamed from files.
    title : of the table of columns; columns : a line for each column of the file; notes : what the user should know.
    """

    task: Task
    schema: Schema
    rows: Rows
    title: str
    columns: list[dict[str, Any]]
    notes: list[str]


def read_in_memory(file: TrainingFile) -> Training[LabelledRows]:
    """Read all rows, and infer from them what the columns are."""
    schema, table, remarks, odd, choice = file.inferred(read(file.data, file.reading))
    rows = labelled(table, schema, file.columns.weight, file.columns.group)
    if len(rows.y) < 2:
        raise DataError(f"{file.data} has {len(rows.y)} row(s) with a target; a fit needs at least 2.")
    notes = [
        *([choice.reason] if choice.reason else []),
        *rows.notes,
        *odd.notes(),
        *remarks,
        *dropped(table, schema, file.columns.ignore),
        *rows.remarks(schema),
    ]
    return Training(
        TASKS[choice.task], schema, rows, f"{file.data}: {len(rows.y):,} rows", described(table, schema), notes
    )


def read_out_of_core(file: TrainingFile) -> Training[FileRows]:
    """Infer from the first rows what the columns are; the fit streams all rows."""
    first = first_part(file.data, file.reading)
    schema, table, remarks, odd, choice = file.inferred(first)
    if 1 <= choice.n_numbers <= 2:
        schema, table, remarks, odd, choice = file.inferred(first, _by_all_rows(file, schema))
    notes = [
        *([choice.reason] if choice.reason else []),
        f"Fitting out of core: column types are inferred from the first {first.num_rows:,} rows, and encoded rows are "
        "kept on disk.",
        *remarks,
        *dropped(table, schema, file.columns.ignore),
        *(f"In these rows, {each}" for each in labelled(table, schema, None, None).remarks(schema)),
    ]
    rows = FileRows(file.data, file.reading, schema, odd)
    return Training(TASKS[choice.task], schema, rows, file.data, described(table, schema), notes)


def _by_all_rows(file: TrainingFile, schema: Schema) -> Choice:
    """The task of a target with one or two different numbers in the first rows: those below may have more."""
    (name,), found = schema.targets, set[float]()
    for table in parts(file.data, replace(file.reading, columns=[name])):
        y = numbers(with_types(table, schema, {name: schema.formats[name]}), name, "target")
        found.update(np.unique(y[~np.isnan(y)]).tolist())
        if len(found) > 2:
            return Choice(TaskName.regression, f"Task: regression, because {name!r} holds more than two numbers.")
    return by_numbers(name, pa.array(sorted(found), pa.float64()))
