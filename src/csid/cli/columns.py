"""Take the columns that an estimator reads out of a table: predictors, targets and weights."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from csid.cli.errors import DataError
from csid.cli.schema_inference import type_of
from csid.encoding.text import normalised
from csid.fitted.schema import ColumnSchema, Schema, Type

Array = NDArray[np.float64]

_ARROW_TYPES: dict[Type, pa.DataType] = {
    "number": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.timestamp("s"),
}
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def arrow_types(schema: Schema, more: Mapping[str, Type] | None = None) -> dict[str, pa.DataType]:
    """The types that the columns of a file are read as."""
    types = {column.name: _ARROW_TYPES[column.type] for column in schema.columns}
    return types | {name: _ARROW_TYPES[kind] for name, kind in (more or {}).items()}


def predictors(table: pa.Table, schema: Schema) -> pa.Table:
    """The columns that a model reads; a column that the table lacks is missing in every row."""
    if schema.normalise_text:
        table = with_normalised_text(table, [column.name for column in schema.columns if column.type == "text"])
    return pa.table({column.name: _predictor(table, column) for column in schema.columns})


def with_normalised_text(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """A table in which texts of these columns that differ only in case or blanks are the same."""
    for at, name in enumerate(table.column_names):
        if name in names and type_of(name, table[name].type) == "text":
            coded = table[name].cast(pa.string()).combine_chunks().dictionary_encode()
            forms = pa.array([normalised(text) for text in coded.dictionary.to_pylist()], pa.string())
            table = table.set_column(at, name, forms.take(coded.indices))
    return table


def categorical_names(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind == "category"]


def known_targets(table: pa.Table, names: Sequence[str]) -> tuple[Array, NDArray[np.intp]]:
    """Targets (M, K), NaN where missing, and the rows that have all of them."""
    y = np.stack([numbers(table, name, "target") for name in names], axis=1)
    return y, np.flatnonzero(~np.isnan(y).any(axis=1))


def numbers(table: pa.Table, name: str, role: str) -> Array:
    """A target or weight column (M,), NaN where missing."""
    column = table[name]
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if type_of(name, column.type) != "number":
        _, row, value = first_non_number(column)
        raise DataError(
            f"the {role} {name!r} must be numeric, but row {row + 1:,} holds {value!r}. "
            f"If {value!r} means a missing value, use --missing {shlex.quote(str(value))}."
        )
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


class NonNumber(NamedTuple):
    """How many values of a column are numbers, and the first value that is not."""

    n_numbers: int
    row: int
    value: Any


def first_non_number(column: pa.ChunkedArray) -> NonNumber:
    """The first value that does not read as a number; the first known value if all do."""
    known = pc.is_valid(column)
    if pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type):
        is_number = pc.and_(known, pa.scalar(False))
    else:
        is_number = pc.fill_null(pc.match_substring_regex(column.cast(pa.string()), _NUMBER), False)
    n_numbers = pc.sum(is_number).as_py() or 0
    row = pc.index(pc.and_not(known, is_number), pa.scalar(True)).as_py()
    if row < 0:
        row = pc.index(known, pa.scalar(True)).as_py()
    return NonNumber(n_numbers, row, column[row].as_py())


def _ordered(values: pa.ChunkedArray, order: Sequence[str]) -> pa.Array:
    """Words as an ordered dictionary. Words that are not in the order come after it."""
    others = set(pc.unique(values).drop_null().to_pylist()) - set(order)
    words = pa.array([*order, *sorted(others)], pa.string())
    places = pc.index_in(values, words).combine_chunks()
    return pa.DictionaryArray.from_arrays(places, words, ordered=True)


def _predictor(table: pa.Table, column: ColumnSchema) -> Any:
    if column.name not in table.column_names:
        return pa.nulls(table.num_rows, _ARROW_TYPES["number" if column.kind == "number" else column.type])
    values = table[column.name]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if column.order:
        return _ordered(values.cast(pa.string()), column.order)
    if column.type == "date":
        return values if pa.types.is_temporal(values.type) else values.cast(pa.timestamp("us"))
    if column.type == "text":
        return values.cast(pa.string())
    return values if column.type == "boolean" else values.cast(pa.float64())
