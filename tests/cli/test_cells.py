"""Laws of reading cells: what is written in a format is read back, in that format and no other."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csid.cli.cells import read_cells, recognise
from csid.cli.options import CellOptions, DecimalMark
from csid.fitted.schema import CellFormat

NUMBERS = st.lists(st.integers(-(10**11), 10**11), min_size=1, max_size=20)
UNITS = st.sampled_from(["", "$", "€", "EUR", "kg", "%", "km/h", "°C"])
EPOCH = datetime.datetime(1970, 1, 1)


def column(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([texts], pa.string())


def as_people_write(cents: int, group: str, written: CellFormat) -> str:
    """Hundredths with marks and a unit."""
    whole, rest = divmod(abs(cents), 100)
    digits = f"{whole:,}".replace(",", group) + f"{written.decimal}{rest:02d}"
    sign = "-" if cents < 0 else ""
    if written.unit in ("$", "EUR"):
        return f"{sign}{written.unit} {digits}"
    return f"{sign}{digits} {written.unit}".strip()


@given(NUMBERS, UNITS, st.sampled_from([".,", ",.", ". ", ", ", ".'", ".", ","]))
def test_numbers_are_read_back(cents: list[int], unit: str, marks: str) -> None:
    written = CellFormat(unit, marks[0])
    texts = column(*(as_people_write(each, marks[1:], written) for each in cents))
    expected = [each / 100.0 for each in cents]
    assert read_cells(texts, "number", written).to_pylist() == expected
    found = recognise(pa.table({"a": texts}), {"a": "any"}, CellOptions(decimal=DecimalMark(marks[0])))["a"]
    assert (found.type, found.format, found.cells.to_pylist()) == ("number", written, expected)


@given(NUMBERS)
def test_the_decimal_mark_is_found(cents: list[int]) -> None:
    for decimal, group in (".,", ",."):
        texts = column(*(as_people_write(each, group, CellFormat(decimal=decimal)) for each in cents))
        found = recognise(pa.table({"a": texts}), {"a": "any"}, CellOptions())["a"]
        assert found.format.decimal == decimal
        assert found.cells.to_pylist() == [each / 100.0 for each in cents]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_plain_numbers_are_exact(values: list[float]) -> None:
    found = recognise(pa.table({"a": column(*map(repr, values))}), {"a": "number"}, CellOptions())["a"]
    assert np.array_equal(found.cells.to_numpy(), values)


@given(
    st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2067, 1, 1)).map(lambda t: t.replace(microsecond=0))
)
def test_dates_are_read_back(moment: datetime.datetime) -> None:
    expected = [int((moment - EPOCH).total_seconds())]
    for pattern, day_first in (
        ("%Y-%m-%dT%H:%M:%S", False),
        ("%Y/%m/%d %H:%M:%SZ", False),
        ("%d/%m/%Y %H:%M:%S", True),
        ("%d.%m.%y, %H:%M:%S", True),
        ("%m/%d/%Y %I:%M:%S %p", False),
        ("%d %B %Y %H:%M:%S", False),
        ("%b %d, %Y %I:%M:%S%p", False),
    ):
        read = read_cells(column(moment.strftime(pattern)), "date", CellFormat(day_first=day_first))
        assert read.cast(pa.int64()).to_pylist() == expected
    ahead = moment + datetime.timedelta(hours=5, minutes=30)
    read = read_cells(column(ahead.isoformat() + "+05:30"), "date", CellFormat())
    assert read.cast(pa.int64()).to_pylist() == expected


@given(st.times().map(lambda time: time.replace(microsecond=0)))
def test_times_are_read_back(time: datetime.time) -> None:
    for pattern in ("%H:%M:%S", "%I:%M:%S %p", "%I:%M:%S%p"):
        read = read_cells(column(time.strftime(pattern)), "time", CellFormat())
        assert np.allclose(read.to_numpy(), (time.hour * 3600 + time.minute * 60 + time.second) / 3600)


@given(st.lists(st.none() | st.text(max_size=20)))
def test_any_text_can_be_read(texts: list[str | None]) -> None:
    cells = column(*texts)
    for kind in ("number", "date", "time", "boolean", "text"):
        assert len(read_cells(cells, kind, CellFormat("kg", ","))) == len(cells)
    found = recognise(pa.table({"a": cells}), {"a": "any"}, CellOptions())["a"]
    assert len(found.cells) == len(cells)


@pytest.mark.parametrize("day_first", [True, False])
def test_most_cells_decide_which_comes_first(day_first: bool) -> None:
    dates = [f"{day:02d}/03/2023" if day_first else f"03/{day:02d}/2023" for day in range(10, 29)]
    other = "04/25/2023" if day_first else "25/04/2023"
    found = recognise(pa.table({"a": column(*dates, other)}), {"a": "any"}, CellOptions())["a"]
    assert found.format.day_first == day_first
    assert found.cells.null_count == 1
    assert f"{'day' if day_first else 'month'} first, as 16 of its cells must be" in found.remark
