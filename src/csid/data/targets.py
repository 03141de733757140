"""What a user gives as y, as the numbers (M, T) that a likelihood reads: numbers as they are, classes by index."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from csid.data.checks import check_targets, without_mask

Array = NDArray[np.float64]

_MOST_SHOWN = 5
_MOST_CLASSES = 1000


class TargetReader(Protocol):
    """Checks the targets of some rows and turns them into numbers."""

    @property
    def standardised(self) -> bool:
        """Whether a fit subtracts the mean of the targets and divides by their standard deviation."""

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        """Targets (M,) or (M, T). names : of X and y in error messages."""


class NumericTargets:
    """Numbers, of one output or several."""

    standardised = True

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        return check_targets(y, n_rows, names)


@dataclass(frozen=True)
class ClassTargets:
    """Classes, read as their index among the known labels.

    labels : (C,) in ascending order, or in their own order if it is known.
    counts : (C,) training rows of each class, or the sums of their weights.
    ordered : whether the order of the labels is known.
    """

    labels: NDArray[Any]
    counts: Array
    ordered: bool = False

    standardised = False

    @property
    def frequencies(self) -> tuple[float, ...]:
        return tuple((self.counts / self.counts.sum()).tolist())

    @classmethod
    def of(cls, parts: Iterable[Any], order: Sequence[Any] | None = None) -> "ClassTargets":
        """The classes of the targets y of all training rows, given part by part. order : of the labels, if known."""
        found: dict[Any, int] = {}
        declared = order
        for y in parts:
            if declared is None:
                declared = _declared_order(y)
            values, counts = _distinct(_values(y, "y"))
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                found[value] = found.get(value, 0) + count
        _check_one_type(found)
        labels = sorted(found)
        if len(labels) < 2:
            only = f"one class, {labels[0]!r}" if labels else "no rows"
            raise ValueError(f"y has {only}: a classifier needs rows of at least two classes.")
        if len(labels) > _MOST_CLASSES:
            raise ValueError(
                f"y has {len(labels):,} different values, but at most {_MOST_CLASSES:,} classes are supported: Unknown "
                "label type: continuous. Use a regressor for a numeric target."
            )
        if declared is not None:
            labels = _in_order(labels, list(declared))
        kept = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
        return cls(kept, np.array([found[label] for label in labels], np.float64), declared is not None)

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        """The index of each row's class (M,)."""
        values = _values(y, names[1])
        if len(values) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {names[0]} {n_rows}, {names[1]} "
                f"{len(values)}. Give one class for each row of {names[0]}."
            )
        different, places = np.unique(values, return_inverse=True)
        known = {label: index for index, label in enumerate(self.labels.tolist())}
        indices = np.array([known.get(label, -1) for label in different.tolist()], np.float64)[places]
        unknown = indices < 0.0
        if unknown.any():
            row = int(np.argmax(unknown))
            shown = ", ".join(map(repr, self.labels[:_MOST_SHOWN].tolist()))
            more = f" and {len(self.labels) - _MOST_SHOWN} more" if len(self.labels) > _MOST_SHOWN else ""
            raise ValueError(
                f"{names[1]} holds {values[row]!r} in row {row + 1:,}, which no training row had: the classes are "
                f"{shown}{more}. Leave such rows out, or fit anew with them."
            )
        return indices


def _values(y: Any, name: str) -> NDArray[Any]:
    """Labels (M,): numbers, booleans, or texts as objects. None is missing."""
    y = without_mask(y)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if not hasattr(y, "ndim") and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    values = np.asarray(y, dtype=object) if hasattr(y, "cat") else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    if values.ndim != 1:
        raise ValueError(
            f"{name} has shape {values.shape}: multilabel-indicator and multiclass-multioutput targets are not "
            "supported. Give one class for each row, of shape (rows,), and fit a classifier for each output."
        )
    if values.dtype.kind in "US":
        values = values.astype(object)
    if values.dtype.kind not in "biufO":
        raise ValueError(
            f"{name} has type {values.dtype}: Unknown label type: {values.dtype}. Give texts, whole numbers or "
            "booleans."
        )
    missing = np.array([each is None or each != each for each in values.tolist()], bool)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"Input {name} contains NaN, first in row {row + 1:,} ({int(missing.sum())} such rows in total): drop the "
            "rows whose class is unknown."
        )
    if values.dtype.kind == "f":
        _check_whole(values, name)
    return values


def _check_whole(values: NDArray[Any], name: str) -> None:
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


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        return np.unique(values, return_counts=True)
    except TypeError:
        _check_one_type(values.tolist())
        raise


def _check_one_type(values: Iterable[Any]) -> None:
    """Labels must be comparable: all texts, or all numbers."""
    first: dict[str, Any] = {}
    for value in values:
        kind = "text" if isinstance(value, str) else "number" if isinstance(value, bool | int | float) else "other"
        first.setdefault(kind, value)
    if len(first) > 1:
        (one, a), (other, b) = list(first.items())[:2]
        raise ValueError(
            f"y mixes labels of different types, such as the {one} {a!r} and the {other} {b!r}: convert all labels to "
            "texts."
        )
    if "other" in first:
        raise ValueError(
            f"y holds {first['other']!r}: Unknown label type: {type(first['other']).__name__}. Give texts, whole "
            "numbers or booleans."
        )


def _declared_order(y: Any) -> list[Any] | None:
    """The order of an ordered category (pandas, a polars Enum, an ordered Arrow dictionary); None if there is none."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    if series.dtype == nw.Enum or (hasattr(y, "cat") and bool(getattr(y.cat, "ordered", False))):
        return list(series.cat.get_categories().to_list())
    return None


def _in_order(labels: Sequence[Any], order: Sequence[Any]) -> list[Any]:
    """The labels in a given order, which may have labels without rows."""
    if len(set(order)) < len(order):
        raise ValueError(f"class_order={list(order)!r} names a class twice.")
    absent = [label for label in labels if label not in order]
    if absent:
        raise ValueError(f"class_order={list(order)!r} does not have {absent[0]!r}, which is a class of y: add it.")
    return [label for label in order if label in set(labels)]
