"""The joint PMF of the predictors, and both estimators on tables whose predictors depend on each other."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import csid
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.encoding import Levels, fit_encoding
from csid.missing import joint_pmf
from csid.missing.joint_pmf import JointPMF, fit_joint_pmf

Array = np.ndarray
FAST = {"rank": 4, "effort": "fast", "prior": "medium", "n_jobs": 1, "random_state": 0}


def _dependent(rows: int, seed: int = 0, hidden: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame, Array]:
    """Two numbers and a category that nearly determine each other; with cells hidden, and complete."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1.0, 1.0, rows)
    whole = pd.DataFrame({"a": a, "b": a**3 + 0.05 * rng.standard_normal(rows)})
    whole["c"] = np.where(a + 0.1 * rng.standard_normal(rows) > 0.3, "high", "low")
    y = np.exp(a) + 2.0 * whole["b"].to_numpy() * (whole["c"] == "high") + 0.05 * rng.standard_normal(rows)
    return whole.mask(rng.random(whole.shape) < hidden), whole, y.to_numpy()


def _fitted(X: pd.DataFrame, rank: int | str = "auto", seed: int = 0) -> JointPMF | None:
    names, weights = list(X.columns), np.ones(len(X))
    return fit_joint_pmf(X, len(X), names, weights, [None] * len(names), rank, np.random.default_rng(seed), 1)


def _rmse(y: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def test_dependent_predictors_have_several_classes_and_independent_ones_none() -> None:
    hidden, _, _ = _dependent(800)
    pmf = _fitted(hidden)
    assert pmf is not None
    assert pmf.rank >= 4
    rng = np.random.default_rng(0)
    independent = pd.DataFrame(rng.uniform(size=(800, 3)), columns=list("abc"))
    assert _fitted(independent.mask(rng.random((800, 3)) < 0.3)) is None


@pytest.mark.parametrize(("rows", "few"), [(71, True), (72, False)])
def test_few_rows_are_not_taken_for_independent(rows: int, few: bool) -> None:
    """They cannot show dependence: the PMF of one factor is used, unless the number of classes is given."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(rows, 6))).add_prefix("x").mask(rng.random((rows, 6)) < 0.5)
    assert (_fitted(X) is not None) == few
    assert _fitted(X, rank=1) is None


def test_of_complete_rows_too() -> None:
    _, whole, _ = _dependent(300)
    pmf = _fitted(whole)
    assert pmf is not None
    assert pmf.rank >= 4
    pmf = _fitted(whole, 5)
    assert pmf is not None
    assert pmf.rank == 5
    assert _fitted(whole[["a"]]) is None


@pytest.mark.parametrize(("bins", "ranks"), [(300, (8, 32, 128)), (6_000, (8, 32)), (20_000, (8,)), (40_000, ())])
def test_of_complete_rows_only_as_large_as_a_small_part_of_a_model(bins: int, ranks: tuple[int, ...]) -> None:
    """Every bin has a number for each class."""
    assert joint_pmf._QUICK.on(bins).ranks == ranks
    assert joint_pmf._THOROUGH.on(bins) == joint_pmf._THOROUGH


def test_a_model_of_complete_rows_predicts_rows_with_gaps_from_their_other_cells() -> None:
    """The draws of the sampler do not change; least squares, which has no intervals, keeps the marginals."""
    _, whole, y = _dependent(600)
    lacking, complete, truth = _dependent(600, seed=1)
    alone, joint = (BayesianCSIDRegressor(**FAST, pmf_rank=rank).fit(whole, y) for rank in (1, "auto"))
    assert joint.pmf_ is not None
    assert_array_equal(joint.predict(complete), alone.predict(complete))
    assert _rmse(truth, joint.predict(lacking)) < 0.6 * _rmse(truth, alone.predict(lacking))
    assert CSIDRegressor(random_state=0).fit(whole, y).pmf_ is None


def test_on_the_levels_of_an_encoding_classes_keep_the_marginals() -> None:
    hidden, _, _ = _dependent(800)
    pmf = _fitted(hidden, 6)
    assert pmf is not None
    levels = Levels(100, "linear", "marginalize")
    encoding, _ = fit_encoding(hidden, 800, list("abc"), np.ones(800), np.arange(800), levels, [None] * 3)
    on_levels = pmf.on(encoding)
    for n, (bins, B) in enumerate(zip(on_levels.bins, on_levels.given_class, strict=True)):
        assert len(bins) == encoding.levels[n]
        assert (np.diff(bins) >= 0).all()
        assert_allclose(B.sum(axis=0), np.ones(6))
        assert_allclose(B @ on_levels.classes.weights, encoding.marginals[n], atol=0.02)


def test_a_category_unknown_to_the_classes_is_uninformative() -> None:
    hidden, _, _ = _dependent(400)
    pmf = _fitted(hidden, 3)
    assert pmf is not None
    more = pd.concat([hidden, pd.DataFrame({"a": [0.0], "b": [0.0], "c": ["new"]})])
    levels = Levels(16, "linear", "marginalize")
    encoding, _ = fit_encoding(more, 401, list("abc"), np.ones(401), np.arange(401), levels, [None] * 3)
    assert_array_equal(pmf.on(encoding).classes.lifts[2][list(encoding.modes[2].level_names).index("new")], np.ones(3))


@pytest.mark.parametrize(
    "make",
    [lambda **more: BayesianCSIDRegressor(**FAST, **more), lambda **more: CSIDRegressor(random_state=0, **more)],
    ids=["bayesian", "als"],
)
def test_observed_cells_inform_about_missing_ones(make: Any) -> None:
    """Errors where predictors are missing are lower than with independent ones."""
    hidden, _, y = _dependent(600)
    _, whole, truth = _dependent(400, seed=1)
    alone = make(missing="marginalize", pmf_rank=1).fit(hidden, y)
    joint = make(missing="marginalize").fit(hidden, y)
    assert alone.pmf_ is None
    assert joint.pmf_ is not None
    rows = whole.assign(b=np.nan, c=None)
    assert _rmse(truth, joint.predict(rows)) < 0.6 * _rmse(truth, alone.predict(rows))


def test_a_level_for_missing_cells_needs_no_pmf() -> None:
    hidden, _, y = _dependent(200)
    for model in (BayesianCSIDRegressor(**FAST, missing="level"), CSIDRegressor(missing="level", pmf_rank=3)):
        assert model.fit(hidden, y).pmf_ is None


def test_intervals_are_wider_where_cells_are_missing_and_still_cover() -> None:
    hidden, _, y = _dependent(800)
    lacking, whole, truth = _dependent(800, seed=1)
    model = BayesianCSIDRegressor(**FAST | {"prior": "auto"}, missing="marginalize", pmf_rank=8).fit(hidden, y)
    lower, upper = model.predict_interval(lacking)
    assert 0.83 < np.mean((lower <= truth) & (truth <= upper)) < 0.97
    narrow = np.subtract(*model.predict_interval(whole)[::-1])
    one_cell = whole.copy()
    one_cell.loc[:, ["a", "b"]] = np.nan
    wide = np.subtract(*model.predict_interval(one_cell)[::-1])
    assert np.median(wide) > 2.0 * np.median(narrow)
    mean, _ = model.predict(lacking, return_std=True)
    assert_allclose(mean, model.predict(lacking), atol=1e-9)


@pytest.mark.parametrize("kind", ["bayesian", "als"])
def test_a_model_keeps_its_pmf_in_files_and_pickles(kind: str, tmp_path: Path) -> None:
    hidden, _, y = _dependent(300)
    more = {"missing": "marginalize", "pmf_rank": 4}
    model = (BayesianCSIDRegressor(**FAST, **more) if kind == "bayesian" else CSIDRegressor(**more)).fit(hidden, y)
    expected = model.predict(hidden)
    model.save(tmp_path / "model.csid")
    loaded = csid.load(tmp_path / "model.csid")
    assert loaded.pmf_.rank == 4
    assert_array_equal(loaded.predict(hidden), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(hidden), expected)
    if kind == "bayesian":
        assert_array_equal(loaded.predict_interval(hidden), model.predict_interval(hidden))


@pytest.mark.parametrize("make", [lambda **more: BayesianCSIDRegressor(**FAST | more), CSIDRegressor])
def test_threads_and_the_order_of_prediction_do_not_change_a_bit(make: Any) -> None:
    hidden, _, y = _dependent(300)
    one, two = (make(missing="marginalize", pmf_rank=3, random_state=0, n_jobs=n).fit(hidden, y) for n in (1, 2))
    expected = one.predict(hidden)
    assert_array_equal(two.predict(hidden), expected)
    assert_array_equal(one.predict(hidden.iloc[::-1])[::-1], expected)
    assert_array_equal(one.predict(hidden.iloc[:7]), expected[:7])


def test_drawn_cells_go_on_with_a_warm_start() -> None:
    hidden, _, y = _dependent(200)
    model = BayesianCSIDRegressor(**FAST, missing="marginalize", pmf_rank=3, warm_start=True).fit(hidden, y)
    before, draws = model.n_iter_, len(model.posterior_.draws)
    model.fit(hidden, y)
    assert model.n_iter_ > before
    assert len(model.posterior_.draws) > draws


def test_several_outputs_and_an_ensemble_with_missing_cells() -> None:
    hidden, whole, y = _dependent(400)
    both = np.column_stack([y, -2.0 * y])
    model = CSIDRegressor(missing="marginalize", n_estimators=3, random_state=0).fit(hidden, both)
    predicted = model.predict(whole)
    assert predicted.shape == (400, 2)
    assert _rmse(both, predicted) < 0.5 * both.std()
    sampled = BayesianCSIDRegressor(**FAST, missing="marginalize", pmf_rank=4).fit(hidden, both)
    assert _rmse(both, sampled.predict(whole)) < 0.5 * both.std()
