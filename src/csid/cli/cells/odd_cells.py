"""Cells that cannot be read as the type of their column: they are treated as missing and counted, or refused."""

import shlex
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.cells import numbers
from csid.cli.cells.read_column import is_text
from csid.cli.errors import DataError
from csid.fitted.schema import CellFormat, Type

_SHOWN, _MOST_DISTINCT = 3, 1000
_LONGEST = 40

MOST_ODD = 0.1
"""The largest fraction of the cells of a column that may be odd, placeholders aside; one cell always may."""
_PLACEHOLDERS = pa.array(
    [
        *("-", "--", "---", ".", "..", "...", "…", "–", "—", "*", "?"),
        *("#n/a", "#na", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"),
        *("none", "<na>", "nat", "na", "n/a", "n.a.", "nan", "-nan", "null", "nil", "missing", "unknown", "error"),
        *("inf", "-inf", "+inf", "infinity", "-infinity"),
    ]
)


def is_placeholder(texts: pa.Array) -> pa.Array:
    """Whether texts stand for a missing value wherever numbers are expected."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    return pc.or_(pc.equal(words, ""), pc.is_in(words, _PLACEHOLDERS))


@dataclass
class _Column:
    """What was found in a column.

    one, several : what its cells should be; decimal : the mark of numbers.
    n_foreign : odd cells that are no placeholders; texts : of odd cells, each with its first row and its count.
    """

    one: str
    several: str
    decimal: str | None
    n_cells: int = 0
    n_read: int = 0
    n_odd: int = 0
    n_foreign: int = 0
    texts: dict[str, tuple[int, int]] = field(default_factory=dict)


class OddCells:
    """Collects the odd cells of the columns that are read. Rows are counted from 1, over all files.

    strict : raise an error instead.
    """

    def __init__(self, strict: bool = False) -> None:
        self._strict = strict
        self._columns: dict[str, _Column] = {}

    def add(
        self, name: str, kind: Type, written: CellFormat, cells: pa.ChunkedArray, read: pa.ChunkedArray, first_row: int
    ) -> None:
        """Compare the cells of some rows with what was read from them."""
        column = self._columns.setdefault(
            name, _Column(*_expected(kind, written), written.decimal if kind == "number" else None)
        )
        column.n_cells += len(cells)
        column.n_read += len(read) - read.null_count
        if read.null_count == cells.null_count:
            return
        is_odd = pc.and_(pc.is_valid(cells), pc.is_null(read))
        if is_text(cells.type):
            is_odd = pc.and_not(is_odd, pc.equal(pc.utf8_trim_whitespace(cells), ""))
        rows = np.flatnonzero(is_odd.to_numpy())
        if not len(rows):
            return
        column.n_odd += len(rows)
        texts = cells.take(rows).cast(pa.string())
        column.n_foreign += pc.sum(pc.invert(is_placeholder(texts))).as_py()
        for row, text in zip(rows, texts.to_pylist(), strict=True):
            if text in column.texts or len(column.texts) < _MOST_DISTINCT:
                first, count = column.texts.get(text, (first_row + int(row) + 1, 0))
                column.texts[text] = (first, count + 1)
        if self._strict:
            commonest = max(column.texts, key=lambda text: column.texts[text][1])
            raise DataError(
                f"column {_said(name, column)}, and --strict refuses such cells. Correct them; if {commonest!r} means "
                f"a missing value, use --missing {shlex.quote(commonest)}."
            )

    def clear(self) -> None:
        """Forget all columns: the rows are about to be read again."""
        self._columns.clear()

    def refuse_unreadable(self) -> None:
        """Raise an error for a column of which no cell can be read: it is not what the model was fitted to."""
        for name, column in self._columns.items():
            if column.n_read == 0 and column.n_foreign > 1:
                raise DataError(
                    f"column {_said(name, column)}, and no other cell is.{_hint(column)} Use --missing for texts that "
                    "mean a missing value."
                )

    def refuse_columns_of_text(self) -> None:
        """Raise an error for a column whose first rows were numbers or dates, but many of all its cells are not."""
        for name, column in self._columns.items():
            if column.n_foreign > max(1.0, MOST_ODD * column.n_cells):
                raise DataError(
                    f"column {_said(name, column)}, but those of its first rows are. Use --categorical "
                    f"{shlex.quote(name)} or --ignore {shlex.quote(name)}, or --missing for texts that mean a missing "
                    "value."
                )

    def notes(self) -> list[str]:
        """A sentence for each column that has odd cells."""
        return [
            f"Column {_said(name, column)} and {'was' if column.n_odd == 1 else 'were'} treated as missing."
            f"{_hint(column)}"
            for name, column in self._columns.items()
            if column.n_odd
        ]


def _expected(kind: Type, written: CellFormat) -> tuple[str, str]:
    """What a cell, and what cells should be."""
    if kind == "boolean":
        return "true or false", "true or false"
    unit = f" in {written.unit}" if written.unit else ""
    return f"a {kind}{unit}", f"{kind}s{unit}"


def _said(name: str, column: _Column) -> str:
    most = sorted(column.texts.items(), key=lambda item: (-item[1][1], item[1][0]))
    shown = [
        f"{_shortened(text)!r} in row {row:,}" + (f" and {count - 1:,} more" if count > 1 else "")
        for text, (row, count) in most[:_SHOWN]
    ]
    if len(most) > _SHOWN:
        shown.append("…")
    expected = f"is not {column.one}" if column.n_odd == 1 else f"are not {column.several}"
    return f"{name!r}: {column.n_odd:,} of {column.n_cells:,} cells {expected} ({', '.join(shown)})"


def _hint(column: _Column) -> str:
    """That another decimal mark would read most odd cells."""
    if column.decimal is None:
        return ""
    other = "," if column.decimal == "." else "."
    written = numbers.taken_apart(pa.array(list(column.texts), pa.string()))
    comma, point = numbers.decimal_votes(written, pa.array([count for _, count in column.texts.values()], pa.int64()))
    votes = comma if other == "," else point
    return f" Use --decimal {other} if {other} is the decimal mark." if 2 * votes > column.n_odd else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
