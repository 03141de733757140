"""How files are read: missing values, text format and wanted columns."""

from collections.abc import Sequence
from dataclasses import dataclass

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?")
"""Text that means a missing value, unless --missing replaces the list."""


@dataclass(frozen=True)
class Reading:
    """How files are read. Cells of text stay text: what they mean is found out later.

    missing : text that means a missing value; delimiter, encoding : of a text file, None to detect it.
    sheet : of a workbook, None for the first. columns : the wanted ones by name; None reads all columns.
    optional : columns that the file may lack; also : further columns, `*` for all.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    columns: Sequence[str] | None = None
    optional: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
