"""Values in new rows that no training row had: unseen categories, and numbers beyond the training range."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from csid.encoding import CategoricalMode, Encoding, Mode, OrdinalMode
from csid.encoding.columns import Column, read_columns
from csid.encoding.text import normalised

_MOST_SHOWN = 5
_MOST_COUNTED = 10_000


@dataclass(frozen=True)
class UnseenValues:
    """The values of one predictor that no training row had. Printed, a sentence.

    predictor : its name; rows : how many rows have such a value, of n_rows.
    values : the most common ones, with the number of their rows; n_values : how many different ones there are.
    limits : of a number or date, the smallest and the largest training value; None of a category.
    similar : of those in `values`, the known category that differs only in case or blanks.
    """

    predictor: str
    rows: int
    n_rows: int
    values: dict[Any, int]
    n_values: int
    limits: tuple[Any, Any] | None
    similar: dict[str, str]

    def __str__(self) -> str:
        listed = ", ".join(f"{_shown(value)} ({self._remark(value)})" for value in self.values)
        more = ", …" if self.n_values > len(self.values) else ""
        rows = f"column {self.predictor!r}: {self.rows:,} of {self.n_rows:,} rows"
        if self.limits is None:
            return f"{rows} hold unseen categories, which count as missing: {listed}{more}"
        low, high = map(_shown, self.limits)
        return f"{rows} are beyond the training range {low} to {high}, and count as its end: {listed}{more}"

    def _remark(self, value: Any) -> str:
        like = f", like {self.similar[value]!r}" if value in self.similar else ""
        return f"{self.values[value]:,}{like}"

    def as_json(self) -> dict[str, Any]:
        """For JSON, whose objects have text keys only."""
        values = [
            {"value": value, "rows": count} | ({"similar": self.similar[value]} if value in self.similar else {})
            for value, count in self.values.items()
        ]
        return {
            "predictor": self.predictor,
            "rows": self.rows,
            "limits": None if self.limits is None else list(self.limits),
            "values": values,
            "n_values": self.n_values,
        }


class UnseenCounter:
    """Counts unseen values of tables that are read part by part."""

    def __init__(self, encoding: Encoding) -> None:
        self.n_rows = 0
        self._modes = encoding.modes
        self._rows = [0] * len(encoding.modes)
        self._counts: list[Counter[Any]] = [Counter() for _ in encoding.modes]

    def update(self, X: Any, n_rows: int) -> None:
        """Count the rows of a checked table."""
        self.n_rows += n_rows
        for n, (mode, column) in enumerate(zip(self._modes, read_columns(X), strict=True)):
            found = _unseen(mode, column)
            self._rows[n] += found.total()
            self._counts[n] += found
            if len(self._counts[n]) > 2 * _MOST_COUNTED:  # memory stays bounded; rare values are then counted anew
                self._counts[n] = Counter(dict(self._counts[n].most_common(_MOST_COUNTED)))

    def found(self) -> tuple[UnseenValues, ...]:
        """The predictors with unseen values, in the order of the columns."""
        each = zip(self._modes, self._rows, self._counts, strict=True)
        return tuple(self._of(mode, rows, counts) for mode, rows, counts in each if rows)

    def _of(self, mode: Mode, rows: int, counts: "Counter[Any]") -> UnseenValues:
        common = dict(counts.most_common(_MOST_SHOWN))
        if isinstance(mode, OrdinalMode):
            limits = None if mode.words or mode.limits is None else tuple(map(mode.value_of, mode.limits))
            values = {value if isinstance(value, str) else mode.value_of(value): m for value, m in common.items()}
            similar = _similar(values, mode.words)
        else:
            limits, values = None, common
            similar = _similar(values, mode.categories)
        return UnseenValues(mode.name, rows, self.n_rows, values, len(counts), limits, similar)


def _unseen(mode: Mode, column: Column) -> "Counter[Any]":
    """Rows of each value that is neither missing nor known."""
    if isinstance(mode, CategoricalMode):
        return _without(Counter(column.values()), mode.categories)
    if not isinstance(column.data, np.ndarray):
        return _without(Counter(column.data), mode.words)
    if mode.limits is None or mode.words:
        return Counter()
    low, high = mode.limits
    return Counter(column.data[(column.data < low) | (column.data > high)].tolist())


def _without(counts: "Counter[Any]", known: tuple[Any, ...]) -> "Counter[Any]":
    for value in (None, *known):
        counts.pop(value, None)
    return counts


def _similar(values: dict[Any, int], known: tuple[Any, ...]) -> dict[str, str]:
    """For unseen texts, the known text that differs only in case or blanks."""
    forms = {normalised(text): text for text in known if isinstance(text, str)}
    texts = {value: normalised(value) for value in values if isinstance(value, str)}
    return {value: forms[form] for value, form in texts.items() if form in forms}


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value) if isinstance(value, str) else str(value).removesuffix(" 00:00:00")
