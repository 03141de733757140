"""Infer the schema of a training table: what each column is, and its role, from its cells and the options given."""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.cells import OddCells, Recognised, normalised_texts, recognise
from csid.cli.cells.recognition import Wanted
from csid.cli.errors import DataError, UsageError
from csid.cli.options import CellOptions, ColumnOptions, missing_values
from csid.cli.tables import MISSING, UNNAMED, is_category
from csid.cli.task_choice import Choice, choose
from csid.cli.tasks import TASKS, TaskName
from csid.encoding.text import normalised
from csid.fitted.schema import ColumnSchema, Kind, LabelType, Schema

_MOST_NAMES = 12
_MANY_VALUES = 50
"""A text column with more distinct values than this, most of which occur once, is not a predictor."""


class Inferred(NamedTuple):
    """What a training table is.

    schema : of the model; table : its columns as their types; remarks : how cells are read, if that is not obvious.
    odd : the cells that cannot be read; task : of its targets, and the reason if --task does not say it.
    """

    schema: Schema
    table: pa.Table
    remarks: list[str]
    odd: OddCells
    task: Choice


def infer(
    table: pa.Table,
    targets: Sequence[str],
    options: ColumnOptions,
    cells: CellOptions | None = None,
    task: Choice | None = None,
) -> Inferred:
    """What the columns of a table are.

    task : None to let the targets decide.
    options : categorical, ignore are names, several separated by commas, or patterns such as `id_*`;
        ordinal are names, of text columns with their values in order (`size=S,M,L`).
    """
    names = table.column_names
    used = [*(("--target", name) for name in targets), ("--weight", options.weight), ("--group", options.group)]
    known = set(names)
    for flag, name in used:
        if name is not None and name not in known:
            raise _no_column(f"{flag} {name}", names)
    if options.counts and options.weight is None:
        raise UsageError("--counts says what the weights are: name their column with --weight.")
    orders = dict(_order(given, names) for given in options.ordinal or [])
    if options.normalise_text:
        orders = {name: tuple(dict.fromkeys(map(normalised, order))) for name, order in orders.items()}
    categorical = matching("--categorical", options.categorical or [], names)
    ignored = matching("--ignore", options.ignore or [], names)
    special = {name for _, name in used}
    numeric = {*targets, options.weight}
    wanted: dict[str, Wanted] = {}
    for name in names:
        if name in numeric:
            wanted[name] = "number"
        elif name not in ignored and name != options.group:
            wanted[name] = "complete" if name in categorical or orders.get(name) else "any"
    cells = cells or CellOptions()
    found = recognise(table, wanted, cells)
    choice = task or _chosen(table, targets, found)
    labelled = TASKS[choice.task].labelled
    if labelled:
        _check_one_target(targets)
        if not choice.n_numbers:
            found |= recognise(table, {targets[0]: "label"}, cells)
    if options.normalise_text:
        found |= {
            name: one._replace(cells=normalised_texts(one.cells))
            for name, one in found.items()
            if one.type == "text" and (labelled or name not in numeric)
        }
    columns, dropped = [], []
    for name in names:
        if name in special:
            continue
        column = None if name in ignored else _column(name, found[name], name in categorical, orders.get(name))
        if column is None:
            dropped.append(name)
        else:
            columns.append(column)
    if not columns:
        raise DataError("no column is left to use as a predictor.")
    missing = tuple(missing_values(options.missing) or MISSING)
    schema = Schema(
        tuple(columns),
        tuple(targets),
        missing,
        options.weight,
        options.group,
        tuple(dropped),
        options.normalise_text,
        labels=_label_type(targets[0], found[targets[0]]) if labelled else None,
    )
    return _inferred(schema, table, found, cells.strict, choice)


def _chosen(table: pa.Table, targets: Sequence[str], found: dict[str, Recognised]) -> Choice:
    """The task that the targets ask for. Several are numbers, or refused when they are read."""
    if len(targets) > 1:
        return Choice(TaskName.regression, "")
    return choose(targets[0], found[targets[0]], is_category(table, targets[0]))


def _check_one_target(targets: Sequence[str]) -> None:
    if len(targets) > 1:
        raise UsageError(
            f"--task classification predicts one target, but --target names {len(targets)} "
            f"({', '.join(map(repr, targets))}): fit a model for each."
        )


def _label_type(target: str, found: Recognised) -> LabelType:
    if found.type not in ("number", "text", "boolean"):
        raise DataError(f"the target {target!r} holds {found.type}s, which cannot be labels of classes.")
    return found.type


def _inferred(schema: Schema, table: pa.Table, found: dict[str, Recognised], strict: bool, choice: Choice) -> Inferred:
    odd, remarks = OddCells(strict), []
    numeric = [*schema.targets, *filter(None, [schema.weight])]
    used = {*numeric, *(column.name for column in schema.columns)}
    for name, one in found.items():
        if name in used:
            odd.add(name, one.type, one.format, table[name], one.cells, 0)
            remarks += [f"Column {name!r}: {one.remark}."] if one.remark else []
    columns = {name: found[name].cells if name in found else table[name] for name in table.column_names}
    schema = replace(schema, formats={name: found[name].format for name in numeric})
    return Inferred(schema, pa.table(columns), remarks, odd, choice)


def matching(flag: str, given: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns that an option names: one by one, separated by commas, or by patterns."""
    found: set[str] = set()
    for pattern in (each for text in given for each in ([text] if text in names else text.split(","))):
        matches = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
        if not matches:
            raise _no_column(f"{flag} {pattern}", names)
        found |= matches
    return found


def _column(name: str, found: Recognised, categorical: bool, order: tuple[str, ...] | None) -> ColumnSchema | None:
    """The schema of a predictor; None for a column without a name or values, or for text that hardly ever repeats."""
    values, kind = found.cells, found.type
    n_known = values.length() - values.null_count
    if order is not None and kind == "text":
        return ColumnSchema(name, "text", "number", _checked_order(name, values, order))
    if order:
        raise UsageError(f"--ordinal {name}: the column is not text and needs no list of values. Use --ordinal {name}.")
    if n_known == 0 or (name.endswith(UNNAMED) and not categorical):
        return None
    _check_type(name, values.type)
    if kind == "text" and not categorical:
        n_distinct = pc.count_distinct(values, mode="only_valid").as_py()
        if n_distinct > _MANY_VALUES and 2 * n_distinct > n_known:
            return None
    is_category: Kind = "category" if (categorical or kind in ("text", "boolean")) and order is None else "number"
    return ColumnSchema(name, kind, is_category, format=found.format)


def _check_type(name: str, kind: pa.DataType) -> None:
    if pa.types.is_binary(kind):
        raise DataError(
            f"column {name!r} is not UTF-8 text. Give its --encoding, such as latin1, or leave it out with "
            f"--ignore {name}."
        )
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise DataError(f"column {name!r} has the unsupported type {kind}. Leave it out with --ignore {name}.")


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
