"""Bad input is refused with a message that names the culprit and the remedy; good input is read as it was meant."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from csid import CSIDRegressor
from csid.data.checks import (
    categorical_flags,
    check_both_given,
    check_table,
    check_targets,
    check_weights,
    number_of_rows,
    smoothness_per_mode,
)

NAMES = ["a", "b", "c"]


def refused(message: str, kind: type[Exception] = ValueError) -> Any:
    return pytest.raises(kind, match=message)


# --- tables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), pa.table({"a": [1, 2]})],
    ids=["pandas", "polars", "pyarrow"],
)
def test_a_data_frame_stays_what_it_is(X: Any) -> None:
    assert check_table(X, CSIDRegressor(), 2) is X
    assert number_of_rows(X) == 2


def test_a_list_of_rows_becomes_an_array_that_keeps_numbers_beside_words() -> None:
    assert_array_equal(check_table([[1, 2], [3, 4]], CSIDRegressor(), 2), [[1, 2], [3, 4]])
    assert check_table([[1.5, "u"], [2, "v"]], CSIDRegressor(), 2).tolist() == [[1.5, "u"], [2, "v"]]


def test_a_table_without_enough_rows_is_refused() -> None:
    for X in (np.zeros((1, 2)), pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        with refused("1 sample.* minimum of 2 is required by CSIDRegressor"):
            check_table(X, CSIDRegressor(), 2)


def test_a_table_without_columns_is_refused() -> None:
    for X in (np.zeros((5, 0)), pd.DataFrame(index=range(5))):
        with refused("0 feature.* minimum of 1 is required"):
            check_table(X, CSIDRegressor(), 2)


def test_a_lazy_frame_is_refused_with_the_remedy() -> None:
    with refused(r"X is lazy \(LazyFrame\).*X.collect\(\)", TypeError):
        check_table(pl.LazyFrame({"a": [1, 2]}), CSIDRegressor(), 2)


# --- targets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3], index=[7, 8, 9]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        pa.chunked_array([[1, 2], [3]]),
        pa.array([1, 2, 3]),
    ],
    ids=["list", "int8", "objects", "pandas", "pandas Int64", "polars", "pyarrow chunked", "pyarrow"],
)
def test_targets_of_any_library(y: Any) -> None:
    targets = check_targets(y, 3)
    assert targets.dtype == np.float64
    assert_array_equal(targets, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_several_outputs_of_any_library(frame: Any) -> None:
    assert_array_equal(check_targets(frame({"u": [1, 2], "v": [3, 4]}), 2), [[1, 3], [2, 4]])


def test_a_single_column_of_targets_is_flattened_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning):
        assert_array_equal(check_targets(np.array([[1.0], [2.0]]), 2), [1.0, 2.0])


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, np.nan, np.nan],
        [0, 1, None, None],
        pd.Series([0, 1, None, None], dtype="Float64"),
        pl.Series([0, 1, None, None]),
        np.array([[0, 0], [1, 1], [2, np.nan], [np.nan, 3]]),
    ],
    ids=["NaN", "None", "NA", "null", "two outputs"],
)
def test_an_unknown_target_is_named(y: Any) -> None:
    with refused(r"Input y contains NaN, first in row 3 \(2 such rows in total\): drop the rows"):
        check_targets(y, 4)


def test_an_infinite_target_is_named() -> None:
    with refused("Input y contains infinity.* in row 2"):
        check_targets([0, np.inf], 2)


@pytest.mark.parametrize("y", [["a", "b"], np.array(["1", "2"]), pd.date_range("2020", periods=2)])
def test_targets_of_other_types_than_numbers_are_refused(y: Any) -> None:
    with refused("y has type .*needs numbers"):
        check_targets(y, 2)


def test_objects_other_than_numbers_are_refused() -> None:
    with refused("y holds the text 'a' in row 2, but regression needs numbers"):
        check_targets(np.array([1, "a"], dtype=object), 2)


def test_targets_of_another_length_or_shape_are_refused() -> None:
    with refused("inconsistent numbers of samples: X 3, y 2. Give one target"):
        check_targets([1, 2], 3)
    with refused("inconsistent numbers of samples: X_val 3, y_val 2. Give one target"):
        check_targets([1, 2], 3, ("X_val", "y_val"))
    with refused("y has 3 dimensions: give an array of shape"):
        check_targets(np.zeros((2, 2, 2)), 2)
    with refused("requires y to be passed"):
        check_targets(None, 2)


def test_validation_rows_and_their_targets_come_together() -> None:
    check_both_given(None, None)
    check_both_given([[1]], [1])
    with refused("X_val is given without y_val: give both, or neither"):
        check_both_given([[1]], None)
    with refused("y_val is given without X_val: give both, or neither"):
        check_both_given(None, [1])


# --- weights ------------------------------------------------------------------------------------------------------


def test_weights() -> None:
    assert_array_equal(check_weights(None, 3), [1, 1, 1])
    assert_array_equal(check_weights(2, 3), [2, 2, 2])
    assert_array_equal(check_weights(pl.Series([0, 1, 2]), 3), [0, 1, 2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], "sample_weight holds -1.0 in row 2.*zero to leave it out"),
        ([1, 1, np.nan], "sample_weight holds nan in row 3"),
        ([1, np.inf, 1], "sample_weight holds inf in row 2"),
        ([1, 1], "sample_weight.shape .*expected .*one weight per row"),
        ([[1], [1], [1]], "Sample weights must be 1D"),
        ([0, 0, 1], "sample_weight is positive for 1 sample.*at least 2 rows"),
        (["a", "b", "c"], "sample_weight must hold numbers only"),
    ],
)
def test_bad_weights_are_refused(weights: Any, message: str) -> None:
    with refused(message):
        check_weights(weights, 3)


# --- categories ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "flags"),
    [
        ("from_dtype", [None, None, None]),
        (None, [False, False, False]),
        ([], [None, None, None]),
        (["c", "a"], [True, None, True]),
        (np.array(["c", "a"]), [True, None, True]),
        ([0, -1], [True, None, True]),
        ([True, False, True], [True, None, True]),
        (pd.Series([True, False, True]), [True, None, True]),
    ],
)
def test_categories_by_type_name_position_or_mask(wanted: Any, flags: list[bool | None]) -> None:
    assert categorical_flags(wanted, NAMES) == flags


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["z"], "categorical_features names 'z', but X has the columns 'a', 'b', 'c'"),
        ([3], "categorical_features holds 3: give column names, or positions from 0 to 2"),
        ([1.0], "categorical_features holds 1.0: give column names"),
        ([True, False], "categorical_features is a mask of 2 entries, but X has 3 columns"),
    ],
)
def test_bad_categories_are_refused(wanted: Any, message: str) -> None:
    with refused(message):
        categorical_flags(wanted, NAMES)


def test_a_long_list_of_columns_is_shortened() -> None:
    with refused("'n7' and 92 more"):
        categorical_flags(["z"], [f"n{i}" for i in range(100)])


# --- smoothness ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("smoothness", "values"),
    [
        (2, (2.0, 2.0, 2.0)),
        ([1, 2, 3], (1.0, 2.0, 3.0)),
        ({"c": 3, "a": 1, "b": 2}, (1.0, 2.0, 3.0)),
        (pd.Series([1, 2, 3]), (1.0, 2.0, 3.0)),
    ],
)
def test_smoothness_by_number_sequence_or_name(smoothness: Any, values: tuple[float, ...]) -> None:
    assert smoothness_per_mode(smoothness, NAMES) == values


@pytest.mark.parametrize(
    ("smoothness", "message"),
    [
        ([1, 2], r"smoothness has shape \(2,\), but X has 3 columns: give one number per column"),
        (np.ones((3, 1)), r"smoothness has shape \(3, 1\)"),
        ([1, -2, 1], "smoothness is -2.0 for 'b': it must be zero or more"),
        ([1, 1, np.nan], "smoothness is nan for 'c'"),
        ({"a": np.inf, "b": 1, "c": 1}, "smoothness is inf for 'a'"),
        ({"a": 1, "b": 1, "z": 1}, "smoothness names 'z', but X has the columns 'a', 'b', 'c'"),
        ({"a": 1, "c": 1}, "smoothness has no entry for 'b': give one per column, or a single number"),
        (["x", "y", "z"], "smoothness must hold numbers only"),
    ],
)
def test_bad_smoothness_is_refused(smoothness: Any, message: str) -> None:
    with refused(message):
        smoothness_per_mode(smoothness, NAMES)
