"""Which predictors of few whole numbers are taken as categories."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from csid import BayesianCSIDRegressor, load
from csid.data.table import LocalTable, TableHeader
from csid.encoding.sketch import TableSketch
from csid.inference import whole_numbers
from csid.inference.jobs import ChainOptions
from csid.inference.pilot import Pilot, PilotPlan, SamplingPlan, Trial
from csid.inference.treatments import Treatment
from csid.inference.whole_numbers import better_as_categories, candidates
from csid.likelihoods.gaussian import Gaussian
from csid.priors import CATALOGUE
from inference.test_pilot import RUNNER
from tables import local_table

pytestmark = pytest.mark.filterwarnings("ignore:The chains may not have converged")
Array = np.ndarray
QUICK: dict[str, Any] = {
    "rank": 4,
    "prior": ["medium", "smooth"],
    "n_chains": 2,
    "n_burn": 5,
    "n_draws": 4,
    "n_jobs": 1,
}


def shops(rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, Array]:
    """Sales of shops with arbitrary codes, by a measure, and a number of rooms with a smooth effect."""
    rng, effects = np.random.default_rng(seed), np.random.default_rng(5).standard_normal(41)
    X = pd.DataFrame({"size": rng.uniform(-1, 1, rows), "shop": rng.integers(1, 41, rows)})
    X["rooms"] = rng.integers(1, 9, rows)
    y = np.sin(3 * X["size"]) + effects[X["shop"]] + 0.2 * X["rooms"] + 0.5 * rng.standard_normal(rows)
    return X, y.to_numpy()


def _table(X: Array) -> LocalTable:
    return local_table(X, np.random.default_rng(0).normal(size=(len(X), 1)))


def _pilot(table: LocalTable) -> Pilot:
    plan = SamplingPlan(PilotPlan(1, 20, 10, 900, 4, 1), chains=2, burn=5, draws=5, rows=10_000)
    pilot = Pilot.on(table, plan, ChainOptions(Gaussian(), 4), RUNNER, np.random.default_rng(0))
    assert pilot is not None
    return pilot


def test_candidates_are_few_whole_numbers_that_repeat() -> None:
    rng = np.random.default_rng(0)
    columns = {
        "month": rng.integers(1, 13, 400),
        "gaps": np.where(rng.random(400) < 0.2, np.nan, rng.integers(0, 3, 400)),
        "truth": rng.integers(0, 2, 400),
        "halves": rng.integers(0, 5, 400) / 2,
        "real": rng.normal(size=400),
        "many": rng.integers(0, 60, 400),
        "more": np.arange(400) % 100,
        "nothing": np.full(400, np.nan),
    }
    table = _table(np.column_stack(list(columns.values())))
    assert [list(columns)[n] for n in candidates(table)] == ["gaps", "month"]
    declared = table.header._replace(flags=[True, False, *[None] * 6])
    assert candidates(replace(table, header=declared)) == []


def test_a_rare_value_among_later_rows_counts() -> None:
    values = np.append(np.arange(2999) % 5, 0.5)
    assert candidates(_table(values[:-1, None])) == [0]
    assert candidates(_table(values[:, None])) == []


def test_arbitrary_codes_are_categories_and_counts_are_not() -> None:
    X, y = shops()
    model = BayesianCSIDRegressor(random_state=0, **QUICK).fit(X, y)
    assert model.whole_numbers_ == {"shop": "category", "rooms": "number"}
    assert model.levels_["shop"] == list(range(1, 41))
    assert model.encoding_.ordered.tolist()[1:] == [0, 8]
    unseen = X[:1].assign(shop=99)
    everyone = pd.concat([X[:1]] * 40).assign(shop=range(1, 41))
    p = model.encoding_.marginals[1]
    np.testing.assert_allclose(model.predict(unseen), p @ model.predict(everyone))


def test_the_fit_is_the_one_with_these_categories_declared() -> None:
    X, y = shops()
    found = BayesianCSIDRegressor(random_state=0, **QUICK).fit(X, y)
    declared = BayesianCSIDRegressor(random_state=0, categorical_features=["shop"], **QUICK).fit(X, y)
    assert_array_equal(found.predict(X), declared.predict(X))
    assert declared.whole_numbers_ == {"rooms": "number"}


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        ("number", {}),
        ("category", {"shop": "category", "rooms": "category"}),
        ({"shop": "number", "rooms": "category"}, {}),
        ({"rooms": "category"}, {"shop": "category"}),
    ],
    ids=str,
)
def test_a_user_decides(wanted: Any, kinds: dict[str, str]) -> None:
    X, y = shops()
    model = BayesianCSIDRegressor(random_state=0, whole_numbers=wanted, **QUICK).fit(X, y)
    assert model.whole_numbers_ == kinds
    categories = {
        name for name, kind in (kinds | (wanted if isinstance(wanted, dict) else {})).items() if kind == "category"
    }
    assert {mode.name for mode in model.encoding_.modes if mode.n_ordered == 0} == categories


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"whole_numbers": {"shp": "number"}}, "whole_numbers names 'shp', but X has the columns 'size', 'shop'"),
        ({"whole_numbers": {"shop": "cyclic"}}, "whole_numbers is 'cyclic' for 'shop': give 'number' or 'category'"),
        (
            {"whole_numbers": {"shop": "number"}, "categorical_features": ["shop"]},
            "whole_numbers is 'number' for 'shop', but categorical_features makes it a category: give it once",
        ),
        ({"whole_numbers": "codes"}, "'whole_numbers' parameter"),
    ],
)
def test_wrong_kinds_are_named(options: dict[str, Any], message: str) -> None:
    X, y = shops(60)
    with pytest.raises(ValueError, match=message):
        BayesianCSIDRegressor(**QUICK, **options).fit(X, y)


def test_too_few_rows_for_a_pilot_leave_numbers() -> None:
    X, y = shops(39)
    X["shop"] %= 3
    model = BayesianCSIDRegressor(random_state=0, **QUICK).fit(X, y)
    assert model.whole_numbers_ == {"shop": "number"}


def test_the_decision_is_saved(tmp_path: Any) -> None:
    X, y = shops()
    model = BayesianCSIDRegressor(random_state=0, **QUICK).fit(X, y)
    model.save(tmp_path / "model.csid")
    again = load(tmp_path / "model.csid")
    assert isinstance(again, BayesianCSIDRegressor)
    assert again.whole_numbers_ == model.whole_numbers_
    assert_array_equal(again.predict(X), model.predict(X))


def _losses(gain_of: Callable[[set[int]], float], noise: float) -> Callable[..., Array]:
    """Losses of trials: less by a gain that depends on the categories, and noise by chain and by row."""
    rng = np.random.default_rng(0)

    def losses(self: Pilot, trials: Sequence[Trial], label: str) -> Array:
        rows = []
        for trial in trials:
            modes = trial.encoders[0](trial.spec).encoding.modes
            gain = gain_of({n for n, mode in enumerate(modes) if mode.n_ordered == 0})
            rows.append(1.0 - gain + noise * rng.standard_normal() + 0.01 * rng.standard_normal(50))
        return np.array(rows)

    return losses


@pytest.mark.parametrize("n_columns", [1, 3, 6, 20])
@pytest.mark.parametrize(("gain", "found"), [(0.3, True), (0.01, False), (-0.3, False)])
def test_a_gain_must_exceed_the_noise_of_chains(
    n_columns: int, gain: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here of the last predictor; with more than eight, of its group: those with about as many values."""
    X = np.column_stack([np.arange(900) % (n + 3) for n in range(n_columns)])
    pilot, last = _pilot(_table(X)), n_columns - 1
    monkeypatch.setattr(Pilot, "losses", _losses(lambda categories: gain * (last in categories), 0.02))
    treatment = Treatment("auto", "linear", "marginalize", merge=True)
    columns = candidates(pilot.table)
    assert len(columns) == n_columns
    better = better_as_categories(pilot, columns, treatment, CATALOGUE["medium"], np.random.SeedSequence(0))
    assert (last in better) == found
    assert len(better) <= (1 if n_columns <= 8 else 3)


@pytest.mark.parametrize("n_groups", range(1, 9))
def test_every_chain_informs_on_every_predictor(n_groups: int) -> None:
    """The contrasts are orthogonal, each of half of the chains with the other half; at least three are left over."""
    signs = whole_numbers._contrasts(n_groups)
    assert_array_equal(signs @ signs.T, signs.shape[1] * np.eye(len(signs)))
    assert_array_equal(signs.sum(axis=1), 0.0)
    assert len(signs) >= n_groups + 3


def test_dates_and_ordered_words_are_no_codes() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(0, 12, 200)
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(code, unit="D"),
            "size": pd.Categorical.from_codes(code % 3, ["S", "M", "L"], ordered=True),
            "code": code,
        }
    )
    names = list(X.columns)
    header = TableHeader(names, [None] * 3, np.zeros(1), np.ones(1), True)
    assert list(LocalTable(X, np.zeros((200, 1)), np.ones(200), header).whole_numbers(64)) == [2]
    sketch = TableSketch(names, [None] * 3)
    sketch.update(X, 200)
    assert list(sketch.whole_numbers(64)) == [2]
