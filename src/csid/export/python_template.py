"""A model fitted by csid, in one file that needs only Python's standard library (3.8 or newer).

    import model
    model.predict({"age": 40.0, "colour": "red"})  # a number, or a list of them when there are several outputs

A row maps column names to values; columns that the model does not have are ignored. A cell that is None, NaN or absent
is missing: it is averaged over, or has a level of its own, as the model was fitted. An unseen category is averaged
over.

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
from datetime import date, datetime, timedelta
from operator import mul
from pathlib import Path
from typing import Any, Protocol

_STEPS = 120
_CLOSE = 1e-13


class UnitNoise(Protocol):
    """Noise of scale one: distribution function, density and quantile."""

    def cdf(self, z: float) -> float: ...

    def pdf(self, z: float) -> float: ...

    def ppf(self, q: float) -> float: ...


class Number:
    """A predictor that is a number: rows of its factor at the levels of a grid, and one for a missing cell."""

    def __init__(self, entries: dict[str, Any], rows: list[array[float]]) -> None:
        self.name: str = entries["name"]
        self.grid: list[float] = entries["grid"]
        self.edges = [0.5 * upper + 0.5 * lower for lower, upper in zip(self.grid, self.grid[1:])]
        self.linear: bool = entries["interpolation"] == "linear"
        self.words: dict[str, int] = {word: at for at, word in enumerate(entries["words"])}
        self.date: bool = entries["date"]
        self.rows = rows
        self.missing: array[float] = rows[entries["missing"]]
        self.normalise_text = False

    def row(self, value: Any) -> Iterable[float]:
        """The row of the factor at a value, between two levels or at the nearest."""
        if _is_missing(value):
            return self.missing
        if isinstance(value, str) and self.words:
            value = _normalised(value) if self.normalise_text else value
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

    def __init__(self, entries: dict[str, Any], rows: list[array[float]]) -> None:
        self.name: str = entries["name"]
        self.categories: list[Any] = entries["categories"]
        self.rows: dict[Any, array[float]] = dict(zip(self.categories, rows))
        self.missing: array[float] = rows[entries["missing"]]
        self.unseen: array[float] = rows[entries["unseen"]]
        self.normalise_text = False

    def row(self, value: Any) -> Iterable[float]:
        """The row of the factor for a category."""
        if _is_missing(value):
            return self.missing
        if self.categories and isinstance(value, str) != isinstance(self.categories[0], str):
            raise ValueError(
                f"column {self.name!r} holds {value!r}, but its categories are like {self.categories[0]!r}."
            )
        return self.rows.get(_normalised(value) if self.normalise_text else value, self.unseen)

    def parse(self, text: str) -> Any:
        """A cell of a file."""
        if not self.categories or isinstance(self.categories[0], str):
            return text
        if isinstance(self.categories[0], bool) and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _parsed_number(text, self.name)


class Model:
    """A tensor over the levels of the predictors and, with posterior draws, the distribution of new observations.

    document : as csid exports it to JSON, but with the number of rows of each factor in place of the rows.
    rows : those of all predictors, as doubles. Both are compressed, in base 64.
    noise : of new observations; None without posterior draws.
    """

    def __init__(self, document: str, rows: str, noise: UnitNoise | None = None) -> None:
        entries = json.loads(_unpacked(document))
        numbers = array("d", _unpacked(rows))
        if sys.byteorder == "big":
            numbers.byteswap()
        self.predictors: list[Number | Category] = []
        R, start = len(entries["V"][0]), 0
        for one in entries["predictors"]:
            end = start + R * one["rows"]
            factor = [numbers[at : at + R] for at in range(start, end, R)]
            self.predictors.append(Number(one, factor) if one["kind"] == "number" else Category(one, factor))
            self.predictors[-1].normalise_text = entries["normalise_text"]
            start = end
        self.V = [array("d", row) for row in entries["V"]]
        self.bias: list[float] = entries["bias"]
        self.posterior: dict[str, Any] | None = entries["posterior"]
        self.noise = noise
        self.targets: list[str] = entries["targets"] or [str(j) for j in range(len(self.bias))]
        self.missing = set(entries["missing"])

    def parse(self, predictor: Number | Category, text: str | None) -> Any:
        """A cell of a file. A word for missing cells becomes None, unless it is a category."""
        known = isinstance(predictor, Category) and text in predictor.rows
        return None if text is None or (text in self.missing and not known) else predictor.parse(text)

    def parse_row(self, cells: Mapping[str, str | None]) -> dict[str, Any]:
        """The cells of a line of a file."""
        return {each.name: self.parse(each, cells.get(each.name)) for each in self.predictors}

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The prediction for a row: a number, or a list of numbers for several outputs."""
        return _one_or_all(self.values(row))

    def predict_many(self, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
        """The prediction for each row."""
        return [self.predict(row) for row in rows]

    def predict_interval(self, row: Mapping[str, Any], coverage: float = 0.9) -> tuple[Any, Any]:
        """Bounds of the predictive interval with this coverage, each shaped like the prediction."""
        if self.posterior is None or self.noise is None:
            raise ValueError(
                "this model has no posterior draws, so it has no intervals: export a BayesianCSIDRegressor."
            )
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
        draws = self.values_of_draws(row)
        bounds = [
            self._bounds(self.posterior, self.noise, [values[output] for values in draws], output, mean, coverage)
            for output, mean in enumerate(self.values(row))
        ]
        return _one_or_all([lower for lower, _ in bounds]), _one_or_all([upper for _, upper in bounds])

    def values(self, row: Mapping[str, Any]) -> list[float]:
        """The value of each output at a row."""
        return self._values(self._components(row))

    def values_of_draws(self, row: Mapping[str, Any]) -> list[list[float]]:
        """The values of the outputs at a row in each posterior draw; without draws, those of the model."""
        components = self._components(row)
        return [self._values(components)] if self.posterior is None else self._of_draws(self.posterior, components)

    def _components(self, row: Mapping[str, Any]) -> list[float]:
        """The components at a row: the product, over predictors, of the rows of their factors."""
        product = [1.0] * len(self.V[0])
        for predictor in self.predictors:
            product = list(map(mul, product, predictor.row(row.get(predictor.name))))
        return product

    def _values(self, components: list[float]) -> list[float]:
        return [b + sum(map(mul, v, components)) for b, v in zip(self.bias, self.V)]

    def _of_draws(self, posterior: dict[str, Any], components: list[float]) -> list[list[float]]:
        terms = [list(map(mul, v, components)) for v in self.V]
        found, start = [], 0
        for rank, weight, bias in zip(posterior["ranks"], posterior["weights"], posterior["bias"]):
            found.append([b + sum(term[start : start + rank]) / weight for b, term in zip(bias, terms)])
            start += rank
        return found

    def _bounds(
        self,
        posterior: dict[str, Any],
        noise: UnitNoise,
        draws: list[float],
        output: int,
        mean: float,
        coverage: float,
    ) -> tuple[float, float]:
        """Quantiles of one output: those of the draws' deviations from the mean, times the calibration factor."""
        scales = [scale[output] for scale in posterior["noise"]]
        deviations = [value - mean for value in draws]
        factor = math.exp(_interpolated(mean, posterior["knots"][output], posterior["log_factors"][output]))
        lower, upper = (
            mean + factor * _quantile(q, deviations, scales, posterior["weights"], noise)
            for q in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        )
        return lower, upper

    def header(self, coverage: float | None) -> list[str]:
        """Names of the columns of a file of predictions, with intervals of a coverage or without."""
        names = ["prediction"] if coverage is None else ["prediction", "lower", "upper"]
        return names if len(self.bias) == 1 else [f"{name}_{target}" for name in names for target in self.targets]

    def record(self, row: Mapping[str, Any], coverage: float | None) -> list[str]:
        """The cells of a row in a file of predictions."""
        found = [self.predict(row), *(() if coverage is None else self.predict_interval(row, coverage))]
        return [repr(value) for one in found for value in (one if len(self.bias) > 1 else [one])]


def _quantile(q: float, centres: list[float], scales: list[float], weights: list[float], noise: UnitNoise) -> float:
    """Where the distribution function of a mixture reaches q, by Newton's method inside a shrinking bracket.

    A step that does not halve the excess is followed by a bisection.
    """
    at_q = [centre + noise.ppf(q) * scale for centre, scale in zip(centres, scales)]
    low, high = min(at_q), max(at_q)
    x: float = sum(map(mul, weights, at_q))
    last = math.inf
    for _ in range(_STEPS):
        z = [(x - centre) / scale for centre, scale in zip(centres, scales)]
        excess = sum(weight * noise.cdf(each) for weight, each in zip(weights, z)) - q
        if abs(excess) < _CLOSE:
            break
        low, high = (x, high) if excess < 0.0 else (low, x)
        density = sum(weight * noise.pdf(each) / scale for weight, each, scale in zip(weights, z, scales))
        x -= excess / max(density, 1e-300)
        halved = abs(excess) <= 0.5 * last
        if not (halved and low <= x <= high):
            x = 0.5 * (low + high)
        last = abs(excess) if halved else math.inf
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
    """Rounded to single precision, like positions between levels."""
    return float(struct.unpack("f", struct.pack("f", t))[0])


def _normalised(value: Any) -> Any:
    """A text in lower case, with single blanks and none at the ends."""
    return " ".join(value.split()).lower() if isinstance(value, str) else value


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _days(value: Any, column: str) -> float:
    """Days since 1970, in UTC, of a date or a text such as 2026-01-31 or 2026-01-31 12:00:00."""
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except ValueError:
        raise ValueError(f"column {column!r} holds {value!r} where a date is expected, such as 2026-01-31.") from None
    in_utc = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta(0))
    return (in_utc - datetime(1970, 1, 1)).total_seconds() / 86400.0


def _parsed_number(text: str, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"column {column!r} holds {text!r} where a number is expected.") from None


def _one_or_all(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else values


class Predictor(Protocol):
    """A model that can predict the rows of a file."""

    predictors: list[Number | Category]

    def parse_row(self, cells: Mapping[str, str | None]) -> dict[str, Any]: ...

    def header(self, coverage: float | None) -> list[str]: ...

    def record(self, row: Mapping[str, Any], coverage: float | None) -> list[str]: ...


def main(model: Predictor) -> None:
    """Predict the rows of a file."""
    command = argparse.ArgumentParser(description="Predictions for the rows of a CSV file, as CSV.")
    command.add_argument("data", help="a file whose first line names the columns; - for standard input")
    command.add_argument(
        "--interval", type=float, metavar="COVERAGE", help="also write bounds with this coverage, such as 0.9"
    )
    given = command.parse_args()
    try:
        if given.data == "-":
            _predict_file(model, sys.stdin, given.interval)
        else:
            with Path(given.data).open(newline="", encoding="utf-8-sig") as file:
                _predict_file(model, file, given.interval)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the predictions has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _predict_file(model: Predictor, file: Iterable[str], coverage: float | None) -> None:
    table = csv.DictReader(file)
    absent = [predictor.name for predictor in model.predictors if predictor.name not in (table.fieldnames or [])]
    if absent:
        sys.stderr.write(f"no column {', '.join(map(repr, absent))}: taken as missing in every row\n")
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(model.header(coverage))
    for number, cells in enumerate(table, start=1):
        try:
            record = model.record(model.parse_row(cells), coverage)
        except ValueError as error:
            raise SystemExit(f"row {number}: {error}") from None
        write(record)
