"""The types and roles of columns, inferred or given by options."""

from typing import Any

import pyarrow as pa
import pytest

from cli.conftest import table
from csid.cli.column_notes import described, dropped
from csid.cli.errors import DataError, UsageError
from csid.cli.options import ColumnOptions
from csid.cli.schema_inference import infer
from csid.cli.tables import MISSING
from csid.fitted.schema import ColumnSchema


def test_columns_are_typed_by_their_values() -> None:
    schema = infer(
        table(), ["rent"], ColumnOptions(ordinal=["state=poor,fair,good"], missing=["NA"], group="town")
    ).schema
    assert schema.columns == (
        ColumnSchema("area", "number", "number"),
        ColumnSchema("state", "text", "number", ("poor", "fair", "good")),
        ColumnSchema("lift", "boolean", "category"),
        ColumnSchema("floor", "number", "number"),
        ColumnSchema("built", "date", "number"),
    )
    assert schema.ignored == ("id",)
    assert (schema.targets, schema.group, schema.missing) == (("rent",), "town", ("NA", ""))
    roles = {line["column"]: line["role"] for line in described(table(), schema)}
    assert roles == {
        "id": "ignored",
        "area": "number",
        "town": "group",
        "state": "ordinal",
        "lift": "category",
        "floor": "number",
        "built": "date",
        "rent": "target",
    }


def test_options_override_inferred_types() -> None:
    schema = infer(table(), ["rent"], ColumnOptions(categorical=["fl*", "id"], ignore=["built", "l*"])).schema
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {"id": "category", "area": "number", "town": "category", "state": "category", "floor": "category"}
    assert schema.ignored == ("lift", "built")
    assert schema.missing == MISSING


def test_options_name_columns_separated_by_commas_and_columns_that_hold_a_comma() -> None:
    flats = table().rename_columns(["id", "area", "town, or city", *table().column_names[3:]])
    schema = infer(flats, ["rent"], ColumnOptions(ignore=["built,lift", "town, or city"])).schema
    assert schema.ignored == ("id", "town, or city", "lift", "built")


def test_dropped_columns_are_explained() -> None:
    nearly = [*map(str, range(199)), None]
    nearly[20:60] = [f"an error {at}" for at in range(40)]
    flats = table().append_column("empty", pa.nulls(200)).append_column("a", pa.array(nearly))
    options = ColumnOptions(ignore=["lift"])
    schema, typed, *_ = infer(flats, ["rent"], options)
    assert schema.ignored == ("id", "lift", "empty", "a")
    assert dropped(typed, schema, options.ignore) == [
        "Dropped column 'id': 200 of its 200 text values are distinct. Use --categorical id to keep it.",
        "Dropped column 'empty': all its values are missing.",
        "Dropped column 'a': 159 of 199 values are numbers, but row 21 holds 'an error 0'. "
        "Use --missing 'an error 0' to treat it as missing.",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["rant"]}, "--target rant: no such column. The columns are 'id', 'area'"),
        ({"weight": "w"}, "--weight w: no such column"),
        ({"group": "g"}, "--group g: no such column"),
        ({"categorical": ["x*"]}, r"--categorical x\*: no such column"),
        ({"ignore": ["nope"]}, "--ignore nope: no such column"),
        ({"ordinal": ["nope=a,b"]}, "--ordinal nope: no such column"),
        ({"ordinal": ["state"]}, "List its values in order, such as --ordinal state=low,middle,high"),
        ({"ordinal": ["state=poor,good"]}, "has the value 'fair', which is not in the list"),
        ({"ordinal": ["state=poor,good,poor"]}, "a value is listed twice"),
        ({"ordinal": ["area=1,2"]}, "the column is not text"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        infer(table(), options.pop("targets", ["rent"]), ColumnOptions(**options))


def test_columns_that_cannot_be_used_are_refused() -> None:
    flats = table().append_column("list", pa.array([[1]] * 200))
    with pytest.raises(DataError, match=r"'list' has the unsupported type list.*--ignore list"):
        infer(flats, ["rent"], ColumnOptions())
    flats = table().append_column("raw", pa.array([b"\xff"] * 200))
    with pytest.raises(DataError, match="'raw' is not UTF-8"):
        infer(flats, ["rent"], ColumnOptions())
    with pytest.raises(DataError, match="no column is left"):
        infer(table().select(["rent", "id"]), ["rent"], ColumnOptions())
