"""Events and times in the forms that survival libraries use, and what is refused of them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from csid.data.censored_targets import bounds_of
from csid.data.survival_targets import SurvivalTargets, event_and_time

EVENT, TIME = np.array([True, False, True]), np.array([2.0, 3.5, 0.25])


def _structured(*fields: tuple[str, Any, Any]) -> np.ndarray:
    y = np.empty(3, [(name, kind) for name, kind, _ in fields])
    for name, _, values in fields:
        y[name] = values
    return y


@pytest.mark.parametrize(
    "y",
    [
        _structured(("event", bool, EVENT), ("time", float, TIME)),
        _structured(("days", float, TIME), ("dead", bool, EVENT)),
        pd.DataFrame({"event": EVENT, "time": TIME}),
        pd.DataFrame({"event": EVENT.astype(int), "time": TIME}),
        pd.DataFrame({"time": TIME, "event": EVENT}),
        pl.DataFrame({"event": EVENT, "time": TIME}),
    ],
    ids=["structured", "structured, time first", "pandas", "pandas, 0 and 1", "pandas, time first", "polars"],
)
def test_events_and_times_are_read(y: Any) -> None:
    event, time = event_and_time(y)
    assert_array_equal(event, EVENT)
    assert_array_equal(time, TIME)
    lower, upper = bounds_of(SurvivalTargets().read(y, 3))
    assert_array_equal(lower, np.log(TIME))
    assert_array_equal(upper, np.where(EVENT, np.log(TIME), np.inf))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.DataFrame({"event": EVENT, "time": [1.0, 0.0, 2.0]}), r"y\['time'\] holds 0 in row 2 .*above zero: drop"),
        (pd.DataFrame({"event": EVENT, "time": [1.0, -2.0, 2.0]}), r"holds -2 in row 2"),
        (pd.DataFrame({"event": EVENT, "time": [np.nan, 1.0, 2.0]}), r"holds nan in row 1"),
        (pd.DataFrame({"event": EVENT, "time": ["a", "b", "c"]}), r"y\['time'\] must hold numbers only"),
        (
            pd.DataFrame({"event": [1, 2, 0], "time": TIME}),
            r"y\['event'\] holds 2 in row 2, which is no event: give True",
        ),
        (pd.DataFrame({"event": [1, np.nan, 0], "time": TIME}), r"y\['event'\] holds nan in row 2"),
        (pd.DataFrame({"time": TIME}), r"y has the columns 'time', but survival needs events and times: give"),
        (TIME, r"y has shape \(3,\), but survival needs events and times: give a structured array"),
        (np.column_stack([EVENT, TIME]), r"y has shape \(3, 2\)"),
        (None, "the target y is None"),
        (_structured(("event", bool, EVENT), ("time", float, TIME))[:2], "inconsistent numbers of samples: X 3, y 2"),
    ],
)
def test_other_targets_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SurvivalTargets().read(y, 3)


def test_without_events_there_is_no_fit() -> None:
    y = pd.DataFrame({"event": [False] * 3, "time": TIME})
    targets = SurvivalTargets().read(y, 3)
    with pytest.raises(ValueError, match=r"all rows of y are censored: .* Add rows with events"):
        SurvivalTargets().units(targets.mean(axis=0), targets.std(axis=0))
