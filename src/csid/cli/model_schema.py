"""The schema that a fitted model reads files by."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from csid.cli.options import CellOptions
from csid.cli.tables import MISSING
from csid.encoding import Mode, OrdinalMode
from csid.fitted.model import FittedModel
from csid.fitted.schema import CellFormat, ColumnSchema, Schema, Type


def schema_of(fitted: FittedModel, missing: Sequence[str] = (), cells: CellOptions | None = None) -> Schema:
    """The schema saved with a model; of a model fitted in Python, from its names and levels.

    missing, cells : replace what the schema has, if given.
    """
    schema = fitted.schema or Schema(tuple(map(_column, fitted.encoding.modes)), fitted.target_names, MISSING)
    if cells is not None:
        columns = tuple(replace(column, format=_as_asked(column.format, cells)) for column in schema.columns)
        formats = {name: _as_asked(written, cells) for name, written in schema.formats.items()}
        schema = replace(schema, columns=columns, formats=formats)
    return replace(schema, missing=tuple(missing) or schema.missing)


def _column(mode: Mode) -> ColumnSchema:
    if isinstance(mode, OrdinalMode):
        kind: Type = "text" if mode.words else "date" if mode.date else "number"
        return ColumnSchema(mode.name, kind, "number", mode.words)
    first = next(iter(mode.categories), 0.0)
    kind = "text" if isinstance(first, str) else "boolean" if isinstance(first, bool | np.bool_) else "number"
    return ColumnSchema(mode.name, kind, "category")


def _as_asked(written: CellFormat, cells: CellOptions) -> CellFormat:
    decimal = written.decimal if cells.decimal is None else cells.decimal.value
    day_first = written.day_first if cells.day_first is None else cells.day_first
    return replace(written, decimal=decimal, day_first=day_first)
