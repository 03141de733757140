"""Find out what the columns of a file are, from all their cells."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.cells import dates, numbers
from csid.cli.cells.odd_cells import MOST_ODD, is_placeholder
from csid.cli.cells.read_column import is_text, plain_numbers, read_cells, truth_values
from csid.cli.options import CellOptions
from csid.fitted.schema import CellFormat, Type

_SAMPLE = 1000
_EXACT_DIGITS = 15
"""Whole numbers with more digits are not exact as doubles."""

Wanted = Literal["any", "complete", "number", "label"]
"""What a column may be: anything; text unless all its cells can be read; numbers also if they look like identifiers;
labels of classes, which are plain numbers, truth values or else text as it stands."""


class Recognised(NamedTuple):
    """A column of a file.

    cells : as its type, null where they cannot be read; remark : how they are read, if that is not obvious.
    """

    type: Type
    format: CellFormat
    cells: pa.ChunkedArray
    remark: str = ""


def recognise(table: pa.Table, wanted: Mapping[str, Wanted], options: CellOptions) -> dict[str, Recognised]:
    """What some columns of a table are. Columns of a file share a decimal mark where their own cells do not tell it."""
    texts = {name: _Text(table[name]) for name in wanted if is_text(table[name].type)}
    mark = _common_mark(texts.values()) if options.decimal is None else options.decimal.value
    found = {}
    for name, want in wanted.items():
        if name in texts:
            found[name] = texts[name].recognised(want, mark, options)
        else:
            found[name] = _typed(table[name], want)
    return found


class _Candidate(NamedTuple):
    """What a column of text may be, and the values of its distinct texts."""

    type: Type
    format: CellFormat
    values: pa.Array
    remark: str


def _is_plain_number(candidate: _Candidate) -> bool:
    return candidate.type == "number" and not candidate.format.unit


class _Text:
    """A column of text."""

    def __init__(self, cells: pa.ChunkedArray) -> None:
        self._cells = cells.cast(pa.string())

    @cached_property
    def plain(self) -> pa.ChunkedArray | None:
        return plain_numbers(self._cells)

    @cached_property
    def votes(self) -> tuple[int, int]:
        """Cells that must have a decimal comma, and a decimal point."""
        return numbers.decimal_votes(self._written, self._counts) if self._may_be_number else (0, 0)

    def recognised(self, want: Wanted, mark: str | None, options: CellOptions) -> Recognised:
        if self.plain is not None and (mark != "," or not self._has("[.]")):
            if want != "number" and self._is_identifier:
                return self._as_text()
            return Recognised("number", CellFormat(decimal=mark or "."), self.plain)
        candidates = list(self._candidates(mark, options))
        if want == "label":
            candidates = [each for each in candidates if each.type == "boolean" or _is_plain_number(each)]
        if not candidates:
            return self._as_text()
        best = max(candidates, key=lambda each: self._n_known(each.values))
        n_read, n_odd = self._n_known(best.values), self._n_odd(best.values)
        few_odd = n_odd <= max(1.0, MOST_ODD * (n_read + n_odd)) and n_read > n_odd
        if want == "complete" or best.type == "boolean":
            few_odd = n_read == self._n_texts
        if want == "label":
            few_odd = few_odd and n_odd == 0
        if not few_odd or (best.type == "boolean" and self._has("[01]")):
            return self._as_text(n_read if best.type == "number" and want == "any" else 0)
        indices = pc.index_in(self._cells, self._distinct)
        return Recognised(best.type, best.format, pc.take(best.values, indices), best.remark)

    def _candidates(self, mark: str | None, options: CellOptions) -> Iterator[_Candidate]:
        if self._may_be_number:  # before truth values, as 0 and 1 are both
            yield self._number(mark, options.decimal is not None)
        if self._may_be(truth_values):
            yield _Candidate("boolean", CellFormat(), truth_values(self._distinct), "")
        if self._may_be(lambda texts: pc.coalesce(dates.dates(texts, True), dates.dates(texts, False))):
            yield self._date(options.day_first)
        if self._may_be(dates.times):
            yield _Candidate("time", CellFormat(), dates.times(self._distinct), "times, in hours")

    def _may_be(self, read: Callable[[pa.Array], pa.Array]) -> bool:
        """Whether a sample of many distinct texts can be read; few of them are always tried."""
        n = len(self._distinct)
        if n <= _SAMPLE:
            return n > 0
        values = read(self._distinct.take(np.arange(_SAMPLE) * n // _SAMPLE))
        return bool(2 * values.null_count < _SAMPLE)

    @cached_property
    def _may_be_number(self) -> bool:
        return self._may_be(lambda texts: numbers.taken_apart(texts).digits)

    @cached_property
    def _tally(self) -> Any:
        tally = pc.value_counts(self._cells)
        return tally.filter(pc.is_valid(tally.field("values")))

    @property
    def _distinct(self) -> pa.Array:
        return self._tally.field("values")

    @property
    def _counts(self) -> pa.Array:
        return self._tally.field("counts")

    @cached_property
    def _written(self) -> numbers.Written:
        return numbers.taken_apart(self._distinct)

    @property
    def _n_texts(self) -> int:
        return int(len(self._cells) - self._cells.null_count)

    @property
    def _is_identifier(self) -> bool:
        """Whether these are whole numbers of many digits, all of the same length."""
        lengths = pc.min_max(pc.binary_length(self._cells)).as_py()
        if self._n_texts == 0 or lengths["min"] != lengths["max"] or lengths["min"] <= _EXACT_DIGITS:
            return False
        return bool(pc.all(pc.match_substring_regex(self._cells, r"^\d+$")).as_py())

    def _as_text(self, n_numbers: int = 0) -> Recognised:
        remark = ""
        if 2 * n_numbers > self._n_texts:
            remark = (
                f"{n_numbers:,} of {self._n_texts:,} cells are numbers, but too many are not, so it is read as text. "
                "Use --missing for the texts that mean a missing value"
            )
        return Recognised("text", CellFormat(), self._cells, remark)

    def _has(self, pattern: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(self._cells, pattern)).as_py())

    def _n_known(self, values: pa.Array) -> int:
        return numbers.total(pc.is_valid(values), self._counts)

    def _n_odd(self, values: pa.Array) -> int:
        is_odd = pc.and_not(pc.is_null(values), is_placeholder(self._distinct))
        return numbers.total(is_odd, self._counts)

    def _number(self, mark: str | None, is_given: bool) -> _Candidate:
        comma, point = self.votes
        shown = None if comma == point else "," if comma > point else "."
        decimal = (mark if is_given else shown or mark) or "."
        unit = numbers.most_common_unit(self._written, self._counts)
        values = numbers.values(self._written, decimal, unit)
        remarks = [f"numbers in {unit}"] if unit else []
        if unit:
            bare = pc.and_(pc.is_valid(values), pc.equal(self._written.unit, ""))
            n_bare = numbers.total(bare, self._counts)
            remarks += [f"{n_bare:,} of its cells have no unit, and are read as in {unit}"] if n_bare else []
        remarks += ["numbers with decimal commas"] if decimal == "," else []
        if shown is None and mark is None:
            other = "," if decimal == "." else "."
            marked = pc.index(pc.match_substring(self._written.digits, other), pa.scalar(True)).as_py()
            if marked >= 0:
                text, value = self._distinct[marked].as_py(), values[marked].as_py()
                remarks += [f"{text!r} is read as {value}; use --decimal {other} if {other} is the decimal mark"]
        return _Candidate("number", CellFormat(unit, decimal), values, "; ".join(remarks))

    def _date(self, day_first: bool | None) -> _Candidate:
        day, month, either = dates.order_votes(self._distinct, self._counts)
        slashes = dates.has_slashes(self._distinct)
        first = day_first if day_first is not None else day > month if day != month else not slashes
        remark = ""
        if day + month + either:
            order = "day first" if first else "month first"
            if day_first is not None:
                reason = "as asked for"
            elif day != month:
                reason = f"as {max(day, month):,} of its cells must be"
            else:
                reason = f"which none of its cells tells: use --{'month' if first else 'day'}-first for the other order"
            remark = f"dates with the {order}, {reason}"
        return _Candidate("date", CellFormat(day_first=first), dates.dates(self._distinct, first), remark)


def _common_mark(columns: Iterable[_Text]) -> str | None:
    """The decimal mark of most cells that tell it, in columns that are not plain numbers; None if no cell does."""
    votes = [column.votes for column in columns if column.plain is None]
    comma, point = sum(comma for comma, _ in votes), sum(point for _, point in votes)
    return None if comma == point else "," if comma > point else "."


def _typed(cells: pa.ChunkedArray, want: Wanted) -> Recognised:
    """A column of a file whose columns have types; a type that cannot be read is kept, and refused if it is used."""
    kind = cells.type
    if pa.types.is_integer(kind) and want != "number" and len(cells) > cells.null_count:
        extremes = pc.min_max(cells).as_py()
        if len(str(extremes["min"])) == len(str(extremes["max"])) > _EXACT_DIGITS:
            return Recognised("text", CellFormat(), cells.cast(pa.string()))
    if want == "label" and (pa.types.is_temporal(kind) or is_text(kind)):
        return Recognised("text", CellFormat(), cells.cast(pa.string()))
    found: Type | None = None
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        found = "date"
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        found = "time"
    elif pa.types.is_boolean(kind):
        found = "boolean"
    if found is None:
        return Recognised("number", CellFormat(), cells.cast(pa.float64()) if pa.types.is_null(kind) else cells)
    remark = "times, in hours" if found == "time" else ""
    return Recognised(found, CellFormat(), read_cells(cells, found, CellFormat()), remark)
