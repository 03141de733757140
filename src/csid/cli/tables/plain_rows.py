"""Rows of Python objects, from JSON lines and workbooks, as columns."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa


def batch_of(columns: Iterable[list[Any]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_column(values) for values in columns], list(names))


def _column(values: list[Any]) -> pa.Array:
    """Values as an array; those of different types become text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else _text(value) for value in values])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | dict | list):
        return json.dumps(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
