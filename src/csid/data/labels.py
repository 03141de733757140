"""Check the labels of a classifier, and count them: texts, whole numbers or booleans, one for each row.

Errors name the row, the value and the remedy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from csid.data.checks import without_mask

Array = NDArray[np.float64]
Labels = NDArray[Any]

MOST_CLASSES = 1000

_REMEDY = "Give texts, whole numbers or booleans."


def check_labels(y: Any, name: str = "y") -> Labels:
    """Labels (M,): whole numbers, booleans, or texts as objects."""
    y = without_mask(y)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    values = _as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    if values.ndim != 1:
        raise ValueError(
            f"{name} has shape {values.shape}: multilabel-indicator and multiclass-multioutput targets are not "
            "supported. Give one class for each row, of shape (rows,), and fit a classifier for each output."
        )
    if values.dtype.kind in "SU":
        values = values.astype(object)
    if values.dtype.kind not in "biufO":
        raise ValueError(f"{name} has type {values.dtype}: Unknown label type: {values.dtype}. {_REMEDY}")
    _check_none_missing(values, name)
    if values.dtype.kind == "O":
        values = _of_one_kind(values, name)
    if values.dtype.kind == "f":
        _check_whole(values, name)
    return values


def declared_order(y: Any) -> list[Any] | None:
    """The order of an ordered category (pandas, a polars Enum, an ordered Arrow dictionary); None if there is none."""
    if isinstance(y, pa.Array | pa.ChunkedArray):
        if not pa.types.is_dictionary(y.type) or not y.type.ordered:
            return None
        chunks = _chunked(y).unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist()) if chunks else None
    of_pandas = getattr(y, "cat", y)
    if getattr(of_pandas, "ordered", False):
        return list(of_pandas.categories.tolist())
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    return None


@dataclass(frozen=True)
class ClassCounts:
    """The labels of some rows.

    totals : the number of rows with each label, or the sum of their weights.
    order : of the labels, if they are an ordered category; else None.
    """

    totals: dict[Any, float] = field(default_factory=dict)
    order: list[Any] | None = None

    @classmethod
    def of(cls, y: Any, weights: Array | None = None) -> "ClassCounts":
        """The labels of rows with these weights (M,); None for ones."""
        order, values = declared_order(y), check_labels(y)
        if weights is not None:
            check_one_for_each_row(len(values), len(weights))
        different, places = np.unique(values, return_inverse=True)
        _check_number(len(different))
        sums = np.bincount(places, weights, len(different)).astype(np.float64)
        return cls(dict(zip(different.tolist(), sums.tolist(), strict=True)), order)

    @classmethod
    def merged(cls, parts: Iterable["ClassCounts"]) -> "ClassCounts":
        """The labels of all rows. Parts come one after another, and none of them is kept."""
        totals: dict[Any, float] = {}
        order: list[Any] | None = None
        for part in parts:
            for label, total in part.totals.items():
                totals[label] = totals.get(label, 0.0) + total
            order = part.order if order is None else order
            _check_number(len(totals))
        _check_one_kind(list(totals), "y")
        return cls(totals, order)


def check_one_for_each_row(labels: int, n_rows: int, names: tuple[str, str] = ("X", "y")) -> None:
    """Check the number of labels. names : of X and y in error messages."""
    if labels != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {names[0]} {n_rows}, {names[1]} {labels}. "
            f"Give one class for each row of {names[0]}."
        )


def in_order(labels: Sequence[Any], order: Sequence[Any]) -> list[Any]:
    """The labels in a given order, which may have labels without rows."""
    if len(set(order)) < len(order):
        raise ValueError(f"class_order={list(order)!r} names a class twice.")
    absent = [label for label in labels if label not in set(order)]
    if absent:
        raise ValueError(f"class_order={list(order)!r} does not have {absent[0]!r}, which is a class of y: add it.")
    return [label for label in order if label in set(labels)]


def as_array_of_labels(labels: Sequence[Any]) -> Labels:
    """Labels as `classes_` has them: texts as objects."""
    return np.array(labels, dtype=object if isinstance(labels[0], str) else None)


def _as_array(y: Any) -> Labels:
    """Labels as an array. NumPy would turn numbers, None and NaN among texts into texts: those are kept as objects."""
    if isinstance(y, pa.Array):
        y = _chunked(y)
    if not hasattr(y, "ndim") and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if hasattr(y, "cat") or isinstance(y, list | tuple):
        objects = np.asarray(y, dtype=object)
        return np.asarray(y) if _kinds(objects) <= {"number", "boolean"} else objects
    return np.asarray(y)


def _chunked(y: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([y]) if isinstance(y, pa.Array) else y


def _check_none_missing(values: Labels, name: str) -> None:
    if values.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in values.tolist()], bool)
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if missing.any():
        raise ValueError(
            f"Input {name} contains NaN, first in row {int(np.argmax(missing)) + 1:,} ({int(missing.sum())} such rows "
            "in total): drop the rows whose class is unknown."
        )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _of_one_kind(values: Labels, name: str) -> Labels:
    """Objects that are all texts, or all numbers; these as an array of numbers."""
    _check_one_kind(values.tolist(), name)
    return values if not len(values) or isinstance(values[0], str) else np.array(values.tolist())


def _check_one_kind(values: Sequence[Any], name: str) -> None:
    """Labels must be comparable: all texts, all numbers or all booleans."""
    first: dict[str, int] = {}
    kinds = {type(value): _kind(value) for value in values}
    if len(set(kinds.values())) <= 1 and "other" not in kinds.values():
        return
    for row, value in enumerate(values):
        first.setdefault(kinds[type(value)], row)
    if "other" in first:
        row = first["other"]
        raise ValueError(
            f"{name} holds {values[row]!r} in row {row + 1:,}: Unknown label type: {type(values[row]).__name__}. "
            f"{_REMEDY}"
        )
    (one, a), (other, b) = list(first.items())[:2]
    raise ValueError(
        f"{name} mixes labels of different types, such as the {one} {values[a]!r} in row {a + 1:,} and the {other} "
        f"{values[b]!r} in row {b + 1:,}: convert all labels to texts."
    )


def _kinds(objects: Labels) -> set[str]:
    return {_kind(value) for value in objects.ravel().tolist()}


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    return "number" if isinstance(value, int | float | np.integer | np.floating) else "other"


def _check_whole(values: Array, name: str) -> None:
    infinite = ~np.isfinite(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise ValueError(f"Input {name} contains infinity in row {row + 1:,}: drop the rows whose class is unknown.")
    fractions = values != np.rint(values)
    if fractions.any():
        row = int(np.argmax(fractions))
        raise ValueError(
            f"{name} holds {values[row]} in row {row + 1:,}: Unknown label type: continuous. Classes are texts, whole "
            "numbers or booleans; for a numeric target use a regressor."
        )


def _check_number(classes: int) -> None:
    if classes > MOST_CLASSES:
        raise ValueError(
            f"y has {classes:,} different values, but at most {MOST_CLASSES:,} classes are supported: Unknown label "
            "type: continuous. Use a regressor for a numeric target."
        )
