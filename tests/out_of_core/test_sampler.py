"""The sampler on rows out of memory: the draws that it makes in memory, up to the rounding of sums in another order."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from csid import Batches, BayesianCSIDRegressor, ParquetRows
from csid.data.out_of_core import parquet
from large_tables import table, written

PREDICTORS = ["a", "b", "c", "word", "flag"]


def model(**options: Any) -> BayesianCSIDRegressor:
    settings = {"rank": 3, "effort": "fast", "n_chains": 2, "n_burn": 6, "n_draws": 6, "random_state": 0, "pmf_rank": 1}
    return BayesianCSIDRegressor(**(settings | options))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"prior": "medium"},
        {"prior": ["medium", "fine_grid"]},
        {"prior": "medium", "missing": "level"},
        {"prior": "medium", "interpolation": "constant"},
    ],
    ids=str,
)
def test_a_folder_gives_the_draws_of_its_table(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 128)
    codes = tmp_path / "codes"
    codes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(codes))
    X = table(600)
    rows = tmp_path / "rows"
    rows.mkdir()
    one = model(**options).fit(X[PREDICTORS], X[["y", "z"]], X["weight"])
    given = ParquetRows(written(X, rows), ["y", "z"], "weight", columns=PREDICTORS)
    other = model(**options).fit(given)
    assert one.n_samples_ == other.n_samples_
    assert one.stacking_weights_ == pytest.approx(other.stacking_weights_, abs=1e-6)
    assert_allclose(one.predict(X[PREDICTORS]), other.predict(X[PREDICTORS]), rtol=1e-4, atol=1e-4)
    assert list(codes.iterdir()) == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_go_on_from_rows_in_batches() -> None:
    X = table(300)
    given = Batches([(X[PREDICTORS][part], X["y"][part]) for part in (slice(0, 200), slice(200, 300))])
    one = model(prior="medium", warm_start=True).fit(X[PREDICTORS], X["y"]).fit(X[PREDICTORS], X["y"])
    other = model(prior="medium", warm_start=True).fit(given).fit(given)
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.predict(X[PREDICTORS]), other.predict(X[PREDICTORS]), rtol=1e-4, atol=1e-4)
    assert np.isfinite(other.noise_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_students_t_gives_the_same_posterior_from_other_random_numbers() -> None:
    """It draws a number for every row, and rows that are read in batches are in another order."""
    X = table(600)
    given = Batches([(X[PREDICTORS][part], X["y"][part]) for part in (slice(0, 200), slice(200, 600))])
    options = {"prior": "medium", "likelihood": "student_t", "n_burn": 30, "n_draws": 30}
    one = model(**options).fit(X[PREDICTORS], X["y"])
    other = model(**options).fit(given)
    assert other.score(X[PREDICTORS], X["y"]) == pytest.approx(one.score(X[PREDICTORS], X["y"]), abs=0.02)
    assert_allclose(other.noise_, one.noise_, rtol=0.25)
    apart = np.sqrt(np.mean((other.predict(X[PREDICTORS]) - one.predict(X[PREDICTORS])) ** 2))
    assert apart < 0.05 * X["y"].std()  # the targets have no noise, and gaps are not taken for noise


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_whole_numbers_are_what_they_are_in_memory(tmp_path: Path) -> None:
    X, rng = table(600, missing=0.0), np.random.default_rng(0)
    X["shop"] = rng.integers(1, 41, 600)
    X["rooms"] = rng.integers(1, 9, 600)
    X["y"] = X.a + np.random.default_rng(5).standard_normal(41)[X.shop] + 0.1 * X.rooms + 0.5 * rng.standard_normal(600)
    names = ["a", "shop", "rooms", "y"]
    one = model(prior="medium").fit(X[names[:-1]], X["y"])
    other = model(prior="medium").fit(written(X[names], tmp_path), "y")
    assert one.whole_numbers_ == other.whole_numbers_ == {"shop": "category", "rooms": "number"}
    assert one.levels_["shop"] == other.levels_["shop"]
    assert_allclose(one.predict(X[names[:-1]]), other.predict(X[names[:-1]]), rtol=1e-4, atol=1e-4)
