"""What columns are taken to be, and what an estimator gets of them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cli.conftest import table
from csid import BayesianCSIDRegressor
from csid.cli.errors import DataError, UsageError
from csid.cli.frames import described, infer, numbers, predictors, schema_of
from csid.schema import ColumnSchema


def test_columns_are_typed_by_what_they_hold() -> None:
    schema = infer(table(), ["rent"], ["NA"], ordinal=["state=poor,fair,good"], group="town")
    assert schema.columns == (
        ColumnSchema("area", "number", "number"),
        ColumnSchema("state", "text", "number", ("poor", "fair", "good")),
        ColumnSchema("lift", "boolean", "category"),
        ColumnSchema("floor", "number", "number"),
        ColumnSchema("built", "date", "number"),
    )
    assert schema.ignored == ("id",)
    assert (schema.targets, schema.group, schema.missing) == (("rent",), "town", ("NA",))
    roles = {line["column"]: line["role"] for line in described(table(), schema)}
    assert roles == {
        "id": "ignored",
        "area": "number",
        "town": "group",
        "state": "ordered words",
        "lift": "category",
        "floor": "number",
        "built": "date",
        "rent": "target",
    }


def test_flags_decide_over_types() -> None:
    schema = infer(table(), ["rent"], [], categorical=["fl*", "id"], ignore=["built", "l*"])
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {"id": "category", "area": "number", "town": "category", "state": "category", "floor": "category"}
    assert schema.ignored == ("lift", "built")


def test_flags_name_columns_by_commas_also_those_with_a_comma() -> None:
    flats = table().rename_columns(["id", "area", "town, or city", *table().column_names[3:]])
    assert infer(flats, ["rent"], [], ignore=["built,lift", "town, or city"]).ignored == (
        "id",
        "town, or city",
        "lift",
        "built",
    )


def test_a_column_without_values_is_left_out() -> None:
    flats = table().append_column("empty", pa.nulls(200))
    assert "empty" in infer(flats, ["rent"], []).ignored


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"targets": ["rant"]}, "--target rant: the data have no such column; they have 'id', 'area'"),
        ({"weight": "w"}, "--weight w"),
        ({"group": "g"}, "--group g"),
        ({"categorical": ["x*"]}, r"--categorical x\*"),
        ({"ignore": ["nope"]}, "--ignore nope"),
        ({"ordinal": ["nope=a,b"]}, "--ordinal nope"),
        ({"ordinal": ["state"]}, "give their order, as in --ordinal state=low,middle,high"),
        ({"ordinal": ["state=poor,good"]}, "does not hold 'fair'"),
        ({"ordinal": ["state=poor,good,poor"]}, "a word is there twice"),
        ({"ordinal": ["area=1,2"]}, "no words"),
    ],
)
def test_flags_that_make_no_sense_are_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        infer(table(), flags.pop("targets", ["rent"]), [], **flags)


def test_types_that_cannot_be_used_are_refused() -> None:
    flats = table().append_column("list", pa.array([[1]] * 200))
    with pytest.raises(DataError, match=r"column 'list' has type list.*--ignore list"):
        infer(flats, ["rent"], [])
    flats = table().append_column("raw", pa.array([b"\xff"] * 200))
    with pytest.raises(DataError, match="'raw' is not UTF-8"):
        infer(flats, ["rent"], [])
    with pytest.raises(DataError, match="no column left"):
        infer(table().select(["rent", "id"]), ["rent"], [])


def test_predictors_are_numbers_words_and_truth_values() -> None:
    flats = table()
    X = predictors(flats, infer(flats, ["rent"], [], ordinal=["state=poor,fair,good"]))
    order = {"poor": 0.0, "fair": 1.0, "good": 2.0, None: None}
    assert X["state"].to_pylist() == [order[word] for word in flats["state"].to_pylist()]
    days = flats["built"].to_numpy().astype("datetime64[D]").astype(float)
    np.testing.assert_array_equal(X["built"].to_numpy(), days)
    assert X["lift"].type == pa.bool_()
    absent = predictors(flats.drop_columns(["area", "town"]), infer(flats, ["rent"], []))
    assert absent["area"].null_count == absent["town"].null_count == 200


def test_a_target_is_numbers() -> None:
    assert np.isnan(numbers(pa.table({"y": [1, None]}), "y", "target")[1])
    with pytest.raises(DataError, match=r"target 'y' holds 'b' in row 2 where numbers are expected.*--missing"):
        numbers(pa.table({"y": ["1", "b"]}), "y", "target")
    with pytest.raises(DataError, match="'y' holds True in row 1"):
        numbers(pa.table({"y": [True]}), "y", "target")


def test_a_model_of_the_library_has_a_schema_too() -> None:
    rng = np.random.default_rng(0)
    X = np.array(
        [[a, b, c] for a, b, c in zip(rng.random(60), rng.choice(["u", "v"], 60), rng.random(60) < 0.5, strict=True)],
        object,
    )
    model = BayesianCSIDRegressor(rank=2, n_chains=1, n_burn=20, n_draws=4, prior="medium", random_state=0)
    schema = schema_of(model.fit(X, rng.random((60, 2))), ())
    assert [(column.name, column.type, column.kind) for column in schema.columns] == [
        ("x0", "number", "number"),
        ("x1", "text", "category"),
        ("x2", "boolean", "category"),
    ]
    assert schema.targets == ("y1", "y2")
