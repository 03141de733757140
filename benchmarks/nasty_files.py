"""How many of the nasty files of the tests each reader reads: DuckDB, Arrow, and csid, which takes cells from Arrow.

    PYTHONPATH=tests python benchmarks/nasty_files.py

A file counts as read if every column has the values that it must have, with dates as days and times as hours, or if a
file that must be refused is. Files of other formats than text are left out. DuckDB is given all rows to find types in.
"""

import datetime
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv

from cli.nasty_files import NASTY, Nasty
from csid.cli.columns import predictors
from csid.cli.options import ColumnOptions
from csid.cli.schema_inference import infer
from csid.cli.training import TrainingFile, read_in_memory

_EPOCH = datetime.datetime(1970, 1, 1)
_OTHER_FORMATS = ("JSON", "Excel", "Parquet", "Arrow", "sheet", "zip")


def by_duckdb(file: Nasty, path: Path) -> pa.Table:
    return duckdb.sql(f"from read_csv('{path}', sample_size = -1, nullstr = ['', 'NA', 'null', '?'])").to_arrow_table()


def by_arrow(file: Nasty, path: Path) -> pa.Table:
    options = pa.csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA", "null", "?"])
    return pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(newlines_in_values=True), convert_options=options)


def by_duckdb_cells(file: Nasty, path: Path) -> pa.Table:
    """DuckDB finds the cells, csid their types."""
    table = duckdb.sql(
        f"from read_csv('{path}', all_varchar = true, nullstr = ['', 'NA', 'null', '?'])"
    ).to_arrow_table()
    columns = ColumnOptions(categorical=list(file.categorical) or None)
    schema, typed, *_ = infer(table, ["y"], columns, file.text.cells)
    return predictors(typed, schema)


def by_csid(file: Nasty, path: Path) -> pa.Table:
    columns = ColumnOptions(categorical=list(file.categorical) or None)
    return read_in_memory(TrainingFile(str(path), ["y"], columns, file.text)).rows.X


def plain(value: Any) -> Any:
    """Dates as days, times as hours, numbers as floats."""
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _EPOCH).total_seconds() / 86_400.0
    if isinstance(value, datetime.date):
        return float((value - _EPOCH.date()).days)
    if isinstance(value, datetime.time):
        return value.hour + value.minute / 60.0
    return value if isinstance(value, str | bytes | bool | None) else float(value)


def same(found: Any, expected: Any) -> bool:
    found = plain(found)
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected)
    return bool(
        found == expected or (isinstance(expected, str) and not isinstance(found, str) and str(found) == expected)
    )


def is_read(read: Callable[[Nasty, Path], pa.Table], file: Nasty, path: Path) -> bool:
    try:
        table = read(file, path)
        found = {name: table[name].to_pylist() for name in file.columns if name != "y"}
    except Exception:
        return bool(file.refused)
    if file.refused:
        return False
    return all(
        len(found[name]) == len(values) and all(map(same, found[name], values))
        for name, values in file.columns.items()
        if name != "y"
    )


def main() -> None:
    text = {name: file for name, file in NASTY.items() if not any(word in name for word in _OTHER_FORMATS)}
    for read in (by_duckdb, by_arrow, by_duckdb_cells, by_csid):
        with tempfile.TemporaryDirectory() as folder:
            failed = []
            for name, file in text.items():
                path = Path(folder) / "data.csv"
                path.write_bytes(file.content)
                if not is_read(read, file, path):
                    failed.append(name)
        print(f"{read.__name__}: {len(text) - len(failed)} of {len(text)}")
        print("    not read:", "; ".join(failed) or "none")


if __name__ == "__main__":
    main()
