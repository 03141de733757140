"""What deserves a remark before a fit, and what does not."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import csid
from csid import CSIDRegressor, remarks

ROWS = 60


def _rows(**columns: Any) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.choice(["x", "y"], ROWS), "n": rng.integers(0, 9, ROWS)})
    return X.assign(**columns), pd.Series(rng.normal(size=ROWS), name="t")


def test_ordinary_rows_need_no_remark() -> None:
    """Neither do dates, distinct numbers that are no identifiers, or rows with gaps."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(ROWS) ** 2, unit="D")
    X, y = _rows(day=days, price=np.arange(ROWS) ** 2, gap=[None, 1.0, 2.0] * 20)
    assert remarks(X, y) == []


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "constant number": ({"c": 3.5}, "column 'c' has the same value in all rows, 3.5, and predicts nothing."),
    "constant text": ({"c": ["DE"] * ROWS}, "column 'c' has the same value in all rows, 'DE'"),
    "constant with gaps": ({"c": ["DE", None] * 30}, "the same value in all 30 rows that have one, 'DE'"),
    "row number": ({"c": np.arange(ROWS)[::-1] + 7}, "column 'c' numbers the rows: leave it out"),
    "identifier by name": ({"customer_id": np.arange(ROWS) ** 2}, "column 'customer_id' numbers the rows"),
    "identifier of text": ({"c": [f"k{i}" for i in range(ROWS)]}, "column 'c' has 60 different values in 60 rows"),
    "spellings": ({"c": ["Ulm", "ulm ", "Kehl"] * 20}, "'Ulm' (20), 'ulm ' (20) differ only in case or blanks. Merge"),
    "leak": ({"c": 1e9 * _rows()[1] + 3.0}, "column 'c' repeats the target 't' (correlation 1): leave it out"),
    "leak of other sign": ({"c": -_rows()[1]}, "column 'c' repeats the target 't'"),
    "few rows": ({f"c{i}": np.random.default_rng(i).normal(size=ROWS) for i in range(57)}, "60 rows and 60 predictors"),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_columns_get_one_remark(what: str) -> None:
    columns, remark = ODD[what]
    X, y = _rows(**columns)
    (found,) = remarks(X, y)
    assert remark in found
    assert remarks(pl.from_pandas(X), pl.Series("t", y.to_numpy())) == [found]


def test_odd_targets_get_a_remark() -> None:
    X, _ = _rows()
    assert "the target 'y' has the same value in all rows, 2, and so has" in remarks(X, np.full(ROWS, 2.0))[0]
    (found,) = remarks(X, pd.Series(np.arange(ROWS) % 2, name="sold"))
    assert "the target 'sold' has two values, 0 and 1. It is fitted as a number" in found
    assert "use BayesianCSIDClassifier (on the command line --task classification)" in found
    (found,) = remarks(X, pd.Series(np.arange(ROWS) % 6, name="grade"))
    assert "'grade' has 6 different whole numbers, and is fitted as a number" in found
    assert "--task classification" in found
    assert remarks(X, np.arange(ROWS) % 30) == []
    assert remarks(X, np.arange(ROWS) % 6 / 2.0) == []
    both = remarks(X, np.stack([np.zeros(ROWS), np.arange(ROWS) ** 2], axis=1))
    assert len(both) == 1
    assert "'y1'" in both[0]


def test_arrays_have_column_numbers() -> None:
    assert (
        "column 'x1' has the same value" in remarks(np.stack([np.arange(9.0), np.ones(9)], axis=1), np.arange(9.0))[0]
    )


def test_all_that_gets_a_remark_can_be_fitted() -> None:
    for columns, _ in ODD.values():
        X, y = _rows(**columns)
        assert np.isfinite(CSIDRegressor(rank=1, max_iter=2, random_state=0).fit(X, y).predict(X)).all()


CLASSES: dict[str, tuple[Any, list[str]]] = {
    "ordinary": (["yes", "no"] * 30, []),
    "a single row": (["yes", "no", "maybe"] + ["no"] * 57, ["has 2 classes of a single row ('yes', 'maybe')"]),
    "spellings": (["yes", "no", "No "] * 20, ["'no' (20), 'No ' (20) differ only in case or blanks"]),
    "booleans": ([True] + [False] * 59, ["has a class of a single row (True)"]),
}


@pytest.mark.parametrize("what", CLASSES)
def test_classes_get_their_own_remarks(what: str) -> None:
    labels, expected = CLASSES[what]
    X, _ = _rows()
    for y in (pd.Series(labels, name="t"), pl.Series("t", labels), pd.Series(labels, name="t").astype("category")):
        found = remarks(X, y)
        assert len(found) == len(expected)
        assert all(part in remark and "the target 't'" in remark for part, remark in zip(expected, found, strict=True))


def test_a_predictor_that_tells_the_class_gets_a_remark() -> None:
    labels = np.array(["x", "y", "z"] * 20)
    for leak in (np.char.upper(labels), np.tile([3.0, 1.0, 2.0], 20), np.where(np.arange(60) < 9, None, labels)):
        X, _ = _rows(leak=leak)
        assert remarks(X, labels) == [
            "column 'leak' repeats the target 'y' (its values tell the class): leave it out, if it is not known for "
            "new rows."
        ]
    assert remarks(_rows(near=np.where(np.arange(60) == 0, "y", labels))[0], labels) == []


def test_words_as_targets_are_classification() -> None:
    X, _ = _rows()
    with pytest.raises(ValueError, match=r"Unknown label type. .*to predict classes, use BayesianCSIDClassifier"):
        CSIDRegressor().fit(X, np.array(["yes", "no"] * 30))
    assert "remarks" in csid.__all__
