"""Numbers as people write them: `1,234.5`, `1.234,5`, `$1,200`, `45 %`, `3 kg`, `(200)`."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

_CURRENCY = r"(?:[A-Z]{0,3}\p{Sc}|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|USD|ZAR)"
_GROUPS = "'’ \u00a0\u2009\u202f"
"""Marks of thousands that are never decimal marks."""
_CELL = (
    r"^\s*(?P<open>\(?)(?P<sign>[-+−]?)\s*"
    rf"(?P<before>{_CURRENCY}?)\s*(?P<inner>[-−]?)"
    rf"(?P<digits>\d(?:[\d.,{_GROUPS}]*[\d.,])?|[.,]\d+)(?P<exponent>(?:[eE][+-]?\d+)?)"
    r"\s*(?P<after>(?:/?[\p{L}%‰°\p{Sc}][^\s,;()]{0,11})?)(?P<close>\)?)\s*$"
)


class Written(NamedTuple):
    """The parts of distinct cells, as text; null where a cell is not a number with at most one unit."""

    sign: pa.Array
    digits: pa.Array
    exponent: pa.Array
    unit: pa.Array


def taken_apart(texts: pa.Array) -> Written:
    parts = pc.extract_regex(texts, _CELL)
    known = pc.is_valid(parts)
    sign, before, inner, digits, exponent, after, opened, closed = (
        pc.struct_field(parts, name)
        for name in ("sign", "before", "inner", "digits", "exponent", "after", "open", "close")
    )
    negative = pc.xor(pc.is_in(sign, pa.array(["-", "−"])), pc.not_equal(inner, ""))
    negative = pc.or_(negative, pc.not_equal(opened, ""))
    legal = pc.and_(known, pc.equal(pc.binary_length(opened), pc.binary_length(closed)))
    legal = pc.and_(legal, pc.or_(pc.equal(before, ""), pc.equal(after, "")))
    unit = pc.binary_join_element_wise(before, after, "")
    return Written(pc.if_else(negative, "-", ""), *(pc.if_else(legal, each, None) for each in (digits, exponent, unit)))


def total(chosen: pa.Array, counts: pa.Array) -> int:
    """How many cells have the chosen distinct texts."""
    return int(pc.sum(pc.if_else(pc.fill_null(chosen, False), counts, 0)).as_py() or 0)


def decimal_votes(written: Written, counts: pa.Array) -> tuple[int, int]:
    """How many cells can only be read with a decimal comma, and with a decimal point."""
    comma, point = (pc.fill_null(_has_legal_marks(written.digits, mark), False) for mark in ",.")
    return total(pc.and_not(comma, point), counts), total(pc.and_not(point, comma), counts)


def most_common_unit(written: Written, counts: pa.Array) -> str:
    """The unit of most cells that have one."""
    units = pa.table({"unit": written.unit, "n": counts}).filter(pc.greater(pc.binary_length(written.unit), 0))
    if not units.num_rows:
        return ""
    totals = units.group_by("unit", use_threads=False).aggregate([("n", "sum")])
    return str(totals.sort_by([("n_sum", "descending"), ("unit", "ascending")])["unit"][0].as_py())


def values(written: Written, decimal: str, unit: str) -> pa.Array:
    """Cells as numbers, null where a cell is not one: wrong marks, another unit, or beyond the range of a double."""
    legal = pc.and_(_has_legal_marks(written.digits, decimal), pc.is_in(written.unit, pa.array(["", unit])))
    digits = pc.replace_substring_regex(written.digits, _group(decimal), "")
    text = pc.binary_join_element_wise(written.sign, pc.replace_substring(digits, decimal, "."), written.exponent, "")
    numbers = pc.if_else(pc.fill_null(legal, False), text, None).cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, None)


def _has_legal_marks(digits: pa.Array, decimal: str) -> pa.Array:
    """Whether groups end with three digits, and at most one decimal mark is behind them."""
    group = _group(decimal)
    return pc.match_substring_regex(
        digits, rf"^(?:\d+|[1-9]\d{{0,2}}(?:{group}\d{{2,3}})*{group}\d{{3}})(?:[{decimal}]\d*)?$|^[{decimal}]\d+$"
    )


def _group(decimal: str) -> str:
    """A mark of thousands."""
    return f"[{',' if decimal == '.' else '.'}{_GROUPS}]"
