"""What a user is told about the columns of a training table: a line for each, and why some are not predictors."""

import shlex
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.columns import first_non_number
from csid.cli.schema_inference import matching
from csid.cli.tables import UNNAMED
from csid.fitted.schema import ColumnSchema, Schema


def described(table: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    """For each column its name, its role, and how many distinct and missing values it has."""
    roles = {column.name: _role(column) for column in schema.columns}
    roles |= dict.fromkeys(schema.targets, "target") | dict.fromkeys(schema.ignored, "ignored")
    roles |= {name: role for name, role in ((schema.weight, "weight"), (schema.group, "group")) if name is not None}
    return [
        {
            "column": name,
            "role": roles[name],
            "values": pc.count_distinct(table[name], mode="only_valid").as_py(),
            "missing": table[name].null_count,
        }
        for name in table.column_names
    ]


def dropped(table: pa.Table, schema: Schema, ignore: Sequence[str] | None) -> list[str]:
    """A sentence for each column that is not a predictor although --ignore does not name it."""
    ignored = matching("--ignore", ignore or [], table.column_names)
    return [_reason(name, table[name]) for name in schema.ignored if name not in ignored]


def _reason(name: str, values: pa.ChunkedArray) -> str:
    n_known = values.length() - values.null_count
    if name.endswith(UNNAMED):
        return f"Dropped {name.removesuffix(UNNAMED)}: it has no name. Name it in the header to use it."
    if n_known == 0:
        return f"Dropped column {name!r}: all its values are missing."
    n_numbers, row, value = first_non_number(values)
    if n_known > n_numbers > n_known / 2:
        return (
            f"Dropped column {name!r}: {n_numbers:,} of {n_known:,} values are numbers, but row {row + 1:,} holds "
            f"{value!r}. Use --missing {shlex.quote(str(value))} to treat it as missing."
        )
    n_distinct = pc.count_distinct(values, mode="only_valid").as_py()
    return (
        f"Dropped column {name!r}: {n_distinct:,} of its {n_known:,} text values are distinct. Use "
        f"--categorical {shlex.quote(name)} to keep it."
    )


def _role(column: ColumnSchema) -> str:
    if column.kind == "category":
        return "category"
    return "ordinal" if column.order else column.type
