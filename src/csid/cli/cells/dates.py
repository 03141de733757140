"""Dates and times as people write them: `2023-11-02T14:30Z`, `02/11/2023`, `11.02.2023`, `2 Nov 2023`, `14:30`."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<word>(?i:(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}))\.?"
_CLOCK = r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)?(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:(?:T|\s|,\s*)\s*{_CLOCK}\s*(?P<zone>Z|UTC|GMT|[+-]\d{{2}}(?::?\d{{2}})?)?)?\s*$"
_YEAR_FIRST = rf"^\s*(?P<y>\d{{4}})[-/.](?P<b>\d{{1,2}})(?:[-/.](?P<c>\d{{1,2}}))?{_TIME}"
_NUMERIC = (
    r"^\s*(?:(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y>\d{4})|(?P<a2>\d{1,2})/(?P<b2>\d{1,2})/(?P<y2>\d{2})"
    rf"|(?P<a3>\d{{2}})[-.](?P<b3>\d{{2}})[-.](?P<y3>\d{{2}})){_TIME}"
)
_DAY_MONTH = rf"^\s*(?P<a>\d{{1,2}})[-\s.]*{_MONTH}[-\s,]*(?P<y>\d{{4}}|\d{{2}}){_TIME}"
_MONTH_DAY = rf"^\s*{_MONTH}\s+(?P<a>\d{{1,2}}),?\s+(?P<y>\d{{4}}){_TIME}"
_DURATION = r"^\s*(?P<h>\d{1,3}):(?P<min>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,]\d+)?)?(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s*$"
_NONE = np.iinfo(np.int64).min

Whole = NDArray[np.int64]


def order_votes(texts: pa.Array, counts: pa.Array) -> tuple[int, int, int]:
    """How many cells such as 02/11/2023 must have the day first, the month first, and can have either."""
    first, second, *_ = _numeric(texts)
    written = first != _NONE
    weights = np.where(written, counts.to_numpy(zero_copy_only=False), 0)
    day, month = (first > 12) & (second <= 12), (second > 12) & (first <= 12)
    return int(weights[day].sum()), int(weights[month].sum()), int(weights[~day & ~month & (first != second)].sum())


def has_slashes(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, r"^\s*\d{1,2}/\d{1,2}/")).as_py())


def dates(texts: pa.Array, day_first: bool) -> pa.Array:
    """Cells as timestamps in seconds (in UTC, if they have a zone); null where a cell is not a date."""
    first, second, year, numeric = _numeric(texts)
    day, month = (first, second) if day_first else (second, first)
    found = _timestamps(year, month, day, numeric)
    year_first = pc.extract_regex(texts, _YEAR_FIRST)
    day = _whole(year_first, "c")
    day[(day == _NONE) & (_whole(year_first, "b") != _NONE)] = 1
    for more in (
        _timestamps(_whole(year_first, "y"), _whole(year_first, "b"), day, year_first),
        *(_with_month_name(pc.extract_regex(texts, pattern)) for pattern in (_DAY_MONTH, _MONTH_DAY)),
    ):
        found = np.where(found == _NONE, more, found)
    return pa.array(found, mask=found == _NONE).cast(pa.timestamp("s"))


def times(texts: pa.Array) -> pa.Array:
    """Cells such as 14:30 as hours; null where a cell is not a time."""
    parts = pc.extract_regex(texts, _DURATION)
    seconds = _seconds(parts)
    return pa.array(seconds / 3600.0, mask=(seconds < 0) | pc.is_null(parts).to_numpy(zero_copy_only=False))


def _numeric(texts: pa.Array) -> tuple[Whole, Whole, Whole, Any]:
    """The first and the second number and the year of cells such as 02/11/2023."""
    parts = pc.extract_regex(texts, _NUMERIC)
    first, second, year = (
        np.maximum.reduce([_whole(parts, f"{name}{version}") for version in ("", "2", "3")]) for name in "aby"
    )
    return first, second, year, parts


def _with_month_name(parts: Any) -> Whole:
    words = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(parts, "word"), 0, 3))
    month = pc.fill_null(pc.index_in(words, pa.array(_MONTHS)), -1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return _timestamps(_whole(parts, "y"), month, _whole(parts, "a"), parts)


def _timestamps(year: Whole, month: Whole, day: Whole, parts: Any) -> Whole:
    """Seconds since 1970; _NONE where there is no such day or time."""
    year = np.where((year >= 0) & (year < 100), year + np.where(year < 69, 2000, 1900), year)
    known = (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(known, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    clock = _seconds(parts)
    known &= (days < (months + 1).astype("datetime64[D]").astype(np.int64)) & (clock >= 0) & (clock < 86_400 + 1)
    return np.where(known, np.where(known, days, 0) * 86_400 + clock - _offset(parts), _NONE).astype(np.int64)


def _seconds(parts: Any) -> Whole:
    """Seconds since midnight; -1 where there is no such time."""
    hour, minute, second = (np.maximum(_whole(parts, name), 0) for name in ("h", "min", "s"))
    half = pc.utf8_lower(pc.fill_null(pc.struct_field(parts, "half"), ""))
    am, pm = (pc.equal(half, letter).to_numpy(zero_copy_only=False) for letter in "ap")
    legal = (minute < 60) & (second < 61) & ~((am | pm) & ((hour < 1) | (hour > 12)))
    hour = np.where(am | pm, hour % 12, hour) + np.where(pm, 12, 0)
    return np.where(legal, hour * 3600 + minute * 60 + second, -1).astype(np.int64)


def _offset(parts: Any) -> Whole:
    """Seconds that the zone is ahead of UTC."""
    zone = pc.extract_regex(
        pc.fill_null(pc.struct_field(parts, "zone"), ""), r"^(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{0,2})$"
    )
    ahead: Whole = np.maximum(_whole(zone, "hours"), 0) * 3600 + np.maximum(_whole(zone, "minutes"), 0) * 60
    is_behind: NDArray[np.bool_] = pc.fill_null(pc.equal(pc.struct_field(zone, "sign"), "-"), False).to_numpy(
        zero_copy_only=False
    )
    return ahead * (1 - 2 * is_behind.astype(np.int64))


def _whole(parts: Any, name: str) -> Whole:
    """A part that is a whole number; _NONE where it is absent."""
    text = pc.struct_field(parts, name)
    numbers = pc.if_else(pc.greater(pc.binary_length(text), 0), text, None).cast(pa.int64())
    return np.array(pc.fill_null(numbers, _NONE).to_numpy(zero_copy_only=False), dtype=np.int64)
