"""Rows with gaps and rows without: intervals cover both, and gaps do not inflate the noise of the table."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csid import BayesianCSIDRegressor
from csid.explain import shapley_values

Array = np.ndarray
NOISE, ROWS = 0.2, 1500
Make = Callable[..., BayesianCSIDRegressor]


def rows_with_gaps(seed: int, hidden: float, related: bool = False) -> tuple[pd.DataFrame, Array]:
    """A smooth system of three numbers and a word. related : whether the second number follows the first."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (ROWS, 3)), columns=list("abc"))
    if related:
        X["b"] = X["a"] ** 3 + 0.1 * rng.standard_normal(ROWS)
    X["word"] = rng.choice(["u", "v"], ROWS)
    y = 2.0 * X["a"] * X["b"] + np.exp(X["c"]) * np.where(X["word"] == "u", 1.0, -0.5)
    return X.mask(rng.random(X.shape) < hidden), (y + NOISE * rng.standard_normal(ROWS)).to_numpy()


def _model(**options: Any) -> BayesianCSIDRegressor:
    settings = {"effort": "fast", "rank": 8, "prior": ["medium", "mildly_sparse"], "random_state": 0, "n_jobs": 1}
    return BayesianCSIDRegressor(**settings | options)


def check_intervals(model: Any, related: bool = False) -> None:
    """Both groups of new rows are covered, and the noise is that of the system."""
    X, y = rows_with_gaps(1, 0.15, related)
    lower, upper = model.predict_interval(X)
    inside, incomplete = (lower <= y) & (y <= upper), X.isna().any(axis=1).to_numpy()
    assert 0.85 <= inside[incomplete].mean() <= 0.96
    assert 0.85 <= inside[~incomplete].mean() <= 0.96
    assert model.noise_[0] == pytest.approx(NOISE, rel=0.12)
    assert (upper - lower)[incomplete].mean() > 1.5 * (upper - lower)[~incomplete].mean()


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "marginalize", "pmf_rank": 1},
        {"missing": "marginalize"},
        {"missing": "level"},
        {"likelihood": "student_t", "missing": "marginalize", "pmf_rank": 1},
        {"solver": "stochastic", "missing": "marginalize"},
    ],
    ids=str,
)
def test_in_every_treatment(options: dict[str, Any]) -> None:
    related = options == {"missing": "marginalize"}
    model = _model(**options).fit(*rows_with_gaps(0, 0.15, related))
    if options.get("likelihood") != "student_t":
        check_intervals(model, related)
        return
    X, y = rows_with_gaps(1, 0.15)
    lower, upper = model.predict_interval(X)
    incomplete = X.isna().any(axis=1).to_numpy()
    for group in (incomplete, ~incomplete):
        assert 0.85 <= ((lower <= y) & (y <= upper))[group].mean() <= 0.97


def test_with_gaps_in_new_rows_alone() -> None:
    """Cells follow those that the row has, if these tell of them."""
    for related in (False, True):
        model = _model().fit(*rows_with_gaps(0, 0.0, related))
        assert (model.pmf_ is not None) == related
        assert model.posterior_.imputation_factor != pytest.approx(1.0, abs=1e-3)
        check_intervals(model, related)


def test_on_disk(tmp_path: Any) -> None:
    X, y = rows_with_gaps(0, 0.15)
    table = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    pq.write_table(table, tmp_path / "rows.parquet")
    check_intervals(_model(missing="marginalize").fit(tmp_path / "rows.parquet", y="y"))


def test_nothing_known_is_the_distribution_of_the_target() -> None:
    X, y = rows_with_gaps(0, 0.15)
    model = _model(missing="marginalize").fit(X, y)
    nothing = X.iloc[:1].assign(a=np.nan, b=np.nan, c=np.nan, word=None)
    (lower,), (upper,) = model.predict_interval(nothing)
    assert (lower, upper) == pytest.approx(tuple(np.quantile(y, [0.05, 0.95])), abs=0.4 * y.std())  # of 36 draws
    _, std = model.predict(nothing, return_std=True)
    assert std[0] == pytest.approx(y.std(), rel=0.15)


def test_a_cell_without_effect_may_be_missing_at_no_cost() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (ROWS, 3)), columns=list("abc"))
    y = (np.sin(3.0 * X["a"]) + NOISE * rng.standard_normal(ROWS)).to_numpy()
    model = _model(prior="sparse").fit(X, y)
    widths = [np.subtract(*model.predict_interval(rows)[::-1]) for rows in (X[:200], X[:200].assign(c=np.nan))]
    assert np.median(widths[1] / widths[0]) == pytest.approx(1.0, abs=0.05)


def test_an_unseen_category_is_as_uncertain_as_a_missing_one() -> None:
    model = _model(missing="marginalize", pmf_rank=1).fit(*rows_with_gaps(0, 0.15))
    X, _ = rows_with_gaps(1, 0.0)
    for unseen, missing in zip(
        model.predict_interval(X[:50].assign(word="w")), model.predict_interval(X[:50].assign(word=None)), strict=True
    ):
        assert unseen == pytest.approx(missing, abs=1e-9)


def test_uncertainty_intervals_and_samples_agree_and_shapley_values_still_sum_to_the_prediction() -> None:
    X, y = rows_with_gaps(0, 0.15)
    model = _model(missing="marginalize", pmf_rank=1).fit(X, y)
    rows = X[:300]
    mean, std = model.predict(rows, return_std=True)
    unsure, noise, both = model.predict_uncertainty(rows)
    assert mean == pytest.approx(model.predict(rows), abs=1e-9)
    assert both == pytest.approx(std, rel=1e-9)
    assert unsure**2 + noise**2 == pytest.approx(both**2, rel=1e-9)
    sampled = model.sample_y(rows, n_samples=2000, random_state=0)
    assert np.std(sampled, axis=1) == pytest.approx(std, rel=0.15)
    incomplete = rows.isna().any(axis=1).to_numpy()
    assert unsure[incomplete].mean() > 2.0 * unsure[~incomplete].mean()
    phi = shapley_values(model, rows)
    assert phi.sum(axis=1) == pytest.approx(mean - model.cpd_.mean()[0], abs=1e-8)
