"""Tables of numbers and strings: read from CSV, written, fingerprinted, and converted to data frames."""

import csv
import gzip
import hashlib
import importlib.util
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64] | NDArray[np.str_]
"""Numbers with NaN for missing values, or strings with the empty string for missing values."""
Table = dict[str, Column]
Library = Literal["pandas", "polars", "pyarrow"]

_LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
_MISSING = ("", "?")


def parse_csv(text: str, *, separator: str = ",", header: bool = True, names: Sequence[str] = ()) -> Table:
    """A table from delimited text; an empty cell or a question mark is missing, and empty rows are dropped.

    names : names of the first columns, which replace the header; further columns are dropped.
    """
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
    found = rows.pop(0) if header and rows else []
    kept = list(names) or found
    for number, row in enumerate(rows, start=1):
        if len(row) < len(kept):
            raise ValueError(f"row {number} has {len(row)} cells, expected {len(kept)}")
    if not rows:
        raise ValueError("the table has no rows")
    return {name: column_of(row[n] for row in rows) for n, name in enumerate(kept)}


def column_of(cells: Iterable[str]) -> Column:
    """Cells as numbers if all of them are numbers, else as strings."""
    strings = ["" if cell in _MISSING else cell for cell in cells]
    try:
        return np.array([float(cell or "nan") for cell in strings], dtype=np.float64)
    except ValueError:
        return np.array(strings, dtype=np.str_)


def read_csv_gz(data: bytes) -> Table:
    """The table in a gzipped CSV file."""
    return parse_csv(gzip.decompress(data).decode())


def write_csv_gz(table: Table) -> bytes:
    """A table as a gzipped CSV file, each number with the fewest digits that restore it exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*map(_cells, table.values()), strict=True))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def fingerprint(table: Table) -> str:
    """The sha256 of all column names and values in order, independent of the file format.

    A column enters as its name, its length and its cells: numbers as little-endian float64 with a single zero and a
    single NaN, strings as UTF-8 separated by a zero byte.
    """
    digest = hashlib.sha256()
    for name, column in table.items():
        digest.update(f"{name}\0{len(column)}\0".encode())
        if column.dtype.kind == "f":
            numbers = np.where(column == 0.0, 0.0, column)
            digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
        else:
            digest.update("\0".join(column.tolist()).encode())
    return digest.hexdigest()


def integers_if_exact(column: Column) -> NDArray[Any]:
    """A column as int64 if it has integers only and no missing values, else unchanged."""
    exact = column.dtype.kind == "f" and bool(np.all(column == np.rint(column)) and np.all(np.abs(column) < 2.0**53))
    return column.astype(np.int64) if exact else column


def data_frame(table: Mapping[str, Column], categorical: Collection[str], library: Library) -> Any:
    """A table as a data frame; integers have an integer type, and categorical columns a categorical type."""
    columns = {name: integers_if_exact(column) for name, column in table.items()}
    module = importlib.import_module(library)
    if library == "pandas":
        return module.DataFrame(columns).astype(dict.fromkeys(categorical, "category"))
    if library == "pyarrow":
        arrays = {name: module.array(column, mask=_is_missing(column)) for name, column in columns.items()}
        return module.table(
            {name: array.dictionary_encode() if name in categorical else array for name, array in arrays.items()}
        )
    frame = module.DataFrame(columns, nan_to_null=True)
    return frame.with_columns(module.col(list(categorical)).cast(module.String).cast(module.Categorical))


def _is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells are missing."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    return np.asarray(column == "") if column.dtype.kind == "U" else np.zeros(len(column), bool)


def installed_library(library: Library | None) -> Library:
    """The requested library, or else the first one that is installed."""
    if library is not None and library not in _LIBRARIES:
        raise ValueError(f"library is {library!r}: give one of {', '.join(map(repr, _LIBRARIES))}, or None.")
    for name in (library,) if library else _LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError(f"library is {library!r}, which is not installed: pip install {library}.")


def _cells(column: Column) -> list[str]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return ["" if cell != cell else str(int(cell)) if cell.is_integer() else repr(cell) for cell in column.tolist()]
