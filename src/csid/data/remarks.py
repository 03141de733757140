"""What deserves a remark about the rows of a fit, although they can be fitted: leaks, identifiers, constant columns."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_table, check_targets, number_of_rows, target_names
from csid.data.labels import ClassCounts
from csid.data.targets import ClassTargets
from csid.encoding.columns import Column, is_table, read_columns
from csid.encoding.text import normalised

Array = NDArray[np.float64]

_FEWEST_ROWS = 20
"""Below this number of rows, a column may have different values in all rows, or equal ones, by chance."""
_FEW_CLASSES = 20
"""Whole numbers with at most this many different values may be labels of classes."""
_FEWEST_ROWS_PER_CLASS = 5
_MOST_SHOWN = 5
_CLASSIFY = "BayesianCSIDClassifier (on the command line --task classification)"
_REPEATS = 1.0 - 1e-9
"""The squared correlation from which on a predictor repeats a target."""
_NAME_OF_AN_IDENTIFIER = re.compile(r"(^|[^a-z])(id|uuid|guid|index|key|nr|no|number)$", re.IGNORECASE)


def remarks(X: Any, y: Any) -> list[str]:
    """What deserves a remark about a table and its targets before a fit: a sentence each.

    Constant columns, columns that identify the rows, predictors that repeat a target, texts that differ only in case or
    blanks, numeric targets that are constant or may be labels of classes, classes of a single row, and fewer rows than
    predictors. `fit` accepts all of these in silence, as scikit-learn expects; the command line shows the remarks.

    Parameters
    ----------
    X : data frame or array, (M, N)
    y : array-like, (M,) or (M, K)
        Numbers; or texts, booleans or categories (M,), which are labels of classes.

    Examples
    --------
    >>> import pandas as pd
    >>> import csid
    >>> X = pd.DataFrame({"id": range(40), "country": ["DE"] * 40, "rent": [i % 7 for i in range(40)]})
    >>> for each in csid.remarks(X, X["rent"] * 1.19):
    ...     print(each)
    column 'id' numbers the rows: leave it out, unless it stands for time.
    column 'country' has the same value in all rows, 'DE', and predicts nothing.
    column 'rent' repeats the target 'rent' (correlation 1): leave it out, if it is not known for new rows.
    """
    X = check_table(X, "csid.remarks", min_rows=1)
    n_rows = number_of_rows(X)
    if has_labels(y):
        classes = ClassTargets.of(ClassCounts.of(y))
        labels = classes.labels[classes.read(y, n_rows).astype(np.intp)]
        return remarks_on_classes(X, labels, *target_names(y) or ("y",))
    targets = check_targets(y, n_rows).reshape(n_rows, -1)
    default = ("y",) if targets.shape[1] == 1 else tuple(f"y{j + 1}" for j in range(targets.shape[1]))
    return remarks_on(X, targets, target_names(y) or default)


def remarks_on(X: Any, targets: Array, outputs: Sequence[str]) -> list[str]:
    """Remarks about a checked table, and targets (M, K) of these names."""
    names = dict(enumerate(outputs))
    found = [remark for j, name in names.items() for remark in _on_target(name, targets[:, j])]

    def on_repeats(column: Column) -> list[str]:
        if not column.is_numeric:
            return []
        repeated = [name for j, name in names.items() if _repeats(column.numbers(), targets[:, j])]
        return [_repeated(column, name, "correlation 1") for name in repeated]

    return found + _on_predictors(X, len(targets), on_repeats)


def remarks_on_classes(X: Any, labels: NDArray[Any], target: str) -> list[str]:
    """Remarks about a checked table, and the labels (M,) of the classes of a target of this name."""
    counts, codes = Counter(labels.tolist()), np.unique(labels, return_inverse=True)[1]
    single = [label for label, count in counts.items() if count == 1]
    found = [_single(target, single)] if single else []

    def on_repeats(column: Column) -> list[str]:
        tells = _tells(column, codes, len(counts))
        return [_repeated(column, target, "its values tell the class")] if tells else []

    return [*found, *_on_spellings(f"the target {target!r}", counts), *_on_predictors(X, len(labels), on_repeats)]


def has_labels(y: Any) -> bool:
    """Whether targets are texts, booleans or a category: labels of classes."""
    if hasattr(y, "cat") and hasattr(y.dtype, "categories"):
        return True
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.dtype.kind in "USb":
        return True
    return values.dtype.kind == "O" and all(isinstance(each, str | bool | None) for each in values.ravel().tolist())


def _on_predictors(X: Any, n_rows: int, on_repeats: Callable[[Column], list[str]]) -> list[str]:
    """Remarks about each predictor and about their number. on_repeats : those on a predictor that repeats a target."""
    labels, found = _labels(X), []
    for label, column in zip(labels, read_columns(X), strict=True):
        found += [*_on_column(label, column, n_rows), *on_repeats(column)]
    if n_rows <= len(labels):
        counts = f"{n_rows:,} rows and {len(labels):,} predictors"
        found.append(f"There are {counts}: with so few rows, little can be learned.")
    return found


def _repeated(column: Column, target: str, why: str) -> str:
    return f"{column.label} repeats the target {target!r} ({why}): leave it out, if it is not known for new rows."


def _single(target: str, labels: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, labels[:_MOST_SHOWN])) + (", …" if len(labels) > _MOST_SHOWN else "")
    classes = "a class" if len(labels) == 1 else f"{len(labels):,} classes"
    return (
        f"the target {target!r} has {classes} of a single row ({shown}), too few to learn from: merge them with "
        "others, or leave such rows out."
    )


def _labels(X: Any) -> list[str]:
    """Names of the columns, empty if there are none."""
    if not is_table(X):
        return [""] * X.shape[1]
    return list(map(str, X.column_names if hasattr(X, "column_names") else X.columns))


def _on_target(name: str, y: Array) -> Iterator[str]:
    values = np.unique(y)
    if len(values) == 1:
        yield f"the target {name!r} has the same value in all rows, {values[0]:.6g}, and so has every prediction."
    elif len(values) == 2:
        low, high = values
        yield (
            f"the target {name!r} has two values, {low:.6g} and {high:.6g}. It is fitted as a number: a prediction is "
            "the mean of both, weighted by their estimated probabilities, and can be slightly outside their range. For "
            f"calibrated probabilities, use {_CLASSIFY}."
        )
    elif len(values) <= min(_FEW_CLASSES, len(y) // _FEWEST_ROWS_PER_CLASS) and (values == np.rint(values)).all():
        yield (
            f"the target {name!r} has {len(values)} different whole numbers, and is fitted as a number. If they are "
            f"labels of classes, use {_CLASSIFY}."
        )


def _on_column(name: str, column: Column, n_rows: int) -> Iterator[str]:
    data = column.data
    if isinstance(data, np.ndarray):
        known = data[~np.isnan(data)]
        if len(known) and known.min() == known.max():
            yield _constant(column, f"{known[0]:.6g}", len(known), n_rows)
        elif _are_identifiers(name, known):
            yield f"{column.label} numbers the rows: leave it out, unless it stands for time."
        return
    counts = Counter(value for value in data if value is not None)
    if len(counts) == 1:
        yield _constant(column, repr(next(iter(counts))), counts.total(), n_rows)
    elif len(counts) >= _FEWEST_ROWS and len(counts) > 0.9 * counts.total():
        yield (
            f"{column.label} has {len(counts):,} different values in {counts.total():,} rows, too few rows per value "
            "to learn from: leave it out."
        )
    else:
        yield from _on_spellings(column.label, counts)


def _constant(column: Column, value: str, known: int, n_rows: int) -> str:
    rows = "all rows" if known == n_rows else f"all {known:,} rows that have one"
    return f"{column.label} has the same value in {rows}, {value}, and predicts nothing."


def _are_identifiers(name: str, known: Array) -> bool:
    """Whether numbers are whole and all different, and consecutive or by their name a number of the row."""
    if len(known) < _FEWEST_ROWS or not (known == np.rint(known)).all() or len(np.unique(known)) < len(known):
        return False
    return bool(np.ptp(known) == len(known) - 1) or _NAME_OF_AN_IDENTIFIER.search(name) is not None


def _on_spellings(label: str, counts: "Counter[Any]") -> Iterator[str]:
    forms = defaultdict(list)
    for value, count in counts.most_common():
        if isinstance(value, str):
            forms[normalised(value)].append(f"{value!r} ({count:,})")
    several = [same for same in forms.values() if len(same) > 1]
    if several:
        more = f", and {len(several) - 1:,} more such groups" if len(several) > 1 else ""
        yield (
            f"{label}: {', '.join(several[0])} differ only in case or blanks{more}. Merge them; on the command "
            "line, --normalise-text does."
        )


def _tells(column: Column, codes: NDArray[np.intp], n_classes: int) -> bool:
    """Whether each class has one value of a predictor, and each value one class, wherever it is known."""
    if isinstance(column.data, np.ndarray):
        known = np.flatnonzero(~np.isnan(column.data))
        values = np.unique(column.data[known], return_inverse=True)[1]
    else:
        known = np.flatnonzero([value is not None for value in column.data])
        values = np.unique([str(column.data[row]) for row in known.tolist()], return_inverse=True)[1]
    if len(known) < _FEWEST_ROWS or n_classes < 2 or values.max() + 1 != n_classes:
        return False
    return len(np.unique(values * n_classes + codes[known])) == n_classes


def _repeats(x: Array, y: Array) -> bool:
    """Whether a predictor is a linear function of a target, wherever it is known."""
    known = ~np.isnan(x)
    if known.sum() < _FEWEST_ROWS:
        return False
    pair = [values[known] / max(float(np.abs(values[known]).max()), 1e-300) for values in (x, y)]
    a, b = (values - values.mean() for values in pair)
    square = float(a @ a) * float(b @ b)
    return square > 0.0 and float(a @ b) ** 2 >= _REPEATS * square
