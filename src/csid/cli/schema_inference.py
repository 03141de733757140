"""Infer the schema of a training table: the type and role of each column, from its values and the options given."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.errors import DataError, UsageError
from csid.cli.options import ColumnOptions, missing_values
from csid.cli.tables import MISSING
from csid.fitted.schema import ColumnSchema, Kind, Schema, Type

_MOST_NAMES = 12
_MANY_VALUES = 50
"""A text column with more distinct values than this, most of which occur once, is not a predictor."""


def infer(table: pa.Table, targets: Sequence[str], options: ColumnOptions) -> Schema:
    """The schema of a table.

    options : categorical, ignore are names, several separated by commas, or patterns such as `id_*`;
        ordinal are names, of text columns with their values in order (`size=S,M,L`).
    """
    names = table.column_names
    used = [*(("--target", name) for name in targets), ("--weight", options.weight), ("--group", options.group)]
    for flag, name in used:
        if name is not None and name not in names:
            raise _no_column(f"{flag} {name}", names)
    if options.counts and options.weight is None:
        raise UsageError("--counts says what the weights are: name their column with --weight.")
    orders = dict(_order(given, names) for given in options.ordinal or [])
    categorical = matching("--categorical", options.categorical or [], names)
    ignored = matching("--ignore", options.ignore or [], names)
    special = {name for _, name in used}
    columns, dropped = [], []
    for name in names:
        if name in special:
            continue
        column = None if name in ignored else _column(name, table[name], name in categorical, orders.get(name))
        if column is None:
            dropped.append(name)
        else:
            columns.append(column)
    if not columns:
        raise DataError("no column is left to use as a predictor.")
    missing = tuple(missing_values(options.missing) or MISSING)
    return Schema(tuple(columns), tuple(targets), missing, options.weight, options.group, tuple(dropped))


def matching(flag: str, given: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns that an option names: one by one, separated by commas, or by patterns."""
    found: set[str] = set()
    for pattern in (each for text in given for each in ([text] if text in names else text.split(","))):
        matches = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
        if not matches:
            raise _no_column(f"{flag} {pattern}", names)
        found |= matches
    return found


def type_of(name: str, kind: pa.DataType) -> Type:
    """The type of a column in the words of a schema."""
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
        raise DataError(
            f"column {name!r} is not UTF-8 text. Give its --encoding, such as latin1, or leave it out with "
            f"--ignore {name}."
        )
    raise DataError(f"column {name!r} has the unsupported type {kind}. Leave it out with --ignore {name}.")


def _column(name: str, values: Any, categorical: bool, order: tuple[str, ...] | None) -> ColumnSchema | None:
    """The schema of a predictor; None for a column without values, or for text that hardly ever repeats."""
    kind, n_known = type_of(name, values.type), values.length() - values.null_count
    if order is not None and kind == "text":
        return ColumnSchema(name, "text", "number", _checked_order(name, values, order))
    if order:
        raise UsageError(f"--ordinal {name}: the column is not text and needs no list of values. Use --ordinal {name}.")
    if n_known == 0:
        return None
    if kind == "text" and not categorical:
        n_distinct = pc.count_distinct(values, mode="only_valid").as_py()
        if n_distinct > _MANY_VALUES and 2 * n_distinct > n_known:
            return None
    is_category: Kind = "category" if (categorical or kind in ("text", "boolean")) and order is None else "number"
    return ColumnSchema(name, kind, is_category)


def _order(given: str, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The column and the ordered values of --ordinal."""
    name, _, values = given.partition("=")
    if name not in names:
        raise _no_column(f"--ordinal {name}", names)
    order = tuple(value.strip() for value in values.split(",") if value.strip())
    if len(set(order)) < len(order):
        raise UsageError(f"--ordinal {given}: a value is listed twice.")
    return name, order


def _checked_order(name: str, values: Any, order: tuple[str, ...]) -> tuple[str, ...]:
    if not order:
        raise UsageError(
            f"--ordinal {name}: the column is text. List its values in order, such as --ordinal {name}=low,middle,high."
        )
    unknown = sorted({value for value in pc.unique(values).to_pylist() if value is not None} - set(order))
    if unknown:
        raise UsageError(f"--ordinal {name}: the data has the value {unknown[0]!r}, which is not in the list.")
    return order


def _no_column(given: str, names: Sequence[str]) -> UsageError:
    listed = ", ".join(map(repr, names[:_MOST_NAMES]))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return UsageError(f"{given}: no such column. The columns are {listed}{more}.")
