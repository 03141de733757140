"""From a file's table to what an estimator reads: the schema inferred, predictors, targets and weights taken out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from csid.cli.errors import DataError, UsageError
from csid.cli.tables import MISSING, is_number
from csid.schema import ColumnSchema, Kind, Schema, Type, default_targets

Array = NDArray[np.float64]

_ARROW_TYPES: dict[Type, pa.DataType] = {
    "number": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.timestamp("s"),
}
_MANY_WORDS = 50
_SECONDS_A_DAY = 86_400.0


def infer(
    table: pa.Table,
    targets: Sequence[str],
    missing: Sequence[str],
    categorical: Sequence[str] = (),
    ordinal: Sequence[str] = (),
    ignore: Sequence[str] = (),
    weight: str | None = None,
    group: str | None = None,
) -> Schema:
    """What the columns of a table are.

    categorical, ignore : names, several by commas, or patterns such as `id_*`.
    ordinal : names, with the order of their words where they have any (`size=S,M,L`).
    """
    names = table.column_names
    for flag, name in [*(("--target", name) for name in targets), ("--weight", weight), ("--group", group)]:
        if name is not None and name not in names:
            raise UsageError(f"{flag} {name}: the data have no such column; they have {_listed(names)}.")
    orders = dict(_order(given, names) for given in ordinal)
    categories, ignored = (matching(*given, names) for given in (("--categorical", categorical), ("--ignore", ignore)))
    special = {*targets, *filter(None, (weight, group))}
    columns, dropped = [], []
    for name in names:
        if name in special:
            continue
        column = None if name in ignored else _column(name, table[name], name in categories, orders.get(name))
        if column is None:
            dropped.append(name)
        else:
            columns.append(column)
    if not columns:
        raise DataError("the data have no column left to predict from.")
    return Schema(tuple(columns), tuple(targets), tuple(missing), weight, group, tuple(dropped))


def arrow_types(schema: Schema, more: Mapping[str, Type] | None = None) -> dict[str, pa.DataType]:
    """What the columns of a file are read as."""
    types = {column.name: _ARROW_TYPES[column.type] for column in schema.columns}
    return types | {name: _ARROW_TYPES[kind] for name, kind in (more or {}).items()}


def predictors(table: pa.Table, schema: Schema) -> pa.Table:
    """The columns that a model reads; one that is not there is missing in every row."""
    return pa.table({column.name: _values(table, column) for column in schema.columns})


def categorical_names(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind == "category"]


def known_targets(table: pa.Table, names: Sequence[str]) -> tuple[Array, NDArray[np.intp]]:
    """Targets (M, K), NaN where missing, and the rows that have all of them."""
    y = np.stack([numbers(table, name, "target") for name in names], axis=1)
    return y, np.flatnonzero(~np.isnan(y).any(axis=1))


def numbers(table: pa.Table, name: str, what: str) -> Array:
    """A target or weight as numbers, NaN where missing."""
    column = table[name]
    if _type(name, column.type) != "number":
        row, value = _first_word(column)
        raise DataError(
            f"the {what} {name!r} holds {value!r} in row {row + 1} where numbers are expected. "
            "If it stands for a missing cell, name it with --missing."
        )
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _first_word(column: Any) -> tuple[int, Any]:
    """The first value that is no number; of words that all are numbers, the first."""
    found = [(row, value) for row, value in enumerate(column.to_pylist()) if value is not None]
    return next(((row, value) for row, value in found if not is_number(value)), found[0])


def described(table: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    """A line for each column: its name, its role, how many different values and missing cells it has."""
    roles = {column.name: _role(column) for column in schema.columns}
    roles |= dict.fromkeys(schema.targets, "target") | dict.fromkeys(schema.ignored, "ignored")
    roles |= {name: role for name, role in ((schema.weight, "weight"), (schema.group, "group")) if name is not None}
    return [
        {
            "column": name,
            "role": roles[name],
            "values": pc.count_distinct(table[name], mode="only_valid").as_py(),
            "missing": table[name].null_count,
        }
        for name in table.column_names
    ]


def _role(column: ColumnSchema) -> str:
    if column.kind == "category":
        return "category"
    return "ordered words" if column.order else column.type


def _column(name: str, values: Any, categorical: bool, order: tuple[str, ...] | None) -> ColumnSchema | None:
    """The schema of a predictor; None for a column without values, or a text with hardly any value twice."""
    kind, found = _type(name, values.type), values.length() - values.null_count
    if order is not None and kind == "text":
        return ColumnSchema(name, "text", "number", _checked_order(name, values, order))
    if order:
        raise UsageError(f"--ordinal {name}: its cells are no words, and need no order; give the name alone.")
    if found == 0:
        return None
    if kind == "text" and not categorical:
        different = pc.count_distinct(values, mode="only_valid").as_py()
        if different > _MANY_WORDS and 2 * different > found:
            return None
    is_category: Kind = "category" if (categorical or kind in ("text", "boolean")) and order is None else "number"
    return ColumnSchema(name, kind, is_category)


def _type(name: str, kind: pa.DataType) -> Type:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "date"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return "number"
    if pa.types.is_binary(kind):
        raise DataError(f"column {name!r} is not UTF-8 text: name its --encoding, such as latin1, or --ignore it.")
    raise DataError(f"column {name!r} has type {kind}, which is neither numbers nor words: --ignore {name}.")


def _checked_order(name: str, values: Any, order: tuple[str, ...]) -> tuple[str, ...]:
    words = [word for word in pc.unique(values).to_pylist() if word is not None]
    if not order:
        raise UsageError(
            f"--ordinal {name}: its cells are words; give their order, as in --ordinal {name}=low,middle,high."
        )
    unknown = sorted(set(words) - set(order))
    if unknown:
        raise UsageError(f"--ordinal {name}: the order does not hold {unknown[0]!r}, which the data do.")
    return order


def _order(given: str, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    name, _, words = given.partition("=")
    if name not in names:
        raise UsageError(f"--ordinal {name}: the data have no such column; they have {_listed(names)}.")
    order = tuple(word.strip() for word in words.split(",") if word.strip())
    if len(set(order)) < len(order):
        raise UsageError(f"--ordinal {given}: a word is there twice.")
    return name, order


def matching(flag: str, given: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns that a flag names, one by one, by commas or by patterns."""
    found: set[str] = set()
    for pattern in (each for text in given for each in ([text] if text in names else text.split(","))):
        some = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
        if not some:
            raise UsageError(f"{flag} {pattern}: the data have no such column; they have {_listed(names)}.")
        found |= some
    return found


def _values(table: pa.Table, column: ColumnSchema) -> Any:
    if column.name not in table.column_names:
        return pa.nulls(table.num_rows, _ARROW_TYPES["number" if column.kind == "number" else column.type])
    values = table[column.name]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if column.order:
        return pc.index_in(values, pa.array(column.order, values.type)).cast(pa.float64())
    if column.type == "date":
        seconds = values.cast(pa.timestamp("s")).cast(pa.int64()).cast(pa.float64())
        return pc.divide(seconds, _SECONDS_A_DAY)
    if column.type == "text":
        return values.cast(pa.string())
    return values if column.type == "boolean" else values.cast(pa.float64())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def schema_of(model: Any, missing: Sequence[str]) -> Schema:
    """The schema that a model was saved with; for a model of the library, what its levels and names tell."""
    saved: Schema | None = model.schema_
    if saved is not None:
        return replace(saved, missing=tuple(missing)) if missing else saved
    columns = []
    for mode in model.encoding_.modes:
        first = next((value for value in mode.level_names if value is not None), 0.0)
        kind: Type = "text" if isinstance(first, str) else "boolean" if isinstance(first, bool | np.bool_) else "number"
        columns.append(ColumnSchema(mode.name, kind, "number" if mode.n_ordered else "category"))
    return Schema(tuple(columns), default_targets(model.cpd_.n_outputs), tuple(missing) or MISSING)
