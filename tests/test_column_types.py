"""Dates, ordered categories and names of targets, in every kind of table and through every file."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import csid
from csid import Batches, BayesianCSIDRegressor, CSIDRegressor
from csid.encoding import OrdinalMode
from csid.encoding.columns import read_columns
from csid.explain.counterfactuals import counterfactuals
from csid.export import to_json, to_python

SIZES = ("small", "medium", "large", "huge")
ROWS = 300


def frame(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """A trend in time, and sizes whose order is not that of the alphabet; "medium" is rare."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 1000, ROWS)
    size = rng.choice(4, ROWS, p=[0.4, 0.02, 0.38, 0.2])
    day = pd.Timestamp("2019-05-05") + pd.to_timedelta(days, unit="D")
    X = pd.DataFrame({"day": day, "size": pd.Categorical.from_codes(size, SIZES, ordered=True)})
    y = pd.Series(days / 100.0 + 2.0 * size + 0.05 * rng.standard_normal(ROWS), name="price")
    return X, y


def als(**settings: Any) -> CSIDRegressor:
    return CSIDRegressor(**{"rank": 3, "random_state": 0, "max_iter": 40, "n_jobs": 1, **settings})


def modes(model: Any) -> list[OrdinalMode]:
    found = model.encoding_.modes
    assert all(isinstance(mode, OrdinalMode) for mode in found)
    return list(found)


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda X: X,
    "pandas, another index": lambda X: X.set_axis(X.index[::-1] + 7),
    "polars": lambda X: pl.DataFrame(
        {"day": X["day"].to_numpy(), "size": pl.Series(list(X["size"]), dtype=pl.Enum(SIZES))}
    ),
    "Arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "a time zone": lambda X: X.assign(day=X["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "dates as objects": lambda X: X.assign(day=X["day"].dt.date),
    "texts in order": lambda X: X.assign(size=X["size"].astype(str)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_numbers(kind: str) -> None:
    X, y = frame()
    given, model = KINDS[kind](X), als().fit(X, y)
    assert_array_equal(model.predict(given), model.predict(X))
    if kind != "texts in order":
        assert_array_equal(als().fit(given, y).predict(X), model.predict(X))


def test_dates_are_days_and_ordered_words_keep_their_order() -> None:
    X, y = frame()
    model = als().fit(X, y)
    day, size = modes(model)
    assert (day.date, size.words) == (True, SIZES)
    assert model.levels_["size"] == list(SIZES)
    assert isinstance(model.levels_["day"][0], datetime)
    assert X["day"].min() < model.levels_["day"][0] < X["day"].min() + timedelta(days=60)
    assert day.limits == tuple((X["day"].agg(["min", "max"]) - pd.Timestamp(0)) / pd.Timedelta(days=1))
    assert model.score(X, y) > 0.99


def test_ordered_words_are_smooth() -> None:
    """Between its neighbours, a size without training rows is interpolated; a category without order cannot be."""
    X, y = frame()
    X = X[X["size"] != "medium"]
    y = y[X.index]
    three = pd.DataFrame({"day": X["day"].iloc[:1].repeat(3), "size": pd.Categorical(SIZES[:3], SIZES, ordered=True)})
    small, medium, large = als().fit(X, y).predict(three)
    assert small + 1.0 < medium < large - 1.0


def test_missing_and_unknown_words_and_dates_are_missing_cells() -> None:
    X, y = frame()
    gaps = X.copy()
    gaps.loc[:20, "day"] = pd.NaT
    gaps.loc[10:30, "size"] = None
    model = als().fit(gaps, y)
    unknown = pd.DataFrame({"day": [pd.NaT], "size": ["giant"]})
    absent = pd.DataFrame({"day": [np.nan], "size": [None]})
    assert np.isfinite(model.predict(gaps)).all()
    assert_array_equal(model.predict(unknown), model.predict(absent))


def test_order_and_dates_can_be_overruled() -> None:
    X, y = frame()
    model = als(categorical_features=["size"]).fit(X, y)
    assert model.levels_["size"] == sorted(SIZES)


def test_ordered_numbers_are_numbers() -> None:
    X = pd.DataFrame({"n": pd.Categorical(np.arange(60) % 3 + 1, [1, 2, 3], ordered=True)})
    assert als().fit(X, np.arange(60.0)).levels_["n"] == [1.0, 2.0, 3.0]


def test_durations_are_days() -> None:
    X = pd.DataFrame({"after": pd.to_timedelta(np.arange(60) % 3, unit="h")})
    assert_allclose(als().fit(X, np.arange(60.0)).levels_["after"], [0.0, 1 / 24, 2 / 24])


def test_dates_where_numbers_were_are_refused() -> None:
    X, y = frame()
    numbers = X.assign(day=np.arange(ROWS))
    with pytest.raises(TypeError, match="column 'day' holds dates, but numbers in training"):
        als().fit(numbers, y).predict(X)


@pytest.mark.parametrize("kind", ["als", "bayesian"])
def test_a_file_keeps_them(kind: str, tmp_path: Path) -> None:
    X, y = frame()
    few = BayesianCSIDRegressor(rank=3, prior="medium", n_chains=2, n_burn=20, n_draws=6, random_state=0)
    model: Any = als() if kind == "als" else few
    model.fit(X, y).save(tmp_path / "m.csid")
    again = csid.load(tmp_path / "m.csid")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.levels_ == model.levels_
    assert again.fitted_.target_names == ("price",)
    assert [mode.limits for mode in modes(again)] == [mode.limits for mode in modes(model)]


def test_rows_on_disk_give_the_same_model(tmp_path: Path) -> None:
    X, y = frame()
    here = als().fit(X, y)
    X.assign(price=y).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    halves = Batches(lambda: ((X[part], y[part]) for part in (slice(0, 150), slice(150, ROWS))))
    iterator = iter([(X[:150], y[:150]), (X[150:], y[150:])])
    for rows in ((str(tmp_path / "rows.parquet"), "price"), (halves, None), (iterator, None)):
        model = als().fit(*rows)
        assert_allclose(model.predict(X), here.predict(X), rtol=1e-9)
        assert modes(model)[0].limits == modes(here)[0].limits
    assert als().fit(str(tmp_path / "rows.parquet"), "price").fitted_.target_names == ("price",)
    other = X.assign(size=X["size"].cat.reorder_categories(SIZES[::-1], ordered=True))
    with pytest.raises(ValueError, match="mixes types: the order small, medium, large, huge in one part"):
        als().fit(Batches(lambda: ((part, y) for part in (X, other))))


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (pd.Series([1.0, 2.0], name="rent"), ("rent",)),
        (pl.Series("rent", [1.0, 2.0]), ("rent",)),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]}), ("a", "b")),
        (pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]}), ("a", "b")),
        (pa.table({"a": [1.0, 2.0], "b": [2.0, 1.0]}), ("a", "b")),
        (pd.Series([1.0, 2.0]), ("y",)),
        (pd.DataFrame([[1.0, 2.0], [2.0, 1.0]]), ("y1", "y2")),
        (np.array([1.0, 2.0]), ("y",)),
        (pa.chunked_array([[1.0, 2.0]]), ("y",)),
    ],
)
def test_targets_are_called_as_in_y(y: Any, names: tuple[str, ...]) -> None:
    assert als().fit(np.array([[1.0], [2.0]]), y).fitted_.target_names == names


def test_pages_plots_and_exports_name_targets_words_and_dates(tmp_path: Path) -> None:
    from csid import plots

    X, y = frame()
    model = als().fit(X, y)
    model.report(tmp_path / "m.html", X, y)
    page = (tmp_path / "m.html").read_text()
    assert '"targets": ["price"]' in page or '"targets":["price"]' in page
    ax = plots.effect(model, "size")
    assert ax.get_ylabel() == "mean price"
    assert [label.get_text() for label in ax.get_xticklabels()] == list(SIZES)
    ax = plots.effect(model, "day")
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert any(label.startswith("20") for label in labels)
    ax = plots.waterfall(model, X, 0)
    assert any(X["day"].iloc[0].strftime("%Y-%m-%d") in label.get_text() for label in ax.get_yticklabels())
    assert '"price"' in to_json(model)
    code: dict[str, Any] = {}
    exec(to_python(model), code)
    row = {"day": X["day"].iloc[0].isoformat(), "size": X["size"].iloc[0]}
    assert_allclose(code["predict"](row), model.predict(X[:1])[0])


def test_a_counterfactual_is_a_date_or_a_word() -> None:
    X, y = frame()
    model = als().fit(X, y)
    row = X[X["size"] == "small"].iloc[:1]
    found = counterfactuals(model, row, above=float(model.predict(row)[0]) + 0.5, most_changes=1).found
    changes = {name: new for one in found for name, (_, new) in one.changes.items()}
    assert isinstance(changes["day"], datetime)
    assert changes["size"] in SIZES


def test_moments_before_1970_and_of_any_zone() -> None:
    moments = [datetime(1960, 1, 1, 12), datetime(1970, 1, 2, tzinfo=UTC).astimezone(), None, date(1970, 1, 3)]
    (column,) = read_columns(pd.DataFrame({"t": pd.Series(moments, dtype=object)}))
    assert column.is_date
    assert_allclose(
        column.numbers(), [(datetime(1960, 1, 1, 12) - datetime(1970, 1, 1)) / timedelta(days=1), 1, np.nan, 2]
    )


@pytest.mark.parametrize("where", ["X", "y"])
def test_sparse_matrices_are_refused(where: str) -> None:
    X, y = np.eye(6)[:, :2], np.arange(6.0)
    given = (csr_array(X), y) if where == "X" else (X, csr_array(y[:, None]))
    with pytest.raises(TypeError, match=f"Sparse data was passed for {where}, but dense data is required. Use"):
        als().fit(*given)
