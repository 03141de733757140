"""Take the columns that an estimator reads out of a table: predictors, and numbers such as weights."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from csid.cli.cells import OddCells, normalised_texts, read_cells
from csid.cli.cells.read_column import is_number, is_text
from csid.cli.errors import DataError
from csid.fitted.schema import CellFormat, Schema

Array = NDArray[np.float64]

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def predictors(table: pa.Table, schema: Schema, odd: OddCells | None = None, first_row: int = 0) -> pa.Table:
    """The columns that a model reads; a column that the table lacks is missing in every row.

    odd : collects the cells that cannot be read; first_row : number of the table's first row among those of the file.
    """
    columns, known = {}, set(table.column_names)
    for column in schema.columns:
        if column.name not in known:
            empty = {"text": pa.string(), "boolean": pa.bool_()}.get(column.type, pa.float64())
            columns[column.name] = pa.nulls(table.num_rows, pa.float64() if column.kind == "number" else empty)
            continue
        cells = table[column.name]
        read = read_cells(cells, column.type, column.format)
        if odd is not None:
            odd.add(column.name, column.type, column.format, cells, read, first_row)
        if schema.normalise_text and column.type == "text":
            read = normalised_texts(read)
        columns[column.name] = _ordered(read, column.order) if column.order else read
    return pa.table(columns)


def categorical_names(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind == "category"]


def with_types(
    table: pa.Table, schema: Schema, formats: Mapping[str, CellFormat], odd: OddCells | None = None, first_row: int = 0
) -> pa.Table:
    """A table whose targets and weights are read by their formats; a column of which no cell can be read is left as is.

    It is refused when its values are needed.
    """
    for name, written in formats.items():
        kind = schema.labels or "number" if name in schema.targets else "number"
        read = read_cells(table[name], kind, written)
        if read.null_count == len(read):
            continue
        if odd is not None:
            odd.add(name, kind, written, table[name], read, first_row)
        if schema.normalise_text and kind == "text":
            read = normalised_texts(read)
        table = table.set_column(table.column_names.index(name), name, read)
    return table


def numbers(table: pa.Table, name: str, role: str) -> Array:
    """A target or weight column (M,), NaN where missing."""
    column = table[name]
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if not is_number(column.type):
        n_numbers, row, value = first_non_number(column)
        may_be_classes = role == "target" and (is_text(column.type) or pa.types.is_boolean(column.type))
        if may_be_classes and 2 * n_numbers < len(column) - column.null_count:
            advice = "Texts and truth values are classes: use --task classification, with one --target."
        else:
            advice = f"If {value!r} means a missing value, use --missing {shlex.quote(str(value))}."
        raise DataError(f"the {role} {name!r} must be numeric, but row {row + 1:,} holds {value!r}. {advice}")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


class NonNumber(NamedTuple):
    """How many values of a column are numbers, and the first value that is not."""

    n_numbers: int
    row: int
    value: Any


def first_non_number(column: pa.ChunkedArray) -> NonNumber:
    """The first value that does not read as a number; the first known value if all do."""
    known = pc.is_valid(column)
    if is_text(column.type) or is_number(column.type):
        is_plain = pc.fill_null(pc.match_substring_regex(column.cast(pa.string()), _NUMBER), False)
    else:
        is_plain = pc.and_(known, pa.scalar(False))
    n_numbers = pc.sum(is_plain).as_py() or 0
    row = pc.index(pc.and_not(known, is_plain), pa.scalar(True)).as_py()
    if row < 0:
        row = pc.index(known, pa.scalar(True)).as_py()
    return NonNumber(n_numbers, row, column[row].as_py())


def _ordered(values: pa.ChunkedArray, order: Sequence[str]) -> pa.Array:
    """Words as an ordered dictionary. Words that are not in the order come after it."""
    others = set(pc.unique(values).drop_null().to_pylist()) - set(order)
    words = pa.array([*order, *sorted(others)], pa.string())
    places = pc.index_in(values, words).combine_chunks()
    return pa.DictionaryArray.from_arrays(places, words, ordered=True)
