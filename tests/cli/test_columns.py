"""Predictors, targets and weights, taken out of a table."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.conftest import table
from csid.cli.columns import first_non_number, numbers, predictors
from csid.cli.errors import DataError
from csid.cli.options import ColumnOptions
from csid.cli.schema_inference import infer
from csid.cli.targets import known_targets
from csid.fitted.schema import Schema


def test_predictors_are_numbers_text_and_booleans() -> None:
    flats = table()
    X = predictors(flats, infer(flats, ["rent"], ColumnOptions(ordinal=["state=poor,fair,good"])).schema)
    assert X["state"].to_pylist() == flats["state"].to_pylist()
    assert X["state"].type.ordered
    assert X["state"].chunk(0).dictionary.to_pylist() == ["poor", "fair", "good"]
    assert X["built"].cast(pa.date32()).to_pylist() == flats["built"].to_pylist()
    assert X["lift"].type == pa.bool_()
    absent = predictors(flats.drop_columns(["area", "town"]), infer(flats, ["rent"], ColumnOptions()).schema)
    assert absent["area"].null_count == absent["town"].null_count == 200


def test_targets_must_be_numeric() -> None:
    assert np.isnan(numbers(pa.table({"y": [1, None]}), "y", "target")[1])
    assert np.isnan(numbers(pa.table({"y": pa.nulls(2, pa.string())}), "y", "target")).all()
    with pytest.raises(DataError, match=r"target 'y' must be numeric, but row 2 holds 'b'.*--missing b"):
        numbers(pa.table({"y": ["1", "b"]}), "y", "target")
    with pytest.raises(DataError, match="'y' must be numeric, but row 1 holds True"):
        numbers(pa.table({"y": [True]}), "y", "target")


def test_rows_without_one_of_the_targets_are_unknown() -> None:
    y, known = known_targets(pa.table({"a": [1, None, 3], "b": [4, 5, 6]}), Schema((), ("a", "b"), ()))
    assert y.tolist() == [[1.0, 4.0], [3.0, 6.0]]
    assert known.tolist() == [0, 2]


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False).map(str) | st.just("word"), min_size=1))
def test_the_first_value_that_is_not_a_number(values: list[str | None]) -> None:
    known = [(row, value) for row, value in enumerate(values) if value is not None]
    if not known:
        return
    words = [(row, value) for row, value in known if value == "word"]
    found = first_non_number(pa.chunked_array([values], pa.string()))
    assert found.n_numbers == len(known) - len(words)
    assert (found.row, found.value) == (words or known)[0]
