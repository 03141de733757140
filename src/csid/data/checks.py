"""Check what a user passes to an estimator: tables, targets, weights, categories, smoothness.

Errors name the column, row or parameter, what was found, and what to do.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, column_or_1d

from csid.encoding.columns import is_table, read_columns

Array = NDArray[np.float64]

_CLASSES = "Convert texts to numbers; to predict classes, use BayesianCSIDClassifier or CSIDClassifier."
_LARGEST_TARGET = 1e290  # sums over rows must be finite
_LARGEST_DEVIATION = 1e140  # variances are squares, and those of components may cancel


def check_table(X: Any, estimator: Any, min_rows: int) -> Any:
    """X as a data frame of its library, or as a two-dimensional array. Masked cells are missing."""
    X = without_mask(X)
    if not is_table(X):
        if hasattr(X, "collect"):
            raise TypeError(f"X is lazy ({type(X).__name__}): call X.collect() first.")
        array = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=min_rows, estimator=estimator, input_name="X"
        )
        # NumPy converts the numbers in a list to text if any cell is text
        return np.array(X, dtype=object) if array.dtype.kind in "US" and not hasattr(X, "dtype") else array
    rows, columns = X.shape
    if columns == 0:
        raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required.")
    if rows < min_rows:
        name = type(estimator).__name__
        raise ValueError(f"Found {rows} sample(s) in X while a minimum of {min_rows} is required by {name}.")
    return X


def check_cells(X: Any, categorical: Sequence[bool | None]) -> None:
    """Check the cells of a checked table. An error names the first that is neither a number nor a category."""
    for column, flag in zip(read_columns(X), categorical, strict=True):
        if column.is_ordered or flag is False:
            column.numbers(column.order)
        else:
            column.values()


def check_both_given(X_val: Any, y_val: Any) -> None:
    """Validation rows and their targets must both be given, or neither."""
    if (X_val is None) != (y_val is None):
        given, absent = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise ValueError(f"{given} is given without {absent}: give both, or neither.")


def check_targets(y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
    """y as (M,) or (M, K) floats: finite, with the rows of X. names : of X and y in error messages."""
    table, name = names
    y = without_mask(y)
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    if not hasattr(y, "ndim") and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    targets = check_array(y, dtype=None, ensure_2d=False, ensure_all_finite=False, input_name=name, allow_nd=True)
    if targets.dtype.names:
        raise ValueError(
            f"{name} has the fields {', '.join(map(repr, targets.dtype.names))}, but must be numbers here. Bounds from "
            "csid.censored are for fit and score with likelihood='censored_gaussian', events and times for "
            "BayesianCSIDSurvival."
        )
    if targets.dtype.kind not in "fiubO":
        raise ValueError(
            f"{name} has type {targets.dtype}, but regression needs numbers: Unknown label type. {_CLASSES}"
        )
    _check_no_texts(targets, name)
    targets = _as_numbers(targets, name)
    if targets.ndim > 2:
        raise ValueError(f"{name} has {targets.ndim} dimensions: give an array of shape (rows,) or (rows, outputs).")
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = column_or_1d(targets, warn=True)
    if len(targets) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {table} {n_rows}, {name} {len(targets)}. "
            f"Give one target, or one row of outputs, for each row of {table}."
        )
    bad = ~np.isfinite(targets).reshape(n_rows, -1).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        what = "NaN" if np.isnan(targets[row]).any() else "infinity or a value too large for dtype('float64')"
        raise ValueError(
            f"Input {name} contains {what}, first in row {row + 1:,} ({int(bad.sum())} such rows in total): "
            "drop the rows whose target is unknown."
        )
    large = np.abs(targets).reshape(n_rows, -1).max(axis=1, initial=0.0) > _LARGEST_TARGET
    if large.any():
        row = int(np.argmax(large))
        raise ValueError(
            f"{name} holds {targets[row]} in row {row + 1:,}, but targets must be within ±{_LARGEST_TARGET:g}: divide "
            f"{name} by a power of ten."
        )
    return np.asarray(targets)


def _check_no_texts(targets: NDArray[Any], name: str) -> None:
    """Objects may be numbers, but not texts, even if these spell numbers."""
    texts = [isinstance(value, str) for value in targets.ravel().tolist()] if targets.dtype.kind == "O" else []
    if any(texts):
        at = int(np.argmax(texts))
        raise ValueError(
            f"{name} holds the text {targets.ravel()[at]!r} in row {at // (targets.size // len(targets)) + 1:,}, but "
            f"regression needs numbers: Unknown label type. {_CLASSES}"
        )


def target_names(y: Any) -> tuple[str, ...]:
    """The name of a series, or the names of the columns of a data frame, if they are different texts; else none."""
    if hasattr(y, "column_names"):
        names = list(y.column_names)
    else:
        names = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    given = all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    return tuple(names) if given else ()


def check_variances(centre: Array, scale: Array) -> None:
    """Check that variances of targets with this mean and standard deviation (K,) are floats."""
    largest, least = float(np.maximum(np.abs(centre), scale).max()), float(scale.min())
    if largest > _LARGEST_DEVIATION:
        raise ValueError(
            f"y has a mean or standard deviation of {largest:g}, but must have at most {_LARGEST_DEVIATION:g}, because "
            "larger variances are beyond the range of floats: divide y by a power of ten."
        )
    if least < 1.0 / _LARGEST_DEVIATION:
        raise ValueError(
            f"y has a standard deviation of {least:g}, but must have at least {1.0 / _LARGEST_DEVIATION:g}, because "
            "smaller variances are beyond the range of floats: multiply y by a power of ten."
        )


def check_standardised(targets: Array) -> None:
    """Check that the squares of standardised targets (M, K) are floats, also if an earlier fit chose the units."""
    farthest = float(np.abs(targets).max(initial=0.0))
    if not farthest <= _LARGEST_DEVIATION:
        raise ValueError(
            f"a target is {farthest:g} standard deviations of the earlier targets away from their mean: give targets "
            "in the same units, or fit anew with warm_start=False."
        )


def check_weights(sample_weight: Any, n_rows: int, fewest: int = 2) -> Array:
    """Weights as (M,) floats: not negative, and positive in at least `fewest` rows."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _as_numbers(without_mask(sample_weight), "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions.")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight per row of X.")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight holds {weights[row]} in row {row + 1:,}: Negative values in data passed to "
            "`sample_weight`, NaN and infinity are not allowed. Give a row weight zero to leave it out."
        )
    if np.count_nonzero(weights) < fewest:
        raise ValueError(
            f"sample_weight is positive for {np.count_nonzero(weights)} sample(s): a fit needs at least {fewest} "
            f"row{'s' if fewest > 1 else ''} with a weight above zero."
        )
    return weights


def without_mask(values: Any) -> Any:
    """A masked array with its masked values as NaN, or as None among texts and objects. Others as they are."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "fiu":
        return np.where(np.ma.getmaskarray(values), np.float32(np.nan), values.data)
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def number_of_rows(X: Any) -> int:
    """The number of rows of a checked table."""
    return int(_num_samples(X))


def categorical_flags(categorical_features: Any, names: Sequence[str]) -> list[bool | None]:
    """For each predictor True or False, or None to decide by its type (`"from_dtype"`)."""
    N = len(names)
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return [None] * N
    if categorical_features is None:
        return [False] * N
    wanted = list(categorical_features)
    if wanted and all(isinstance(item, bool | np.bool_) for item in wanted):
        if len(wanted) != N:
            raise ValueError(
                f"categorical_features is a mask of {len(wanted)} entries, but X has {N} columns: give one per column."
            )
        return [True if item else None for item in wanted]
    flags: list[bool | None] = [None] * N
    for item in wanted:
        if isinstance(item, str):
            if item not in names:
                raise ValueError(f"categorical_features names {item!r}, but X has the columns {_shortened(names)}.")
            flags[list(names).index(item)] = True
        elif isinstance(item, int | np.integer) and -N <= item < N:
            flags[int(item)] = True
        else:
            raise ValueError(f"categorical_features holds {item!r}: give column names, or positions from 0 to {N - 1}.")
    return flags


def flags_with_kinds(flags: Sequence[bool | None], kinds: Mapping[str, str], names: Sequence[str]) -> list[bool | None]:
    """Flags of `categorical_flags`, with the kinds ("number" or "category") that `whole_numbers` gives by name."""
    found = list(flags)
    for name, kind in kinds.items():
        if name not in names:
            raise ValueError(f"whole_numbers names {name!r}, but X has the columns {_shortened(names)}.")
        if kind not in ("number", "category"):
            raise ValueError(f"whole_numbers is {kind!r} for {name!r}: give 'number' or 'category'.")
        n = list(names).index(name)
        if flags[n] is not None and flags[n] != (kind == "category"):
            declared = "a category" if flags[n] else "a number"
            raise ValueError(
                f"whole_numbers is {kind!r} for {name!r}, but categorical_features makes it {declared}: give it once."
            )
        found[n] = kind == "category"
    return found


def smoothness_per_mode(smoothness: Any, names: Sequence[str]) -> tuple[float, ...]:
    """mu_n of every predictor, from a number, a sequence, or a mapping from names."""
    N = len(names)
    if isinstance(smoothness, dict):
        unknown = [name for name in smoothness if name not in names]
        if unknown:
            raise ValueError(f"smoothness names {unknown[0]!r}, but X has the columns {_shortened(names)}.")
        absent = [name for name in names if name not in smoothness]
        if absent:
            raise ValueError(f"smoothness has no entry for {absent[0]!r}: give one per column, or a single number.")
        smoothness = [smoothness[name] for name in names]
    values = _as_numbers(smoothness, "smoothness")
    if values.ndim == 0:
        values = np.full(N, float(values))
    if values.shape != (N,):
        raise ValueError(
            f"smoothness has shape {values.shape}, but X has {N} columns: give one number per column, or one."
        )
    if not (np.isfinite(values) & (values >= 0)).all():
        n = int(np.argmin(np.isfinite(values) & (values >= 0)))
        raise ValueError(f"smoothness is {values[n]} for {names[n]!r}: it must be zero or more.")
    return tuple(values.tolist())


def _as_numbers(values: Any, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only: {error}.") from None


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
