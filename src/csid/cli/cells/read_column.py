"""Read the cells of a column as its type; a cell that cannot be read is null."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.cells import dates, numbers
from csid.fitted.schema import CellFormat, Type

_TRUE, _FALSE = pa.array(["true", "1"]), pa.array(["false", "0"])
_SECONDS_PER_HOUR = 3600.0


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    real = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(real or pa.types.is_null(kind))


def read_cells(cells: pa.ChunkedArray, kind: Type, written: CellFormat) -> pa.ChunkedArray:
    """Numbers, text, truth values, timestamps in seconds, or hours of times."""
    if kind == "text":
        return cells.cast(pa.string())
    if not is_text(cells.type):
        return _converted(cells, kind)
    if kind == "number":
        has_points = written.decimal == "," and pc.any(pc.match_substring(cells, ".")).as_py()
        plain = None if has_points else plain_numbers(pc.replace_substring(cells, written.decimal, "."))
        if plain is not None:
            return plain
    distinct = pc.unique(cells).drop_null().cast(pa.string())
    return pc.take(_readers[kind](distinct, written), pc.index_in(cells.cast(pa.string()), distinct))


def plain_numbers(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Text as numbers, if all of it is finite numbers without units and marks of thousands."""
    try:
        found = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return found if pc.all(pc.is_finite(found)).as_py() in (True, None) else None


def truth_values(texts: pa.Array) -> pa.Array:
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    is_true = pc.is_in(words, _TRUE)
    return pc.if_else(pc.or_(is_true, pc.is_in(words, _FALSE)), is_true, None)


def _numbers(texts: pa.Array, written: CellFormat) -> pa.Array:
    return numbers.values(numbers.taken_apart(texts), written.decimal, written.unit)


_readers: dict[Type, Callable[[pa.Array, CellFormat], pa.Array]] = {
    "number": _numbers,
    "date": lambda texts, written: dates.dates(texts, written.day_first),
    "time": lambda texts, _: dates.times(texts),
    "boolean": lambda texts, _: truth_values(texts),
}


def _converted(cells: pa.ChunkedArray, kind: Type) -> Any:
    """Cells that are not text, from a file whose columns have types."""
    found = cells.type
    if kind in ("number", "time") and (is_number(found) or pa.types.is_boolean(found)):
        return cells.cast(pa.float64(), safe=False)
    if kind == "boolean" and (is_number(found) or pa.types.is_boolean(found)):
        return cells.cast(pa.bool_())
    if kind == "date" and (pa.types.is_timestamp(found) or pa.types.is_date(found)):
        return (
            cells.cast(pa.timestamp("us", getattr(found, "tz", None)))
            .cast(pa.timestamp("us"))
            .cast(pa.timestamp("s"), safe=False)
        )
    if kind == "time" and (pa.types.is_time(found) or pa.types.is_duration(found)):
        resolution = pa.duration("us") if pa.types.is_duration(found) else pa.time64("us")
        microseconds = cells.cast(resolution).cast(pa.int64()).cast(pa.float64())
        return pc.divide(microseconds, 1e6 * _SECONDS_PER_HOUR)
    empty = {"number": pa.float64(), "boolean": pa.bool_(), "date": pa.timestamp("s"), "time": pa.float64()}[kind]
    return pa.chunked_array([pa.nulls(len(cells), empty)])
