"""Targets of which some are only known to be in an interval: limits of detection, interval and right censoring.

A likelihood reads them as three finite columns, so that summaries, files and sums of rows need not know of infinity:

    value       the target; if it is not known, the middle of its interval, or its only bound
    half_width  half the width of the interval, 0 for a known target; negative if the interval is open on one side
    side        1 if it is open above, -1 if it is open below, else 0
"""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_targets, without_mask

Array = NDArray[np.float64]

WIDTH = 3
"""The number of columns."""

_FIELDS = ("lower", "upper")
_ROUNDING = 1e-12


def censored(lower: Any, upper: Any) -> NDArray[Any]:
    """Targets that are known exactly or only to be in an interval, for `likelihood="censored_gaussian"`.

    Parameters
    ----------
    lower, upper : array-like (M,) or number
        Bounds of each target: equal if it is known, -inf or inf if there is no bound on that side.

    Returns
    -------
    structured array (M,) with the fields "lower" and "upper", to pass as y

    Examples
    --------
    A sensor that reads at most 10:

    >>> import numpy as np
    >>> import csid
    >>> reading = np.array([3.0, 10.0, 7.5])
    >>> csid.censored(reading, np.where(reading < 10.0, reading, np.inf)).tolist()
    [(3.0, 3.0), (10.0, inf), (7.5, 7.5)]
    """
    low, high = (_numbers(bound, name) for bound, name in zip((lower, upper), _FIELDS, strict=True))
    low, high = (each.copy() for each in np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high)))
    if low.ndim != 1:
        raise ValueError(f"lower and upper have {low.ndim} dimensions: give one bound for each row, of shape (rows,).")
    _check_bounds(low, high, "y")
    found = np.empty(len(low), [(name, np.float64) for name in _FIELDS])
    found["lower"], found["upper"] = low, high
    return found


def coded(lower: Array, upper: Array) -> Array:
    """The columns (M, 3) of targets between bounds (M,), of which at most one is infinite."""
    open_below, open_above = np.isneginf(lower), np.isposinf(upper)
    low, high = np.where(open_below, upper, lower), np.where(open_above, lower, upper)
    half_width = np.where(open_below | open_above, -1.0, 0.5 * (high - low))
    value = np.where(low == high, low, low + 0.5 * (high - low))
    return np.column_stack([value, half_width, open_above * 1.0 - open_below])


def bounds_of(targets: Array) -> tuple[Array, Array]:
    """The lower and upper bounds (M,) of targets in columns (M, 3)."""
    value, half_width, side = targets.T
    reach = np.maximum(half_width, 0.0)
    return np.where(side < 0.0, -np.inf, value - reach), np.where(side > 0.0, np.inf, value + reach)


def is_known(targets: Array) -> NDArray[np.bool_]:
    """Whether each target (M,) is known exactly."""
    return np.asarray(targets[:, 1] == 0.0)


class CensoredTargets:
    """Targets with bounds, from `censored`, from a data frame with the columns lower and upper, or known numbers."""

    width = WIDTH

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        """The columns (M, 3)."""
        table, name = names
        columns = named_columns(y)
        if columns is None:
            if np.ndim(y) == 2:
                raise ValueError(
                    f"{name} has shape {np.shape(y)}, but censored targets have named bounds: give "
                    f"{name}=csid.censored(lower, upper)."
                )
            known = check_targets(y, n_rows, names)
            return coded(known, known)
        if not set(_FIELDS) <= set(columns):
            raise ValueError(
                f"{name} has the columns {', '.join(map(repr, columns))}, but needs 'lower' and 'upper': give "
                f"{name}=csid.censored(lower, upper)."
            )
        lower, upper = (_numbers(columns[field], f"{name}[{field!r}]") for field in _FIELDS)
        if len(lower) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {table} {n_rows}, {name} {len(lower)}. "
                f"Give bounds for each row of {table}."
            )
        _check_bounds(lower, upper, name)
        found = coded(lower, upper)
        check_targets(found[:, 0], n_rows, names)
        return found

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Centre and scale of the values. Open intervals stay open."""
        return units_of_columns(
            centre,
            scale,
            "all rows of y are censored on one side, which tells nothing of the noise: add rows whose value is known, "
            "or has two bounds.",
        )

    def factors(self, targets: Array) -> Array | None:
        return None


def units_of_columns(centre: Array, scale: Array, none_closed: str) -> tuple[Array, Array]:
    """Centre and scale (3,) of the columns, from those of each alone. none_closed : the error if all rows are open."""
    if centre[1] < _ROUNDING - 1.0:
        raise ValueError(none_closed)
    return np.array([centre[0], 0.0, 0.0]), np.array([scale[0], scale[0], 1.0])


def named_columns(y: Any) -> dict[str, Any] | None:
    """The fields of a structured array, or the columns of a data frame, by name; None for other targets."""
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None:
        return {name: y[name] for name in fields}
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    return {name: frame[name].to_numpy() for name in frame.columns} if isinstance(frame, nw.DataFrame) else None


def _numbers(values: Any, name: str) -> Array:
    try:
        return np.asarray(without_mask(values), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only: {error}.") from None


def _check_bounds(lower: Array, upper: Array, name: str) -> None:
    """The bounds of a row are numbers in order, of which one is finite."""
    order = "give lower <= upper, both the value itself if it is known"
    problems = [
        (np.isnan(lower) | np.isnan(upper), "a bound is NaN: give -inf or inf where there is no bound"),
        (np.isposinf(lower) | np.isneginf(upper), f"no number is between the bounds: {order}"),
        (lower > upper, f"the lower bound is above the upper one: {order}"),
        (np.isneginf(lower) & np.isposinf(upper), "there is no bound: drop the rows of which nothing is known"),
    ]
    for bad, why in problems:
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"{name} holds lower={lower[row]:g}, upper={upper[row]:g} in row {row + 1:,} ({int(bad.sum())} such "
                f"rows in total), but {why}."
            )
