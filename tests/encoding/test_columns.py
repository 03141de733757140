"""A column reads the same however it is stored; columns of mixed types are refused by name."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from csid.encoding.columns import Column, any_missing, column_threads, is_table, read_columns


def read(X: Any) -> Column:
    (column,) = read_columns(X)
    return column


def as_frame(values: Any, dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


def as_objects(values: list[Any]) -> np.ndarray:
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


ARROW_DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))

NUMBERS = {
    "pandas float64": as_frame([1.0, np.nan, 3.0]),
    "pandas float32": as_frame([1.0, np.nan, 3.0], "float32"),
    "pandas Int64": as_frame([1, pd.NA, 3], "Int64"),
    "pandas Float64": as_frame([1, pd.NA, 3], "Float64"),
    "pandas int64[pyarrow]": as_frame([1, None, 3], "int64[pyarrow]"),
    "pandas double[pyarrow]": as_frame([1, None, 3], "double[pyarrow]"),
    "pandas objects": as_frame([1, pd.NA, 3.0], object),
    "pandas decimals": as_frame([Decimal(1), None, Decimal(3)], object),
    "polars Int64": pl.DataFrame({"c": [1, None, 3]}),
    "polars UInt8": pl.DataFrame({"c": pl.Series([1, None, 3], dtype=pl.UInt8)}),
    "polars Float64 NaN": pl.DataFrame({"c": [1.0, float("nan"), 3.0]}),
    "polars Float64 null": pl.DataFrame({"c": [1.0, None, 3.0]}),
    "polars Decimal": pl.DataFrame({"c": pl.Series([1, None, 3], dtype=pl.Decimal(10, 2))}),
    "pyarrow int64": pa.table({"c": [1, None, 3]}),
    "pyarrow double": pa.table({"c": [1.0, float("nan"), 3.0]}),
    "pyarrow decimal": pa.table({"c": [Decimal(1), None, Decimal(3)]}),
    "numpy float64": np.array([[1.0], [np.nan], [3.0]]),
    "numpy float16": np.array([[1.0], [np.nan], [3.0]], dtype=np.float16),
    "numpy objects None": as_objects([1, None, 3]),
    "numpy objects NA": as_objects([1.0, pd.NA, np.int8(3)]),
}

WORDS = {
    "pandas str": as_frame(["a", None, "b"]),
    "pandas string": as_frame(["a", pd.NA, "b"], "string"),
    "pandas string[pyarrow]": as_frame(["a", None, "b"], "string[pyarrow]"),
    "pandas category": as_frame(["a", None, "b"], "category"),
    "pandas dictionary[pyarrow]": as_frame(["a", None, "b"], ARROW_DICTIONARY),
    "pandas objects None": as_frame(["a", None, "b"], object),
    "pandas objects NaN": as_frame(["a", np.nan, "b"], object),
    "pandas objects NA": as_frame(["a", pd.NA, "b"], object),
    "pandas objects NaT": as_frame(["a", pd.NaT, "b"], object),
    "polars String": pl.DataFrame({"c": ["a", None, "b"]}),
    "polars Categorical": pl.DataFrame({"c": pl.Series(["a", None, "b"], dtype=pl.Categorical)}),
    "polars Enum": pl.DataFrame({"c": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"]))}),
    "polars Object": pl.DataFrame({"c": pl.Series(["a", float("nan"), "b"], dtype=pl.Object)}),
    "pyarrow string": pa.table({"c": ["a", None, "b"]}),
    "pyarrow large_string": pa.table({"c": pa.array(["a", None, "b"], pa.large_string())}),
    "pyarrow dictionary": pa.table({"c": pa.array(["a", None, "b"]).dictionary_encode()}),
    "numpy objects None": as_objects(["a", None, "b"]),
    "numpy objects NaN": as_objects(["a", np.nan, "b"]),
    "numpy objects float32 NaN": as_objects(["a", np.float32("nan"), "b"]),
}

BOOLEANS = {
    "pandas boolean": as_frame([True, pd.NA, False], "boolean"),
    "pandas bool[pyarrow]": as_frame([True, None, False], "bool[pyarrow]"),
    "pandas objects": as_frame([True, None, False], object),
    "polars Boolean": pl.DataFrame({"c": [True, None, False]}),
    "pyarrow bool": pa.table({"c": [True, None, False]}),
    "numpy objects": as_objects([True, None, False]),
}

NOTHING = {
    "pandas objects": as_frame([None, pd.NA, np.nan], object),
    "pandas string": as_frame([None, None, None], "string"),
    "pandas category": as_frame([None, None, None], "category"),
    "polars Null": pl.DataFrame({"c": [None, None, None]}),
    "polars String": pl.DataFrame({"c": pl.Series([None] * 3, dtype=pl.String)}),
    "pyarrow null": pa.table({"c": pa.nulls(3)}),
    "numpy float": np.full((3, 1), np.nan),
    "numpy objects": as_objects([None, None, None]),
}


def cases(tables: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("X", tables.values(), ids=tables.keys())


# --- reading ------------------------------------------------------------------------------------------------------


@cases(NUMBERS)
def test_numbers_with_a_missing_cell(X: Any) -> None:
    column = read(X)
    assert column.is_numeric
    assert_array_equal(column.numbers(), [1.0, np.nan, 3.0])
    assert column.values() == [1, None, 3]


@cases(WORDS)
def test_words_with_a_missing_cell(X: Any) -> None:
    column = read(X)
    assert not column.is_numeric
    assert column.values() == ["a", None, "b"]


@cases(BOOLEANS)
def test_booleans_with_a_missing_cell(X: Any) -> None:
    column = read(X)
    assert not column.is_numeric
    assert column.values() == [True, None, False]


@cases(NOTHING)
def test_a_column_without_any_value_reads_as_missing_numbers_and_as_missing_categories(X: Any) -> None:
    column = read(X)
    assert column.values() == [None, None, None]
    assert_array_equal(column.numbers(), [np.nan, np.nan, np.nan])


@pytest.mark.parametrize("X", [np.array([[1], [2]]), np.array([[1], [2]], dtype=np.uint8)], ids=["int64", "uint8"])
def test_whole_numbers_of_an_array(X: np.ndarray) -> None:
    assert_array_equal(read(X).numbers(), [1.0, 2.0])


def test_booleans_and_words_of_an_array_are_categories() -> None:
    assert read(np.array([[True], [False]])).values() == [True, False]
    assert read(np.array([["a"], ["b"]])).values() == ["a", "b"]
    assert read(np.array([[b"a"], [b"b"]])).values() == [b"a", b"b"]


def test_categories_of_numbers_stay_categories() -> None:
    column = read(as_frame([3, None, 1], "category"))
    assert not column.is_numeric
    assert column.values() == [3, None, 1]


def test_columns_come_in_order_with_their_labels() -> None:
    frame = pd.DataFrame({"b": [1.0], "a": ["x"]})
    assert [column.label for column in read_columns(frame)] == ["column 'b'", "column 'a'"]
    assert [column.label for column in read_columns(np.zeros((1, 2)))] == ["column 'x0'", "column 'x1'"]


def test_what_is_a_table() -> None:
    assert is_table(pd.DataFrame({"a": [1]}))
    assert is_table(pl.DataFrame({"a": [1]}))
    assert is_table(pa.table({"a": [1]}))
    assert not is_table(np.zeros((1, 1)))
    assert not is_table(pd.Series([1]))
    assert not is_table(pl.LazyFrame({"a": [1]}))
    assert not is_table([[1]])


# --- refusing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda values: as_frame(values, object), as_objects], ids=["pandas", "numpy"])
@pytest.mark.parametrize(
    ("values", "one", "other"),
    [
        (["a", None, 1.5], r"'a' \(str\) in row 1", r"1.5 \(float\) in row 3"),
        ([1, 2, "b"], r"1 \(int\) in row 1", r"'b' \(str\) in row 3"),
        ([None, True, 2.0], r"True \(bool\) in row 2", r"2.0 \(float\) in row 3"),
        ([b"a", "a", None], r"b'a' \(bytes\) in row 1", r"'a' \(str\) in row 2"),
    ],
)
def test_mixed_types_are_named_with_their_rows(wrap: Any, values: list[Any], one: str, other: str) -> None:
    with pytest.raises(ValueError, match=rf"column '(c|x0)' mixes types: {one}, {other}\. Convert the column"):
        read(wrap(values)).values()


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named_with_its_row(value: float) -> None:
    column = read(pl.DataFrame({"c": [0.0, float("nan"), value]}))
    for reading in (column.numbers, column.values):
        with pytest.raises(
            ValueError, match=rf"infinity.*column 'c' holds {value} in row 3\. Replace.* or set them to NaN"
        ):
            reading()


def test_words_where_numbers_are_expected_are_named_with_their_row() -> None:
    with pytest.raises(ValueError, match=r"column 'c' holds 'b' \(str\) in row 2 where numbers.*categorical_features"):
        read(as_frame([None, "b"], object)).numbers()


@pytest.mark.parametrize(
    "X", [as_frame([None, {"a": 1}], object), as_objects([None, {"a": 1}])], ids=["pandas", "numpy"]
)
def test_a_cell_that_holds_a_dict_is_named(X: Any) -> None:
    with pytest.raises(
        TypeError, match=r"column '(c|x0)' holds \{'a': 1\} \(dict\) in row 2.*Convert the column, or drop"
    ):
        read(X)


@cases(
    {
        "polars List": pl.DataFrame({"c": [[1, 2]]}),
        "pyarrow struct": pa.table({"c": [{"a": 1}]}),
        "pyarrow time": pa.table({"c": pa.array([0], pa.time32("s"))}),
        "numpy timedelta64": np.array([[1]], dtype="timedelta64[D]"),
    }
)
def test_a_type_that_is_neither_numbers_nor_categories_is_named_with_a_remedy(X: Any) -> None:
    with pytest.raises(
        TypeError, match=r"column '(c|x0)' has type .*neither numbers nor categories: convert.*or drop it"
    ):
        read(X)


@pytest.mark.parametrize("value", [pd.Interval(0, 1), 1 + 2j])
def test_other_objects_in_a_category_are_named_with_a_remedy(value: Any) -> None:
    for X in (as_frame([value], "category"), as_frame([value], object)):
        with pytest.raises(TypeError, match=r"column 'c' holds .* in row 1: .*string, a number or a date\. Convert"):
            read(X).values()


def test_categories_that_are_dates_are_named_with_a_remedy() -> None:
    dates = read(as_frame([None, pd.Timestamp("2020-01-01")], "category"))
    with pytest.raises(TypeError, match=r"column 'c' holds Timestamp.* in row 2 as a category: convert the column to"):
        dates.values()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.ones((3, 2)), False),
        (np.array([[1.0, np.nan]]), True),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), False),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), True),
        (pl.DataFrame({"a": [1, None]}), True),
    ],
)
def test_any_missing_cell_is_seen(table: Any, expected: bool) -> None:
    assert any_missing(table) == expected


@pytest.mark.parametrize("count", [1, 3])
def test_threads_take_columns_in_order_and_read_few_ahead(count: int) -> None:
    read: list[int] = []
    doubled = np.zeros(10)

    def columns() -> Iterator[int]:
        for n in range(10):
            read.append(n)
            yield n

    def double(n: int, column: int) -> None:
        doubled[n] = 2 * column

    with column_threads(count) as map_columns:
        for done, _ in enumerate(map_columns(double, range(10), columns()), 1):
            assert len(read) <= done + count - 1
    assert_array_equal(doubled, 2 * np.arange(10))


def test_an_error_in_a_thread_is_that_of_the_first_column() -> None:
    def fail(n: int, column: int) -> None:
        raise ValueError(f"column {n}")

    with column_threads(3) as map_columns, pytest.raises(ValueError, match="column 0"):
        list(map_columns(fail, range(10), range(10)))
