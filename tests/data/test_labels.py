"""What counts as the labels of a classifier, in which type they come out, and what errors say of the others."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from csid.data.labels import ClassCounts, check_labels, declared_order

TEXTS = ["b", "a", "b", "c"]
NUMBERS = [2, 1, 2, 3]
BOOLEANS = [True, False, True, True]


@pytest.mark.parametrize(
    "given_as",
    [
        list,
        tuple,
        np.array,
        lambda y: np.array(y, object),
        pd.Series,
        pl.Series,
        pa.array,
        lambda y: pa.chunked_array([y]),
    ],
    ids=["list", "tuple", "array", "objects", "pandas", "polars", "arrow", "chunks"],
)
@pytest.mark.parametrize(
    ("labels", "kind"), [(TEXTS, "O"), (NUMBERS, "i"), (BOOLEANS, "b")], ids=["text", "int", "bool"]
)
def test_labels_of_any_container_come_out_in_one_type(given_as: Any, labels: list[Any], kind: str) -> None:
    found = check_labels(given_as(labels))
    assert found.dtype.kind == kind
    assert found.tolist() == labels


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(TEXTS, dtype="category"),
        pd.Series(TEXTS, dtype="string"),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pl.Series(TEXTS, dtype=pl.Enum(["c", "b", "a"])),
        pa.array(TEXTS).dictionary_encode(),
        np.array(TEXTS),
        np.array(TEXTS)[:, None],
    ],
    ids=["pandas category", "pandas string", "categorical", "enum", "dictionary", "unicode", "column"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_texts_of_any_type(y: Any) -> None:
    found = check_labels(y)
    assert found.dtype == object
    assert found.tolist() == TEXTS


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(NUMBERS, dtype="category"),
        pd.Series(NUMBERS, dtype="Int64"),
        pd.Series(NUMBERS, dtype=object),
        np.array([2.0, 1.0, 2.0, 3.0]),
        np.array([2.0, 1, 2, 3.0], object),
        np.array(NUMBERS, np.uint8),
        np.array(NUMBERS, np.float16),
    ],
    ids=["category", "nullable", "objects", "floats", "mixed floats", "bytes", "half"],
)
def test_whole_numbers_of_any_type(y: Any) -> None:
    found = check_labels(y)
    assert found.dtype.kind in "iuf"
    assert found.tolist() == NUMBERS


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (pd.Series(pd.Categorical(["b", "a"], ["c", "b", "a"], ordered=True)), ["c", "b", "a"]),
        (pd.Series(pd.Categorical([2, 1], [3, 2, 1], ordered=True)), [3, 2, 1]),
        (pd.Categorical(["b", "a"], ["c", "b", "a"], ordered=True), ["c", "b", "a"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["c", "b", "a"])), ["c", "b", "a"]),
        (pa.DictionaryArray.from_arrays(pa.array([1, 2]), pa.array(["c", "b", "a"]), ordered=True), ["c", "b", "a"]),
        (pd.Series(pd.Categorical(["b", "a"], ["c", "b", "a"])), None),
        (pl.Series(["b", "a"], dtype=pl.Categorical), None),
        (pa.array(["b", "a"]).dictionary_encode(), None),
        (["b", "a"], None),
        (np.array([1, 2]), None),
    ],
    ids=[
        "pandas",
        "pandas ints",
        "categorical itself",
        "enum",
        "arrow",
        "unordered",
        "categorical",
        "dictionary",
        "list",
        "array",
    ],
)
def test_only_ordered_categories_declare_an_order(y: Any, expected: list[Any] | None) -> None:
    assert declared_order(y) == expected
    assert ClassCounts.of(y).order == expected


WRONG: dict[str, tuple[Any, str]] = {
    "none": (None, "the target y is None"),
    "NaN": ([1.0, np.nan, np.nan], r"y contains NaN, first in row 2 \(2 such rows.*drop the rows"),
    "None among texts": (["a", None], "y contains NaN, first in row 2"),
    "NaN among texts": (["a", float("nan")], "y contains NaN, first in row 2"),
    "NA": (pd.Series(["a", pd.NA], dtype="string"), "y contains NaN, first in row 2"),
    "NA among numbers": (pd.Series([1, pd.NA], dtype="Int64"), "y contains NaN, first in row 2"),
    "a missing category": (pd.Series(["a", None], dtype="category"), "y contains NaN, first in row 2"),
    "null": (pl.Series(["a", None]), "y contains NaN, first in row 2"),
    "null among numbers": (pl.Series([1, None]), "y contains NaN, first in row 2"),
    "Arrow null": (pa.array(["a", None]), "y contains NaN, first in row 2"),
    "masked": (np.ma.masked_equal([1, 2, 3], 2), "y contains NaN, first in row 2"),
    "infinity": ([1.0, np.inf], "y contains infinity in row 2: drop the rows"),
    "fractions": ([1.0, 2.5, 3.5], r"y holds 2.5 in row 2: Unknown label type: continuous.*use a regressor"),
    "fractions as objects": (np.array([1, 2.5], object), "y holds 2.5 in row 2"),
    "texts and numbers": (["a", 1], "the text 'a' in row 1 and the number 1 in row 2: convert all labels to texts"),
    "numbers and booleans": (np.array([1, True], object), "number 1 in row 1 and the boolean True in row 2"),
    "bytes": (np.array([b"a"]), r"y holds b'a' in row 1: Unknown label type: bytes. Give texts"),
    "lists": ([["a"], ["b", "c"]], r"y holds \['a'\] in row 1: Unknown label type: list"),
    "dates": (np.array(["2020-01-01"], "datetime64[D]"), r"Unknown label type: datetime64\[D\]. Give texts"),
    "complex numbers": (np.array([1j]), "Unknown label type: complex128"),
    "several columns": (np.eye(2, dtype=int), r"shape \(2, 2\): multilabel-indicator"),
    "a number": (np.array(3), r"shape \(\)"),
}


@pytest.mark.parametrize(("y", "message"), list(WRONG.values()), ids=list(WRONG))
def test_errors_name_the_row_the_value_and_the_remedy(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_labels(y)


def test_too_many_classes_are_refused_in_one_part_and_over_all_parts() -> None:
    with pytest.raises(ValueError, match=r"y has 1,001 different values, but at most 1,000 classes.*Use a regressor"):
        ClassCounts.of(np.arange(1001))
    parts = [ClassCounts.of(np.arange(start, start + 501)) for start in (0, 500)]
    with pytest.raises(ValueError, match="y has 1,001 different values"):
        ClassCounts.merged(parts)


def test_parts_of_different_types_are_refused() -> None:
    with pytest.raises(ValueError, match="the number 1 in row 1 and the text 'a'"):
        ClassCounts.merged([ClassCounts.of([1, 1]), ClassCounts.of(["a"])])


labels = st.one_of(
    st.lists(st.text(max_size=3), min_size=1, max_size=30),
    st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    st.lists(st.booleans(), min_size=1, max_size=30),
)


@given(labels, st.integers(1, 7))
def test_counts_do_not_depend_on_how_rows_are_cut(y: list[Any], size: int) -> None:
    """Against a count by hand; NumPy texts drop trailing zero characters, Python's do not."""
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    parts = [ClassCounts.of(y[at : at + size], weights[at : at + size]) for at in range(0, len(y), size)]
    by_hand = {label: float(sum(w for each, w in zip(y, weights, strict=True) if each == label)) for label in y}
    assert ClassCounts.of(y, weights).totals == by_hand
    assert ClassCounts.merged(parts).totals == by_hand
    assert sum(ClassCounts.of(y).totals.values()) == len(y)


@given(labels)
def test_labels_are_what_was_given(y: list[Any]) -> None:
    assert check_labels(y).tolist() == y
    assert_array_equal(check_labels(np.array(y, dtype=object)), check_labels(y))
