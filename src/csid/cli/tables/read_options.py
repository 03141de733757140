"""How files are read: missing values, text format, wanted columns and their types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?")
"""Text that means a missing value, unless --missing replaces the list."""


@dataclass(frozen=True)
class Reading:
    """How files are read.

    missing : text that means a missing value; delimiter : of a text file, None to detect it.
    types : of the wanted columns, by name; None reads all columns and infers their types.
    optional : columns of `types` that the file may lack; also : further columns to read as text, `*` for all.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    encoding: str = "utf8"
    types: Mapping[str, pa.DataType] | None = None
    optional: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
