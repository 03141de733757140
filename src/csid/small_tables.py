"""Small tables: how results show themselves in a terminal and in a notebook."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

MOST_ROWS = 12


class SmallTable(NamedTuple):
    """A table to read. Cells that are numbers are rounded, and None is a missing cell.

    title : of the table; header : names of the columns; rows : their cells; note : what the table leaves out.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def text(self) -> str:
        """The table in a terminal: words to the left, numbers to the right.

        >>> print(SmallTable("Shares", ("predictor", "total"), [("age", 0.51234), ("rooms", 2.0)]).text())
        Shares
        predictor  total
        age        0.512
        rooms          2
        """
        columns = []
        for name, *cells in zip(self.header, *self.rows, strict=True):
            texts = [name, *map(shown, cells)]
            aligned = str.ljust if all(isinstance(cell, str) for cell in cells) else str.rjust
            columns.append([aligned(text, max(map(len, texts))) for text in texts])
        lines = [self.title, *("  ".join(line).rstrip() for line in zip(*columns, strict=True)), self.note]
        return "\n".join(line for line in lines if line)

    def html(self) -> str:
        """The table in a notebook."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = ("".join(f"<td>{escape(shown(cell))}</td>" for cell in row) for row in self.rows)
        lines = "".join(f"<tr>{row}</tr>" for row in body)
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
            + note
        )


class Tabular:
    """A result that shows itself as a small table. Dataclasses among them are declared with `repr=False`."""

    def table(self) -> SmallTable:
        """The table that stands for this result."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def shown(cell: Any) -> str:
    """A cell as text.

    >>> [shown(cell) for cell in (0.123456, 41.0, 123456.0, None, "red", (0.5, 0.4, 0.6))]
    ['0.123', '41', '123456', 'missing', 'red', '0.5 [0.4, 0.6]']
    """
    if cell is None:
        return "missing"
    if isinstance(cell, tuple):
        value, lower, upper = map(shown, cell)
        return f"{value} [{lower}, {upper}]"
    if isinstance(cell, float):
        return f"{cell:.0f}" if math.isfinite(cell) and 1e3 <= abs(cell) < 1e15 else f"{cell:.3g}"
    return str(cell)


def with_bounds(values: Any) -> float | tuple[float, ...]:
    """A cell of one number, or of a number with its lower and upper bound, from an array of one or three.

    >>> with_bounds([0.5]), with_bounds([0.5, 0.4, 0.6])
    (0.5, (0.5, 0.4, 0.6))
    """
    found = tuple(map(float, values))
    return found[0] if len(found) == 1 else found


def evenly(count: int, most: int = MOST_ROWS) -> list[int]:
    """At most `most` of `count` positions, evenly spaced, with the first and the last.

    >>> evenly(100, 3)
    [0, 50, 99]
    """
    if count <= most:
        return list(range(count))
    return [round(at * (count - 1) / (most - 1)) for at in range(most)]


def left_out(count: int, what: str, most: int = MOST_ROWS) -> str:
    """A note on the rows that a table leaves out, if any.

    >>> left_out(300, "predictors")
    '12 of 300 predictors are shown.'
    """
    return f"{most} of {count} {what} are shown." if count > most else ""
