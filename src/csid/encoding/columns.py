"""Read any table column by column: numbers with NaN for missing, or values with None for missing.

narwhals reads pandas, polars and Arrow tables; NumPy reads arrays. Dates and times are numbers of days since 1970 (of a
time zone, in UTC), and durations are numbers of days.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[np.float64]
MapColumns = Callable[[Callable[..., None], Iterable[Any], Iterable[Any]], Iterable[None]]
"""Calls a function for every column: `map`, or the map of a thread pool."""

_MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True)
class Column:
    """One predictor of a table, not yet encoded.

    label : its name in error messages, such as `column 'age'`, or `column 'x3'` of an array.
    data : (M,) float64 with NaN for missing, or a list of values with None for missing.
    order : of an ordered categorical of words, its categories from lowest to highest.
    is_date : whether the numbers are days since 1970.
    """

    label: str
    data: Array | list[Any]
    order: tuple[str, ...] = ()
    is_date: bool = False

    @property
    def is_numeric(self) -> bool:
        return isinstance(self.data, np.ndarray)

    @property
    def is_ordered(self) -> bool:
        """Whether its values are numbers, dates, or words in order."""
        return self.is_numeric or bool(self.order)

    def numbers(self, words: Sequence[str] = ()) -> Array:
        """The column as float64. An error names the first cell that is not a finite number.

        words : stand for 0, 1, …; other words are missing.
        """
        if not isinstance(self.data, np.ndarray) and words:
            places = {word: float(at) for at, word in enumerate(words)}
            return np.array([places.get(value, np.nan) for value in self.data])
        if not isinstance(self.data, np.ndarray):
            for row, value in enumerate(self.data):
                if value is not None:
                    raise ValueError(
                        f"{self.label} holds {describe(value)} in row {row + 1:,} where numbers are expected: "
                        "convert it to numbers, or name it in `categorical_features` when fitting."
                    )
            return np.full(len(self.data), np.nan)
        infinite = np.isinf(self.data)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise ValueError(
                f"Input X contains infinity or a value too large: {self.label} holds {self.data[row]} in row "
                f"{row + 1:,}. Replace infinite values, or set them to NaN to treat them as missing."
            )
        return self.data

    def values(self) -> list[Any]:
        """The column as category values of one type, with None for missing."""
        if isinstance(self.data, np.ndarray):
            numbers = self.numbers()
            return [None if np.isnan(v) else int(v) if v.is_integer() else v for v in numbers.tolist()]
        kinds = kinds_of(self.data, self.label)
        if len(kinds) > 1:
            (m, one), (n, other) = list(kinds.values())[:2]
            raise ValueError(
                f"{self.label} mixes types: {describe(one)} in row {m + 1:,}, {describe(other)} in row {n + 1:,}. "
                "Convert the column to one type."
            )
        if "date" in kinds:
            row, value = kinds["date"]
            raise TypeError(
                f"{self.label} holds {describe(value)} in row {row + 1:,} as a category: convert the column to "
                "dates, or its categories to text."
            )
        return self.data


def kinds_of(values: Iterable[Any], label: str) -> dict[str, tuple[int, Any]]:
    """Each kind of value that occurs, with the position and value of its first occurrence. None has no kind."""
    kinds: dict[str, tuple[int, Any]] = {}
    for m, value in enumerate(values):
        if value is not None:
            kinds.setdefault(_kind(value, label, m), (m, value))
    return kinds


def is_table(X: Any) -> bool:
    """Whether X is a data frame that narwhals reads."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def read_columns(X: Any) -> Iterator[Column]:
    """The columns of a data frame or of a two-dimensional array, one at a time."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for series in frame.iter_columns():
            yield _read_series(series)
    else:
        for n in range(X.shape[1]):
            yield _read_array(X[:, n], f"column 'x{n}'")


@contextmanager
def column_threads(count: int) -> Iterator[MapColumns]:
    """A map over columns that runs in `count` threads, and reads a column only once a thread is free for it."""
    if count == 1:
        yield map
        return
    with ThreadPoolExecutor(count) as pool:

        def mapped(task: Callable[..., None], *columns: Iterable[Any]) -> Iterator[None]:
            running: deque[Future[None]] = deque()
            for column in zip(*columns, strict=True):
                running.append(pool.submit(task, *column))
                if len(running) == count:
                    yield running.popleft().result()
            yield from (future.result() for future in running)

        yield mapped


def any_missing(X: Any) -> bool:
    """Whether any cell of a table is missing."""
    return any(
        bool(np.isnan(column.numbers()).any()) if column.is_numeric else None in column.values()
        for column in read_columns(X)
    )


def _read_series(series: "nw.Series[Any]") -> Column:
    label = f"column {series.name!r}"
    dtype = series.dtype
    if dtype.is_numeric():
        return Column(label, _floats(series))
    if isinstance(dtype, nw.Date | nw.Datetime):
        return Column(label, _floats(series.dt.timestamp("us")) / _MICROSECONDS_PER_DAY, is_date=True)
    if isinstance(dtype, nw.Duration):
        return Column(label, _floats(series.dt.total_microseconds()) / _MICROSECONDS_PER_DAY)
    if not isinstance(dtype, nw.Boolean | nw.String | nw.Categorical | nw.Enum | nw.Object | nw.Unknown):
        raise _wrong_type(label, dtype)
    values = _without_missing(series.to_list())
    order = _order(series)
    if order and all(isinstance(word, str) for word in order):
        return Column(label, values, order)
    if order or isinstance(dtype, nw.Object | nw.Unknown):
        return _column_of(values, label)
    return Column(label, values)


def _floats(series: "nw.Series[Any]") -> Array:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _order(series: "nw.Series[Any]") -> tuple[Any, ...]:
    """The categories of an ordered categorical, a polars Enum, or an ordered Arrow dictionary; else none."""
    if isinstance(series.dtype, nw.Enum):
        return tuple(series.dtype.categories)
    native = series.to_native()
    if not isinstance(native, pa.ChunkedArray) or not pa.types.is_dictionary(native.type) or not native.type.ordered:
        return ()
    return tuple(native.unify_dictionaries().chunk(0).dictionary.to_pylist()) if native.num_chunks else ()


def _read_array(values: NDArray[Any], label: str) -> Column:
    if values.dtype.kind in "fiu":
        return Column(label, np.ascontiguousarray(values, dtype=np.float64))
    if values.dtype.kind == "b":
        return Column(label, list(values.tolist()))
    if values.dtype.kind == "M":
        return Column(label, _days(values), is_date=True)
    if values.dtype.kind not in "OUS":
        raise _wrong_type(label, values.dtype)
    return _column_of(_without_missing(values.tolist()), label)


def _wrong_type(label: str, dtype: Any) -> TypeError:
    return TypeError(
        f"{label} has type {dtype}, which is neither numbers nor categories: "
        "convert it (a time of day, for example, to a number of hours) or drop it."
    )


def _without_missing(values: list[Any]) -> list[Any]:
    """Replace every missing value (None, NaN, NA, NaT) by None."""
    return [None if _is_missing(value) else value for value in values]


def _column_of(values: list[Any], label: str) -> Column:
    """Python objects as numbers if all are numbers or all are dates, else unchanged."""
    kinds = {_kind(value, label, m) for m, value in enumerate(values) if value is not None}
    if kinds == {"date"}:
        return Column(label, _days([None if v is None else _naive(v) for v in values]), is_date=True)
    if kinds <= {"number"}:
        return Column(label, np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64))
    return Column(label, values)


def _days(values: Any) -> Array:
    """Days since 1970, NaN for missing."""
    moments = np.asarray(values, dtype="datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / _MICROSECONDS_PER_DAY)


def _naive(value: Any) -> Any:
    """A date or time without a time zone, in UTC."""
    is_aware = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if is_aware else value


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):  # most object cells are strings, and the checks below are slow
        return False
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real | Decimal) and bool(value != value)


def _kind(value: Any, label: str, row: int) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bytes):
        return "bytes"
    if isinstance(value, Real | Decimal):
        return "number"
    if isinstance(value, date | np.datetime64):
        return "date"
    raise TypeError(
        f"{label} holds {describe(value)} in row {row + 1:,}: each cell argument must be a string, a number or a date. "
        "Convert the column, or drop it."
    )


def describe(value: Any) -> str:
    """A cell and its type, shortened for an error message."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"
