"""The schema that a fitted model reads files by."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from csid.cli.tables import MISSING
from csid.fitted.model import FittedModel
from csid.fitted.schema import ColumnSchema, Schema, Type


def schema_of(fitted: FittedModel, missing: Sequence[str] = ()) -> Schema:
    """The schema saved with a model; of a model fitted in Python, from its names and levels. missing : replaces its."""
    if fitted.schema is not None:
        return replace(fitted.schema, missing=tuple(missing)) if missing else fitted.schema
    columns = []
    for mode in fitted.encoding.modes:
        first = next((value for value in mode.level_names if value is not None), 0.0)
        kind: Type = "text" if isinstance(first, str) else "boolean" if isinstance(first, bool | np.bool_) else "number"
        columns.append(ColumnSchema(mode.name, kind, "number" if mode.n_ordered else "category"))
    return Schema(tuple(columns), fitted.target_names, tuple(missing) or MISSING)
