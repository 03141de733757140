"""Tables of numbers and words: read from CSV, written, recognised by their values, and made into data frames."""

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
"""Numbers with NaN for missing, or words with the empty word for missing."""
Table = dict[str, Column]
Library = Literal["pandas", "polars", "pyarrow"]

_LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
_MISSING = ("", "?")


def parse_csv(text: str, *, separator: str = ",", header: bool = True, names: Sequence[str] = ()) -> Table:
    """A table from its text; an empty cell or a question mark is missing, and empty rows are left out.

    names : what the first columns are called here, in place of the header; columns beyond them are left out.
    """
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
    found = rows.pop(0) if header and rows else []
    kept = list(names) or found
    for number, row in enumerate(rows):
        if len(row) < len(kept):
            raise ValueError(f"row {number} has {len(row)} cells where {len(kept)} are expected")
    if not rows:
        raise ValueError("there are no rows")
    return {name: column_of(row[n] for row in rows) for n, name in enumerate(kept)}


def column_of(cells: Iterable[str]) -> Column:
    """Cells as numbers where all of them are, else as words."""
    known = ["" if cell in _MISSING else cell for cell in cells]
    try:
        return np.array([float(cell or "nan") for cell in known], dtype=np.float64)
    except ValueError:
        return np.array(known, dtype=np.str_)


def read_csv_gz(data: bytes) -> Table:
    """The table in a gzipped CSV file."""
    return parse_csv(gzip.decompress(data).decode())


def write_csv_gz(table: Table) -> bytes:
    """A table as a gzipped CSV file, with the shortest digits that give the same numbers; always the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*map(_cells, table.values()), strict=True))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def fingerprint(table: Table) -> str:
    """The sha256 of all names and values of a table, in order, whatever file they came in.

    A column enters as its name, its length and its cells: numbers as little-endian float64 with one zero and one NaN,
    words as UTF-8 with a zero byte between them.
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


def whole_numbers(column: Column) -> NDArray[Any]:
    """A column without missing cells or fractions as int64, any other as it is."""
    whole = column.dtype.kind == "f" and bool(np.all(column == np.rint(column)) and np.all(np.abs(column) < 2.0**53))
    return column.astype(np.int64) if whole else column


def data_frame(table: Mapping[str, Column], categorical: Collection[str], library: Library) -> Any:
    """A table as a data frame; whole numbers are integers, and categories have a categorical type."""
    columns = {name: whole_numbers(column) for name, column in table.items()}
    module = importlib.import_module(library)
    if library == "pandas":
        return module.DataFrame(columns).astype(dict.fromkeys(categorical, "category"))
    if library == "pyarrow":
        arrays = {name: module.array(column, mask=_gaps(column)) for name, column in columns.items()}
        return module.table(
            {name: array.dictionary_encode() if name in categorical else array for name, array in arrays.items()}
        )
    frame = module.DataFrame(columns, nan_to_null=True)
    return frame.with_columns(module.col(list(categorical)).cast(module.String).cast(module.Categorical))


def _gaps(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells are missing."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    return np.asarray(column == "") if column.dtype.kind == "U" else np.zeros(len(column), bool)


def installed_library(library: Library | None) -> Library:
    """The library asked for, or the first one that is installed."""
    if library is not None and library not in _LIBRARIES:
        raise ValueError(f"library is {library!r}: give one of {', '.join(map(repr, _LIBRARIES))}, or None.")
    for name in (library,) if library else _LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError(f"the data set is wanted as a data frame of {library}: pip install {library}.")


def _cells(column: Column) -> list[str]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return ["" if cell != cell else str(int(cell)) if cell.is_integer() else repr(cell) for cell in column.tolist()]
