"""The schema that a fitted model reads files by."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from csid.cli.tables import MISSING
from csid.encoding import Mode, OrdinalMode
from csid.fitted.model import FittedModel
from csid.fitted.schema import ColumnSchema, Schema, Type


def schema_of(fitted: FittedModel, missing: Sequence[str] = ()) -> Schema:
    """The schema saved with a model; of a model fitted in Python, from its names and levels. missing : replaces its."""
    if fitted.schema is not None:
        return replace(fitted.schema, missing=tuple(missing)) if missing else fitted.schema
    columns = tuple(map(_column, fitted.encoding.modes))
    return Schema(columns, fitted.target_names, tuple(missing) or MISSING)


def _column(mode: Mode) -> ColumnSchema:
    if isinstance(mode, OrdinalMode):
        kind: Type = "text" if mode.words else "date" if mode.date else "number"
        return ColumnSchema(mode.name, kind, "number", mode.words)
    first = next(iter(mode.categories), 0.0)
    kind = "text" if isinstance(first, str) else "boolean" if isinstance(first, bool | np.bool_) else "number"
    return ColumnSchema(mode.name, kind, "category")
