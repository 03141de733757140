"""Tables: read, written, fingerprinted, and converted to data frames."""

import gzip
import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from csid.datasets.tables import (
    Table,
    data_frame,
    fingerprint,
    installed_library,
    parse_csv,
    read_csv_gz,
    write_csv_gz,
)

NUMBERS = st.floats(allow_infinity=False) | st.integers(-(2**53), 2**53).map(float)
STRINGS = st.text("ab,;\"'é 1.", max_size=5).filter(lambda word: word.strip() not in ("", "1", ".1", "1.", "11"))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A column of numbers, and one of strings that are never all numbers."""
    rows = draw(st.integers(1, 8))
    numbers = draw(st.lists(NUMBERS, min_size=rows, max_size=rows))
    words = draw(st.lists(STRINGS, min_size=rows, max_size=rows))
    return {"n": np.array(numbers), "w": np.array([*words[:-1], "word"])}


def test_numbers_strings_and_missing_cells_are_told_apart() -> None:
    table = parse_csv("n,w,m\n1,a,\n?,b,3.38e-005\n-2.5,?,?\n")
    assert_array_equal(table["n"], [1.0, np.nan, -2.5])
    assert_array_equal(table["w"], ["a", "b", ""])
    assert_array_equal(table["m"], [np.nan, 3.38e-5, np.nan])


def test_names_replace_a_header_and_drop_further_columns() -> None:
    assert list(parse_csv("a;b;c;\n1;2;3;\n", separator=";", names=("x", "y"))) == ["x", "y"]
    table = parse_csv("1,2\n3,4\n", header=False, names=("x", "y"))
    assert_array_equal(table["x"], [1.0, 3.0])


def test_empty_rows_are_dropped() -> None:
    assert_array_equal(parse_csv("a,b\n1,2\n\n,\n3,4\n")["b"], [2.0, 4.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n3\n", "row 2 has 1 cells, expected 2"), ("a,b\n", "no rows"), ("", "no rows")],
)
def test_text_that_is_not_a_table_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_csv(text)


@given(tables())
def test_what_is_written_is_read_back_the_same(table: Table) -> None:
    written = write_csv_gz(table)
    again = read_csv_gz(written)
    assert_array_equal(again["n"], table["n"])
    assert_array_equal(again["w"], table["w"])
    assert fingerprint(again) == fingerprint(table)
    assert write_csv_gz(again) == written


def test_a_written_table_is_plain_csv() -> None:
    table: Table = {"a": np.array([1.0, -0.0, np.nan, 0.1]), "b": np.array(["u", "", "v w", "x,y"])}
    assert gzip.decompress(write_csv_gz(table)).decode() == 'a,b\n1,u\n0,\n,v w\n0.1,"x,y"\n'


def test_a_fingerprint_is_of_names_values_and_order() -> None:
    table: Table = {"a": np.array([1.0, np.nan]), "b": np.array(["u", "v"])}
    others: list[Table] = [
        {"a": np.array([1.0, 2.0]), "b": table["b"]},
        {"a": np.array([np.nan, 1.0]), "b": table["b"]},
        {"a": np.array([np.nextafter(1.0, 2.0), np.nan]), "b": table["b"]},
        {"A": table["a"], "b": table["b"]},
        {"b": table["b"], "a": table["a"]},
        {"a": table["a"], "b": np.array(["uv", ""])},
        {"a": table["a"]},
    ]
    assert len({fingerprint(other) for other in [table, *others]}) == 1 + len(others)


def test_a_fingerprint_knows_one_zero_and_one_nan() -> None:
    payload = np.array([0x7FF80000000007A2], dtype=np.uint64).view(np.float64)  # R's own missing value
    one, other = np.array([0.0, np.nan]), np.append(np.array([-0.0]), payload)
    assert fingerprint({"a": one}) == fingerprint({"a": other})
    assert fingerprint({"a": one, "b": np.array(["u"])}) == fingerprint({"a": one, "b": np.array(["u"], dtype="U9")})


def test_a_pandas_frame_has_integers_and_categories() -> None:
    table: Table = {"n": np.array([1.0, 2.0]), "x": np.array([1.0, np.nan]), "w": np.array(["u", "v"])}
    frame = data_frame(table, ("n", "w"), "pandas")
    expected = pd.DataFrame({"n": [1, 2], "x": [1.0, np.nan], "w": ["u", "v"]})
    pd.testing.assert_frame_equal(frame, expected.astype({"n": "category", "w": "category"}))


def test_a_polars_frame_has_nulls_and_categories() -> None:
    table: Table = {"n": np.array([1.0, 2.0]), "x": np.array([1.0, np.nan]), "w": np.array(["u", "v"])}
    frame = data_frame(table, ("w",), "polars")
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Categorical]
    assert frame.rows() == [(1, 1.0, "u"), (2, None, "v")]


def test_an_arrow_table_has_nulls_and_dictionaries() -> None:
    table: Table = {"n": np.array([1.0, 2.0]), "x": np.array([1.0, np.nan]), "w": np.array(["u", ""])}
    frame = data_frame(table, ("n", "w"), "pyarrow")
    assert [str(kind.value_type) for kind in (frame["n"].type, frame["w"].type)] == ["int64", "string"]
    assert frame.to_pylist() == [{"n": 1, "x": 1.0, "w": "u"}, {"n": 2, "x": None, "w": None}]


@pytest.mark.parametrize(
    ("absent", "found"), [((), "pandas"), (("pandas",), "polars"), (("pandas", "polars"), "pyarrow")], ids=str
)
def test_the_library_is_the_first_installed(
    absent: tuple[str, ...], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hide(monkeypatch, absent)
    assert installed_library(None) == found


def test_a_library_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(monkeypatch, ("pandas", "polars"))
    with pytest.raises(ImportError, match="library is 'polars', which is not installed: pip install polars"):
        installed_library("polars")
    wrong: Any = "arrow"
    with pytest.raises(ValueError, match="library is 'arrow': give one of 'pandas', 'polars', 'pyarrow'"):
        installed_library(wrong)


def _hide(monkeypatch: pytest.MonkeyPatch, absent: tuple[str, ...]) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))
