"""The schema that a fitted model reads files by."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csid.cli.options import CellOptions
from csid.cli.tables import MISSING
from csid.encoding import Mode, OrdinalMode
from csid.fitted.model import FittedModel
from csid.fitted.schema import CellFormat, ColumnSchema, Schema, Type, default_targets, label_type_of


def schema_of(fitted: FittedModel, missing: Sequence[str] = (), cells: CellOptions | None = None) -> Schema:
    """The schema saved with a model; of a model fitted in Python, from its names and levels.

    missing, cells : replace what the schema has, if given.
    """
    schema = fitted.schema or _of_names(fitted)
    if cells is not None:
        columns = tuple(replace(column, format=_as_asked(column.format, cells)) for column in schema.columns)
        formats = {name: _as_asked(written, cells) for name, written in schema.formats.items()}
        schema = replace(schema, columns=columns, formats=formats)
    return replace(schema, missing=tuple(missing) or schema.missing)


def known_labels(fitted: FittedModel) -> list[Any] | None:
    """The labels of a classifier; None for other models."""
    return None if fitted.classes is None else fitted.classes.labels.tolist()


def _of_names(fitted: FittedModel) -> Schema:
    columns = tuple(map(_column, fitted.encoding.modes))
    if fitted.classes is None:
        return Schema(columns, fitted.target_names, MISSING)
    target = fitted.columns.targets or default_targets(1)
    return Schema(columns, target, MISSING, labels=label_type_of(fitted.classes.labels))


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
