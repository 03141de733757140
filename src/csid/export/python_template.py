"""A model that csid has fitted, in one file, with nothing but Python's standard library (3.8 or newer).

    import model
    model.predict({"age": 40.0, "colour": "red"})  # a number, or a list of them when there are several outputs

A row maps the names of columns to values; others than those of the model are ignored. A cell that is None, NaN or not
there is missing: it is averaged over, or has a level of its own, as the model was fitted. A category never seen is
averaged over.

    python model.py data.csv > predictions.csv
"""

# ruff: noqa: B905 (before Python 3.10, zip has no `strict`)

from __future__ import annotations

import argparse
import base64
import csv
import json
import math
import os
import struct
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from operator import mul
from pathlib import Path
from statistics import NormalDist
from typing import Any

_NEWTON_STEPS = 100
_CLOSE = 1e-13


class Number:
    """A predictor that is a number: rows of its factor at the levels of a grid, and one for a missing cell."""

    def __init__(self, told: dict[str, Any], rows: list[array[float]]) -> None:
        self.name: str = told["name"]
        self.grid: list[float] = told["grid"]
        self.edges = [0.5 * upper + 0.5 * lower for lower, upper in zip(self.grid, self.grid[1:])]
        self.linear: bool = told["interpolation"] == "linear"
        self.words: dict[str, int] = {word: at for at, word in enumerate(told["words"])}
        self.date: bool = told["date"]
        self.rows = rows
        self.missing: array[float] = rows[told["missing"]]

    def row(self, value: Any) -> Iterable[float]:
        """The row of the factor at a value, between two levels or at the nearest."""
        if _is_missing(value):
            return self.missing
        if isinstance(value, str) and self.words:
            if value not in self.words:
                return self.missing
            value = self.words[value]
        if self.date and isinstance(value, (str, date)):
            value = _days(value, self.name)
        if isinstance(value, str) or math.isinf(value):
            raise ValueError(f"column {self.name!r} holds {value!r} where a finite number is expected.")
        x = float(value)
        if not self.linear:
            return self.rows[bisect_left(self.edges, x)]
        above = bisect_right(self.grid, x)
        if above in (0, len(self.grid)):
            return self.rows[max(above - 1, 0)]
        at = above - 1
        t = _single((x - self.grid[at]) / (self.grid[above] - self.grid[at]))
        return [a + t * (b - a) for a, b in zip(self.rows[at], self.rows[above])]

    def parse(self, text: str) -> Any:
        """A cell of a file."""
        return text if self.words or self.date else _parsed_number(text, self.name)


class Category:
    """A predictor that is a category: a row of its factor for each, one for a missing cell, one for any other."""

    def __init__(self, told: dict[str, Any], rows: list[array[float]]) -> None:
        self.name: str = told["name"]
        self.categories: list[Any] = told["categories"]
        self.rows: dict[Any, array[float]] = dict(zip(self.categories, rows))
        self.missing: array[float] = rows[told["missing"]]
        self.unseen: array[float] = rows[told["unseen"]]

    def row(self, value: Any) -> Iterable[float]:
        """The row of the factor for a category."""
        if _is_missing(value):
            return self.missing
        if self.categories and isinstance(value, str) != isinstance(self.categories[0], str):
            raise ValueError(
                f"column {self.name!r} holds {value!r}, but its categories are like {self.categories[0]!r}."
            )
        return self.rows.get(value, self.unseen)

    def parse(self, text: str) -> Any:
        """A cell of a file."""
        if not self.categories or isinstance(self.categories[0], str):
            return text
        if isinstance(self.categories[0], bool) and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _parsed_number(text, self.name)


class Model:
    """A tensor over the levels of the predictors, and with draws, the distribution of new observations.

    document : as csid exports it to JSON, but with the number of rows of each factor in place of the rows.
    rows : those of all predictors, as doubles. Both are compressed, in base 64.
    """

    def __init__(self, document: str, rows: str) -> None:
        told = json.loads(_unpacked(document))
        numbers = array("d", _unpacked(rows))
        if sys.byteorder == "big":
            numbers.byteswap()
        self.predictors: list[Number | Category] = []
        R, start = len(told["V"][0]), 0
        for one in told["predictors"]:
            end = start + R * one["rows"]
            factor = [numbers[at : at + R] for at in range(start, end, R)]
            self.predictors.append(Number(one, factor) if one["kind"] == "number" else Category(one, factor))
            start = end
        self.V = [array("d", row) for row in told["V"]]
        self.bias: list[float] = told["bias"]
        self.posterior: dict[str, Any] | None = told["posterior"]
        self.targets: list[str] = told["targets"] or [str(j) for j in range(len(self.bias))]
        self.missing = set(told["missing"])

    def parse(self, predictor: Number | Category, text: str | None) -> Any:
        """A cell of a file; a word that stands for a missing one is None, unless it is a category."""
        known = isinstance(predictor, Category) and text in predictor.rows
        return None if text is None or (text in self.missing and not known) else predictor.parse(text)

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The prediction for a row: a number, or a list of them for several outputs."""
        return _one_or_all(self._means(self._components(row)))

    def predict_many(self, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
        """The prediction for each row."""
        return [self.predict(row) for row in rows]

    def predict_interval(self, row: Mapping[str, Any], coverage: float = 0.9) -> tuple[Any, Any]:
        """Bounds, each like the prediction, between which a new observation falls with this probability."""
        if self.posterior is None:
            raise ValueError("this model has no draws, and so no intervals: export a BayesianCSIDRegressor.")
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
        components = self._components(row)
        bounds = [
            self._bounds(self.posterior, components, output, mean, coverage)
            for output, mean in enumerate(self._means(components))
        ]
        return _one_or_all([lower for lower, _ in bounds]), _one_or_all([upper for _, upper in bounds])

    def _components(self, row: Mapping[str, Any]) -> list[float]:
        """The components at a row: the product, over predictors, of the rows of their factors."""
        product = [1.0] * len(self.V[0])
        for predictor in self.predictors:
            product = list(map(mul, product, predictor.row(row.get(predictor.name))))
        return product

    def _means(self, components: list[float]) -> list[float]:
        return [b + sum(map(mul, v, components)) for b, v in zip(self.bias, self.V)]

    def _bounds(
        self, posterior: dict[str, Any], components: list[float], output: int, mean: float, coverage: float
    ) -> tuple[float, float]:
        """Quantiles of one output: those of the draws' deviations from the mean, times the spread."""
        terms = list(map(mul, self.V[output], components))
        shares: list[float] = posterior["shares"]
        scales = [scale[output] for scale in posterior["noise"]]
        deviations, start = [], 0
        for rank, share, bias in zip(posterior["ranks"], shares, posterior["bias"]):
            deviations.append(bias[output] + sum(terms[start : start + rank]) / share - mean)
            start += rank
        noise: Normal | Student4 = Normal() if posterior["degrees_of_freedom"] is None else Student4()
        factor = math.exp(_interpolated(mean, posterior["knots"][output], posterior["logs"][output]))
        lower, upper = (
            mean + factor * _quantile(q, deviations, scales, shares, noise)
            for q in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        )
        return lower, upper


class Normal:
    """Noise that is normally distributed, of scale one."""

    def below(self, z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))

    def density(self, z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    def quantile(self, q: float) -> float:
        return NormalDist().inv_cdf(q)


class Student4:
    """Noise that follows Student's t with 4 degrees of freedom, of scale one."""

    def below(self, z: float) -> float:
        s = z / math.hypot(2.0, z)
        return 0.5 + 0.25 * s * (3.0 - s * s)

    def density(self, z: float) -> float:
        return 0.375 * math.pow(1.0 + 0.25 * z * z, -2.5)

    def quantile(self, q: float) -> float:
        root = math.sqrt(4.0 * q * (1.0 - q))
        return math.copysign(2.0 * math.sqrt(max(math.cos(math.acos(root) / 3.0) / root - 1.0, 0.0)), q - 0.5)


def _quantile(
    q: float, centres: list[float], scales: list[float], shares: list[float], noise: Normal | Student4
) -> float:
    """Where the distribution function of a mixture reaches q, by Newton's method inside a shrinking bracket."""
    at_q = [centre + noise.quantile(q) * scale for centre, scale in zip(centres, scales)]
    low, high = min(at_q), max(at_q)
    x: float = sum(map(mul, shares, at_q))
    for _ in range(_NEWTON_STEPS):
        z = [(x - centre) / scale for centre, scale in zip(centres, scales)]
        excess = sum(share * noise.below(each) for share, each in zip(shares, z)) - q
        if abs(excess) < _CLOSE:
            break
        low, high = (x, high) if excess < 0.0 else (low, x)
        density = sum(share * noise.density(each) / scale for share, each, scale in zip(shares, z, scales))
        x -= excess / max(density, 1e-300)
        if not low <= x <= high:
            x = 0.5 * (low + high)
    return min(max(x, low), high)


def _interpolated(x: float, knots: list[float], values: list[float]) -> float:
    """Linear between knots, constant beyond them."""
    above = bisect_right(knots, x)
    if above in (0, len(knots)):
        return values[max(above - 1, 0)]
    t = (x - knots[above - 1]) / (knots[above] - knots[above - 1])
    return values[above - 1] + t * (values[above] - values[above - 1])


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def _single(t: float) -> float:
    """Rounded to single precision, as positions between levels are."""
    return float(struct.unpack("f", struct.pack("f", t))[0])


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _days(value: Any, column: str) -> float:
    """Days since 1970, of a date or a text such as 2026-01-31 or 2026-01-31 12:00:00."""
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except ValueError:
        raise ValueError(f"column {column!r} holds {value!r} where a date is expected, such as 2026-01-31.") from None
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() // 1 / 86400.0


def _parsed_number(text: str, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"column {column!r} holds {text!r} where a number is expected.") from None


def _one_or_all(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else values


def main(model: Model) -> None:
    """Predict the rows of a file."""
    command = argparse.ArgumentParser(description="Predictions for the rows of a CSV file, as CSV.")
    command.add_argument("data", help="a file whose first line names the columns; - for standard input")
    command.add_argument("--interval", type=float, metavar="COVERAGE", help="bounds as well, such as for 0.9")
    given = command.parse_args()
    try:
        if given.data == "-":
            _predict_file(model, sys.stdin, given.interval)
        else:
            with Path(given.data).open(newline="", encoding="utf-8-sig") as file:
                _predict_file(model, file, given.interval)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the predictions has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _predict_file(model: Model, file: Iterable[str], coverage: float | None) -> None:
    table = csv.DictReader(file)
    absent = [predictor.name for predictor in model.predictors if predictor.name not in (table.fieldnames or [])]
    if absent:
        sys.stderr.write(f"no column {', '.join(map(repr, absent))}: taken as missing in every row\n")
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    names = ["prediction"] if coverage is None else ["prediction", "lower", "upper"]
    K = len(model.bias)
    write(names if K == 1 else [f"{name}_{target}" for name in names for target in model.targets])
    for number, cells in enumerate(table):
        try:
            row = {each.name: model.parse(each, cells.get(each.name)) for each in model.predictors}
            found = [model.predict(row), *(() if coverage is None else model.predict_interval(row, coverage))]
        except ValueError as error:
            raise SystemExit(f"row {number}: {error}") from None
        write([repr(value) for one in found for value in (one if K > 1 else [one])])
