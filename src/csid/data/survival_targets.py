"""Times of events of which some are not seen before the end of follow-up, as the logarithms that a likelihood reads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.censored_targets import WIDTH, coded, named_columns, units_of_columns
from csid.data.checks import without_mask

Array = NDArray[np.float64]

_FORM = (
    "give a structured array with a boolean and a numeric field, as sksurv.util.Surv makes it, or a data frame of two "
    "columns (event, time)"
)


class SurvivalTargets:
    """Events and times, read as log times with bounds in the columns (M, 3) of `csid.data.censored_targets`."""

    width = WIDTH

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        event, time = event_and_time(y, names[1])
        if len(time) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {names[0]} {n_rows}, {names[1]} "
                f"{len(time)}. Give an event and a time for each row of {names[0]}."
            )
        logs = np.log(time)
        return coded(logs, np.where(event, logs, np.inf))

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Centre and scale of the log times."""
        return units_of_columns(
            centre,
            scale,
            "all rows of y are censored: without an event nothing tells how long times are. Add rows with events, or "
            "follow rows for longer.",
        )

    def factors(self, targets: Array) -> Array | None:
        return None


def event_and_time(y: Any, name: str = "y") -> tuple[NDArray[np.bool_], Array]:
    """Whether the event was seen (M,), and the time of the event or of the last observation (M,)."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    columns = named_columns(without_mask(y))
    if columns is None or len(columns) != 2:
        found = f"the columns {', '.join(map(repr, columns))}" if columns else f"shape {np.shape(y)}"
        raise ValueError(f"{name} has {found}, but survival needs events and times: {_FORM}.")
    first, second = columns
    if np.asarray(columns[second]).dtype.kind == "b" and np.asarray(columns[first]).dtype.kind != "b":
        first, second = second, first
    return _events(columns[first], f"{name}[{first!r}]"), _times(columns[second], f"{name}[{second!r}]")


def _events(values: Any, name: str) -> NDArray[np.bool_]:
    given = np.asarray(values)
    legal = np.array([each in (0, 1) for each in given.tolist()], bool)
    if not legal.all():
        row = int(np.argmin(legal))
        raise ValueError(
            f"{name} holds {given.tolist()[row]!r} in row {row + 1:,}, which is no event: give True (1) for an event "
            f"that was seen and False (0) for a censored row; {_FORM}."
        )
    return given.astype(bool)


def _times(values: Any, name: str) -> Array:
    try:
        times = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only: {error}.") from None
    bad = ~(np.isfinite(times) & (times > 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} holds {times[row]:g} in row {row + 1:,} ({int(bad.sum())} such rows in total), but times must be "
            "numbers above zero: drop these rows, or give a time within the first unit, such as half a day."
        )
    return times
