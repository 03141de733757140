"""What a model says of values that no training row had."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from csid import CSIDRegressor
from csid.fitted.unseen import UnseenCounter, UnseenValues


def _model(**settings: Any) -> CSIDRegressor:
    X = pd.DataFrame(
        {
            "town": ["Ulm", "Aalen", None, "Kehl, Rhein"] * 15,
            "size": pd.Categorical(["S", "L"] * 30, ["S", "M", "L"], ordered=True),
            "area": np.linspace(1.0, 99.0, 60),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D"),
            "lift": [True, True] * 30,
        }
    )
    return CSIDRegressor(rank=1, max_iter=2, levels=8, random_state=0, **settings).fit(X, np.arange(60.0))


def _rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "town": ["Rome", " ulm", "Ulm", None, "Rome"],
            "size": ["M", "XL", "S", None, "s"],
            "area": [-999.0, 1.0, 99.0, np.nan, 99.5],
            "day": pd.to_datetime(
                ["2019-12-31", "2020-01-01", None, "2020-02-29", "2020-02-29 12:00"], format="ISO8601"
            ),
            "lift": [True, False, None, True, True],
        }
    )


def test_every_kind_of_predictor() -> None:
    found = {each.predictor: each for each in _model().unseen_values(_rows())}
    assert list(found) == ["town", "size", "area", "day", "lift"]
    assert found["town"] == UnseenValues("town", 3, 5, {"Rome": 2, " ulm": 1}, 2, None, {" ulm": "Ulm"})
    assert found["size"] == UnseenValues("size", 2, 5, {"XL": 1, "s": 1}, 2, None, {"s": "S"})
    assert found["area"] == UnseenValues("area", 2, 5, {-999.0: 1, 99.5: 1}, 2, (1.0, 99.0), {})
    assert found["lift"].values == {False: 1}
    assert str(found["day"]) == (
        "column 'day': 2 of 5 rows are beyond the training range 2020-01-01 to 2020-02-29, and count as its end: "
        "2019-12-31 (1), 2020-02-29 12:00:00 (1)"
    )


def test_training_rows_have_no_unseen_values() -> None:
    """Although levels are means of several values, and the outer ones lie inside the range."""
    model = _model()
    assert model.encoding_.modes[2].level_names[0] > 1.0
    assert model.unseen_values(_rows().iloc[2:4]) == ()


def test_parts_are_counted_together() -> None:
    fitted, rows = _model().fitted_, _rows()
    counter = UnseenCounter(fitted.encoding)
    for part in (rows[:2], rows[2:]):
        counter.update(*fitted.columns.checked(part))
    assert counter.found() == fitted.unseen_values(rows)


def test_memory_is_bounded_and_counts_of_rows_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csid.fitted.unseen._MOST_COUNTED", 3)
    fitted = _model().fitted_
    counter = UnseenCounter(fitted.encoding)
    for part in range(10):
        rows = _rows().iloc[[0] * 4].assign(town=["Rome", "Rome", f"a{part}", f"b{part}"])
        counter.update(*fitted.columns.checked(rows))
    (town,) = [each for each in counter.found() if each.predictor == "town"]
    assert (town.rows, town.values["Rome"]) == (40, 20)


def test_arrays_and_disk() -> None:
    from csid import Batches

    x = np.random.default_rng(0).uniform(size=(40, 2))
    model = CSIDRegressor(rank=1, max_iter=2, random_state=0).fit(Batches([(x[:20], x[:20, 0]), (x[20:], x[20:, 0])]))
    low, high = x[:, 1].min(), x[:, 1].max()
    (found,) = model.unseen_values(np.array([[0.5, 2.0], [0.5, high]]))
    assert (found.predictor, found.rows, found.limits) == ("x1", 1, (low, high))
