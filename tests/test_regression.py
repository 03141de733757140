"""`CSIDRegressor` as an estimator: tables, scikit-learn's tools, weights, stopping, ensembles, threads, refusals."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import csid.fitted.model
import csid.inference.least_squares
from csid import CSIDRegressor
from csid.inference.als import ALSResult
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
System = tuple[Array, Array]
Make = Callable[..., CSIDRegressor]


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, Array]:
    """Numbers, whole numbers, words and booleans, each with missing cells."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=150),
            "count": rng.integers(0, 9, 150),
            "word": rng.choice(["u", "v", "w"], 150),
            "flag": rng.uniform(size=150) < 0.5,
        }
    ).astype(object)
    y = np.array(table["x"] * table["flag"] + table["count"] * (table["word"] == "u"), dtype=float)
    return table.mask(rng.uniform(size=table.shape) < 0.1, None), y


# --- tables -------------------------------------------------------------------------------------------------------


def test_the_same_table_in_any_library_gives_the_same_bits(mixed: tuple[pd.DataFrame, Array], quick: Make) -> None:
    objects, y = mixed
    types = {"x": "Float64", "count": "Int64", "word": "string", "flag": "boolean"}
    pandas = objects.astype(types)
    polars = pl.DataFrame({name: objects[name].to_list() for name in objects})
    tables = {
        "pandas": pandas,
        "pandas categories": pandas.astype({"word": "category"}),
        "pandas objects": objects,
        "polars": polars,
        "polars categories": polars.with_columns(pl.col("word").cast(pl.Categorical)),
        "pyarrow": polars.to_arrow(),
    }
    expected = quick().fit(pandas, y).predict(pandas)
    assert np.ptp(expected) > 1
    fitted_on_pandas = quick().fit(pandas, y)
    for name, table in tables.items():
        assert_array_equal(quick().fit(table, y).predict(table), expected, err_msg=name)
        assert_array_equal(fitted_on_pandas.predict(table), expected, err_msg=name)
    array = objects.to_numpy()
    assert_array_equal(quick().fit(array, y).predict(array), expected)
    rows = array.tolist()
    assert_array_equal(quick().fit(rows, y).predict(rows), expected)


@pytest.mark.parametrize("convert", [pd.DataFrame, lambda frame: pl.from_pandas(frame), pa.Table.from_pandas])
def test_column_names_and_their_order_are_checked(
    system: System, quick: Make, convert: Callable[[pd.DataFrame], Any]
) -> None:
    X, y = system
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = quick(max_iter=1).fit(convert(frame), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(convert(frame[["b", "a", "c"]]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- z\n.*now missing:\n- a"):
        model.predict(convert(frame.rename(columns={"a": "z"})))
    with pytest.raises(ValueError, match=r"now missing:\n- c"):
        model.predict(convert(frame[["a", "b"]]))


def test_the_number_of_columns_is_checked(system: System, quick: Make) -> None:
    X, y = system
    with pytest.raises(ValueError, match="X has 2 features, but CSIDRegressor is expecting 3"):
        quick(max_iter=1).fit(X, y).predict(X[:, :2])


@pytest.mark.parametrize("convert", [np.asarray, lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_a_long_table_is_predicted_in_parts(
    system: System, quick: Make, convert: Callable[[pd.DataFrame], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = system
    table = convert(pd.DataFrame(X, columns=["a", "b", "c"]))
    model = quick(max_iter=2).fit(table, y)
    whole = model.predict(table)
    monkeypatch.setattr(csid.fitted.model, "_PREDICTED_ROWS", 64)
    assert_array_equal(model.predict(table), whole)


def test_named_results(quick: Make) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=50), "c": rng.choice(["u", "v"], 50)})
    model = quick(levels=5, interpolation="constant").fit(table, table["x"])
    assert list(model.levels_) == list(model.factors_) == ["x", "c"]
    for name, factor in model.factors_.items():
        assert factor.shape == (len(model.levels_[name]), 3)
    assert model.levels_["c"] == ["u", "v"]
    assert model.feature_importances_.shape == (2,)
    assert_allclose(model.feature_importances_.sum(), 1.0)


# --- scikit-learn's tools -----------------------------------------------------------------------------------------


def test_clone_keeps_parameters_and_drops_the_fit(system: System, quick: Make) -> None:
    model = quick(smoothness=[1, 2, 3]).fit(*system)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(system[0])


@pytest.mark.parametrize("result", ["predict", "levels_", "factors_", "feature_importances_"])
def test_nothing_can_be_asked_before_a_fit_or_after_a_failed_one(system: System, quick: Make, result: str) -> None:
    model = quick(smoothness=[1.0])
    for _ in range(2):
        with pytest.raises(NotFittedError):
            model.predict(system[0]) if result == "predict" else getattr(model, result)
        with pytest.raises(ValueError, match="smoothness has shape"):
            model.fit(*system)


def test_a_model_survives_pickle_and_joblib(mixed: tuple[pd.DataFrame, Array], quick: Make, tmp_path: Path) -> None:
    X, y = mixed
    model = quick(n_estimators=2).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.levels_ == model.levels_


def test_grid_search_and_cross_validation(system: System, quick: Make) -> None:
    X, y = system
    search = GridSearchCV(quick(), {"rank": [1, 3], "levels": [4, 8]}, cv=3).fit(X, y)
    assert search.best_params_["rank"] == 3  # a single component cannot be a sum of two functions
    assert search.best_estimator_.cpd_.rank == 3
    assert cross_val_score(quick(max_iter=30), X, y, cv=3).min() > 0.5


def test_a_pipeline_and_a_scaler_that_hands_on_a_data_frame(system: System, quick: Make) -> None:
    X, y = system
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), quick()).fit(frame, y)
    scaled = StandardScaler().fit_transform(frame)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    assert_array_equal(pipeline.predict(frame), quick().fit(scaled, y).predict(scaled))


def test_categories_pass_through_a_column_transformer(mixed: tuple[pd.DataFrame, Array], quick: Make) -> None:
    X, y = mixed
    scale = ColumnTransformer([("scale", StandardScaler(), ["x"])], remainder="passthrough")
    X = X.astype({"x": float})
    pipeline = make_pipeline(scale.set_output(transform="pandas"), quick()).fit(X, y)
    assert pipeline[-1].levels_["remainder__word"] == ["u", "v", "w"]
    assert np.isfinite(pipeline.predict(X)).all()


def test_permutation_importance_sees_which_predictors_matter(quick: Make) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    model = quick().fit(X, np.sin(3 * X[:, 0]))
    matters, does_not = permutation_importance(model, X, np.sin(3 * X[:, 0]), random_state=0).importances_mean
    assert matters > 1
    assert abs(does_not) < 0.05


def test_weights_are_routed_through_pipelines_and_cross_validation(system: System, quick: Make) -> None:
    X, y = system
    weights = np.random.default_rng(0).uniform(0, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = quick().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), weighted)
        pipeline.fit(X, y, sample_weight=weights)
        folds = cross_validate(
            pipeline, X, y, cv=KFold(2), params={"sample_weight": weights}, return_estimator=True, return_indices=True
        )
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline.predict(X), quick().fit(scaled, y, weights).predict(scaled))
    for fold, train, test, score in zip(
        folds["estimator"], folds["indices"]["train"], folds["indices"]["test"], folds["test_score"], strict=True
    ):
        scaler = StandardScaler().fit(X[train])
        alone = quick().fit(scaler.transform(X[train]), y[train], weights[train])
        assert_array_equal(fold.predict(X[test]), alone.predict(scaler.transform(X[test])))
        assert score == alone.score(scaler.transform(X[test]), y[test], weights[test])


def test_tags() -> None:
    tags = get_tags(CSIDRegressor())
    assert tags.estimator_type == "regressor"
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert not tags.input_tags.sparse
    assert tags.target_tags.multi_output
    assert tags.target_tags.required


# --- targets and weights ------------------------------------------------------------------------------------------


def test_a_column_of_targets_is_a_row_of_them(system: System, quick: Make) -> None:
    X, y = system
    with pytest.warns(DataConversionWarning):
        model = quick().fit(X, y[:, None])
    assert_array_equal(model.predict(X), quick().fit(X, y).predict(X))


def test_several_outputs_are_fitted_together(system: System, quick: Make) -> None:
    X, _ = system
    one, two = np.sin(3 * X[:, 0]) * X[:, 1], X[:, 2] ** 2
    Y = np.column_stack([one, 1000 + 50 * two, one - two])
    model = quick(rank=6, max_iter=40).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert_array_equal(model.predict(X[:1]).shape, (1, 3))
    errors = ((Y - model.predict(X)) ** 2).mean(axis=0) / Y.var(axis=0)
    assert (errors < 0.05).all()


def test_an_output_that_never_changes_is_legal(system: System, quick: Make) -> None:
    X, y = system
    prediction = quick().fit(X, np.column_stack([y, np.full(len(y), 5.0)])).predict(X)
    assert_allclose(prediction[:, 1], 5.0, atol=1e-6)
    assert_allclose(quick().fit(X, np.zeros(len(y))).predict(X), 0.0, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-20, 2.0**600])
def test_predictions_shift_and_scale_with_the_target(system: System, quick: Make, scale: float) -> None:
    X, y = system
    expected = scale * quick().fit(X, y).predict(X)
    assert_allclose(quick().fit(X, scale * y).predict(X), expected, rtol=1e-9, atol=1e-9 * scale)


def test_a_whole_weight_is_that_many_rows(system: System, quick: Make) -> None:
    X, y = system
    times = np.random.default_rng(0).integers(1, 5, len(y))
    for options in ({}, {"interpolation": "constant"}, {"update": "row"}):
        # by default the number of levels follows the number of rows
        model = quick(levels=12, early_stopping=False, max_iter=5, **options)
        weighted = clone(model).fit(X, y, times)
        repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-9)
        assert_allclose(weighted.objective_history_[0], repeated.objective_history_[0], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"n_estimators": 2}])
def test_a_weight_of_zero_leaves_a_row_out(system: System, quick: Make, options: dict[str, Any]) -> None:
    X, y = system
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = weights > 0
    ruined = np.where(kept, y, 1e9)
    expected = quick(**options).fit(X[kept], y[kept], weights[kept])
    model = quick(**options).fit(X, ruined, weights)
    assert model.n_samples_ == expected.n_samples_
    assert_array_equal(model.predict(X), expected.predict(X))


def test_the_unit_of_weights_does_not_matter(system: System, quick: Make) -> None:
    X, y = system
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    assert_allclose(
        quick().fit(X, y, 1e6 * weights).predict(X), quick().fit(X, y, weights).predict(X), rtol=1e-9, atol=1e-9
    )


def test_weights_that_decay_to_nothing_are_legal(system: System, quick: Make) -> None:
    X, y = system
    weights = 0.7 ** np.arange(len(y))  # down to 1e-46
    assert np.isfinite(quick(levels=8).fit(X, y, weights).predict(X)).all()


# --- stopping, starts and histories -------------------------------------------------------------------------------


def test_histories_hold_a_falling_objective_per_sweep(system: System, quick: Make) -> None:
    model = quick(max_iter=12, tol=0.0, early_stopping=False).fit(*system)
    (objective,), (validation,) = model.objective_history_, model.validation_history_
    assert model.n_iter_ == len(objective) == 12
    assert len(validation) == 0
    assert (np.diff(objective) <= 1e-12).all()


def test_a_fit_stops_after_sweeps_without_progress(system: System, quick: Make) -> None:
    model = quick(max_iter=500, tol=0.1, n_iter_no_change=3, early_stopping=False).fit(*system)
    (objective,) = model.objective_history_
    gains = 1 - objective[1:] / np.minimum.accumulate(objective)[:-1]
    assert model.n_iter_ == len(objective) < 500
    assert (gains[-3:] <= 0.1).all()
    assert gains[-4] > 0.1


def test_given_validation_rows_pick_the_best_sweep(system: System, quick: Make) -> None:
    X, y = system
    options = {"rank": 8, "levels": 40, "max_iter": 30, "n_iter_no_change": 30, "interpolation": "constant"}
    model = quick(ridge=1.6e-8, smoothness=1e-8, **options).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    (history,) = model.validation_history_
    assert len(history) == model.n_iter_ == 30
    assert history.argmin() < 29  # it went on to overfit
    error = np.mean((y[150:] - model.predict(X[150:])) ** 2) / y[:150].var()
    assert_allclose(error, history.min(), rtol=1e-9)
    assert model.n_samples_ == 150


def test_held_out_rows_pick_the_best_sweep(system: System, quick: Make) -> None:
    X, y = system[0], system[1] + np.random.default_rng(1).normal(size=300)
    options = {"rank": 8, "levels": 300, "max_iter": 30, "n_iter_no_change": 30, "interpolation": "constant"}
    model = quick(ridge=1e-8, smoothness=1e-5, early_stopping=True, validation_fraction=0.25, **options).fit(X, y)
    (history,) = model.validation_history_
    assert model.n_samples_ == 225
    assert len(history) == 30
    assert history.argmin() < 29
    trained = np.isin(X[:, 0], model.levels_["x0"])  # as many levels as rows: each training value is one
    assert trained.sum() == 225
    error = np.mean((y[~trained] - model.predict(X[~trained])) ** 2) / y[trained].var()
    assert_allclose(error, history.min(), rtol=1e-9)


def test_rows_are_held_out_by_default_from_two_hundred_on(quick: Make) -> None:
    X = np.random.default_rng(0).uniform(size=(200, 1))
    for n, held_out in ((199, 0), (200, 20)):
        model = quick(max_iter=2).fit(X[:n], X[:n, 0])
        assert model.n_samples_ == n - held_out
        assert (len(model.validation_history_[0]) > 0) == (held_out > 0)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_the_best_of_several_starts_is_kept(
    system: System, quick: Make, monkeypatch: pytest.MonkeyPatch, early_stopping: bool
) -> None:
    results: list[ALSResult] = []
    fit_als = csid.inference.least_squares.fit_als

    def recorded(*args: Any) -> ALSResult:
        results.append(fit_als(*args))
        return results[-1]

    monkeypatch.setattr(csid.inference.least_squares, "fit_als", recorded)
    model = quick(n_init=4, early_stopping=early_stopping).fit(*system)
    scores = [result.criterion for result in results]
    best = results[int(np.argmin(scores))]
    assert len(set(scores)) == 4
    assert_array_equal(model.objective_history_[0], best.objective)
    assert_array_equal(model.validation_history_[0], best.validation)
    assert_array_equal(model.cpd_.factors[1], best.factors.factor(1))


# --- warm start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
def test_two_fits_of_n_sweeps_are_one_of_twice_as_many(system: System, quick: Make, outputs: int) -> None:
    X, y = system
    Y = y if outputs == 1 else np.column_stack([y, X[:, 0]])
    options = {"early_stopping": False, "tol": 0.0}
    whole = quick(max_iter=16, **options).fit(X, Y)
    model = quick(max_iter=8, warm_start=True, **options).fit(X, Y)
    first = model.objective_history_[0]
    second = model.fit(X, Y).objective_history_[0]
    assert second[0] <= first[-1]
    assert_allclose(np.concatenate([first, second]), whole.objective_history_[0], rtol=1e-10)
    assert_allclose(model.predict(X), whole.predict(X), rtol=1e-8, atol=1e-10)


def test_a_warm_start_keeps_the_levels_and_takes_new_rows(system: System, quick: Make) -> None:
    X, y = system
    model = quick(warm_start=True, levels=6).fit(X[:200], y[:200])
    levels = model.levels_
    assert model.fit(X[100:], y[100:]).levels_ == levels
    assert quick(levels=6).fit(X[100:], y[100:]).levels_ != levels


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_warm_start_on_other_targets_starts_from_the_same_function(system: System, quick: Make, outputs: int) -> None:
    X, y = system
    model = quick().fit(X, y if outputs == 1 else np.column_stack([y, X[:, 0]]))
    centre, scale = np.array([3.0, -1.0])[:outputs], np.array([20.0, 0.5])[:outputs]
    start = CPD.of(model.cpd_.standardised(centre, scale), centre, scale)
    rows = model.encoding_.encode(X, len(X))
    before, after = (cpd.evaluate(rows.codes, rows.fractions) for cpd in (model.cpd_, start))
    assert_allclose(after, before, rtol=1e-10, atol=1e-12)


def test_without_a_warm_start_a_fit_forgets(system: System, quick: Make) -> None:
    X, y = system
    model = quick().fit(X, y)
    assert_array_equal(model.fit(X[:, :2], -y).predict(X[:, :2]), quick().fit(X[:, :2], -y).predict(X[:, :2]))


def test_a_warm_start_continues_each_member_of_an_ensemble(system: System, quick: Make) -> None:
    options = {"n_estimators": 2, "early_stopping": False, "tol": 0.0}
    model = quick(warm_start=True, **options).fit(*system)
    last = [history[-1] for history in model.objective_history_]
    model.fit(*system)  # the same seed draws the same rows
    assert all(history[0] <= end for history, end in zip(model.objective_history_, last, strict=True))


def test_what_a_warm_start_cannot_continue_is_refused(system: System, quick: Make) -> None:
    X, y = system
    model = quick(warm_start=True, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match=r"fit of 1 output\(s\), but y has 2: keep the outputs, or .*warm_start=False"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"fit of rank 3, but rank=4: keep the rank, or .*warm_start=False"):
        model.set_params(rank=4).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but CSIDRegressor is expecting 3"):
        model.fit(X[:, :2], y)


def test_an_interrupted_fit_leaves_the_model_as_it_was(
    system: System, quick: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = system
    model = quick(levels=4).fit(X, y)
    before = model.predict(X)

    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(csid.inference.least_squares, "fit_als", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(levels=50).fit(X, y)
    assert_array_equal(model.predict(X), before)


# --- ensembles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_ensemble_is_one_tensor_that_predicts_the_mean_of_its_members(
    system: System, quick: Make, outputs: int
) -> None:
    X, y = system
    model = quick(n_estimators=3).fit(X, y if outputs == 1 else np.column_stack([y, X[:, 0]]))
    rows = model.encoding_.encode(X, len(X))
    members = [member.evaluate(rows.codes, rows.fractions) for member in model.members_]
    assert len(members) == len(model.objective_history_) == 3
    assert not np.allclose(members[0], members[1])
    assert model.cpd_.rank == 9
    assert_allclose(model.predict(X).reshape(len(X), -1), np.mean(members, axis=0), rtol=1e-12, atol=1e-12)


def test_members_stop_early_on_the_rows_they_did_not_draw(system: System, quick: Make) -> None:
    model = quick(n_estimators=2, early_stopping=True).fit(*system)
    assert [len(history) for history in model.validation_history_] == [
        len(history) for history in model.objective_history_
    ]
    assert model.n_samples_ == len(system[1])
    to_the_end = quick(n_estimators=2, early_stopping=False).fit(*system)
    assert all(len(history) == 0 for history in to_the_end.validation_history_)


# --- randomness and threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"n_estimators": 2, "n_init": 2}])
def test_the_same_seed_gives_the_same_bits(system: System, quick: Make, options: dict[str, Any]) -> None:
    X, y = system
    once, again = (quick(**options).fit(X, y).predict(X) for _ in range(2))
    assert_array_equal(once, again)
    assert not np.array_equal(once, quick(**options | {"random_state": 1}).fit(X, y).predict(X))
    generators = [quick(**options | {"random_state": np.random.RandomState(5)}).fit(X, y).predict(X) for _ in range(2)]
    assert_array_equal(*generators)


def test_without_a_seed_fits_differ(system: System, quick: Make) -> None:
    X, y = system
    once, again = (quick(random_state=None, max_iter=2).fit(X, y).predict(X) for _ in range(2))
    assert not np.array_equal(once, again)


def test_the_number_of_threads_does_not_change_a_bit_of_a_long_fit(quick: Make) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60_000, 3))
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    y = np.column_stack([rng.normal(size=len(X)), np.nan_to_num(X[:, 0] * X[:, 1])])
    one, two = (quick(max_iter=2, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert_array_equal(one.objective_history_[0], two.objective_history_[0])
    assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("options", [{"n_estimators": 3}, {"n_init": 3}, {"n_estimators": 2, "early_stopping": True}])
def test_the_number_of_threads_does_not_change_a_bit_of_an_ensemble(
    system: System, quick: Make, options: dict[str, Any]
) -> None:
    X, y = system
    one, two, every = (quick(n_jobs=n_jobs, **options).fit(X, y).predict(X) for n_jobs in (1, 2, -1))
    assert_array_equal(one, two)
    assert_array_equal(one, every)


# --- progress -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_estimators": 2, "n_jobs": 2}, {"early_stopping": True}])
def test_progress_is_drawn_on_standard_error_only(
    system: System, quick: Make, capsys: pytest.CaptureFixture[str], options: dict[str, Any]
) -> None:
    quick(verbose=1, **options).fit(*system)
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert "8/8" in drawn.err
    quick(**options).fit(*system)
    quiet = capsys.readouterr()
    assert quiet.out == quiet.err == ""


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, r"'rank' parameter .* range \[1, inf\). Got 0"),
        ({"levels": 100_000}, r"'levels' parameter .* range \[1, 65535\] .* Got 100000"),
        ({"levels": "many"}, "'levels' parameter"),
        ({"interpolation": "cubic"}, "'interpolation' parameter .*'constant'"),
        ({"missing": "drop"}, "'missing' parameter"),
        ({"likelihood": 3}, "'likelihood' parameter"),
        ({"likelihood": "student"}, "likelihood='student': give one of .*'gaussian', .*'student_t'"),
        ({"ridge": -1.0}, "'ridge' parameter"),
        ({"smoothness": -1.0}, "'smoothness' parameter"),
        ({"smoothness": [1.0, 1.0]}, r"smoothness has shape \(2,\), but X has 3 columns: give one number per column"),
        ({"smoothness": {"x0": 1.0, "x1": 1.0, "z": 1.0}}, "smoothness names 'z', but X has the columns 'x0'"),
        ({"smoothness_order": 3}, "'smoothness_order' parameter"),
        ({"update": "adam"}, "'update' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        (
            {"early_stopping": True, "validation_fraction": 0.999},
            "leaves 0 of 300 .*lower it, or set early_stopping=False",
        ),
        ({"categorical_features": "x0"}, "'categorical_features' parameter"),
        ({"categorical_features": ["z"]}, "categorical_features names 'z', but X has the columns 'x0', 'x1', 'x2'"),
        ({"categorical_features": [5]}, "categorical_features holds 5: give column names, or positions from 0 to 2"),
    ],
)
def test_bad_parameters_are_refused_by_name(system: System, quick: Make, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(*system)


def _with_infinity(X: Array, row: int) -> Array:
    X = X.copy()
    X[row, 1] = np.inf
    return X


def test_infinity_is_refused_with_its_row_in_the_table_as_given(system: System, quick: Make) -> None:
    X, y = system
    message = "column 'x1' holds inf in row 8. Replace"
    weights = np.where(np.arange(len(y)) < 5, 0.0, 1.0)
    with pytest.raises(ValueError, match=message):
        quick().fit(_with_infinity(X, 7), y)
    with pytest.raises(ValueError, match=message):
        quick().fit(_with_infinity(X, 7), y, weights)
    with pytest.raises(ValueError, match=message):
        quick(early_stopping=True, validation_fraction=0.5).fit(_with_infinity(X, 7), y)
    with pytest.raises(ValueError, match=message):
        quick(max_iter=1).fit(X, y).predict(_with_infinity(X, 7))


def test_mixed_types_are_refused_with_their_rows_in_the_table_as_given(system: System, quick: Make) -> None:
    X, y = system
    table = pd.DataFrame(X, columns=["a", "b", "c"]).astype(object)
    table.loc[9, "b"] = "nine"
    weights = np.where(np.arange(len(y)) < 5, 0.0, 1.0)
    for sample_weight in (None, weights):
        with pytest.raises(ValueError, match=r"column 'b' mixes types: .* in row 1, 'nine' \(str\) in row 10"):
            quick().fit(table, y, sample_weight)


def test_words_where_numbers_were_fitted_are_refused(system: System, quick: Make) -> None:
    X, y = system
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    words = table.assign(b="word")
    with pytest.raises(ValueError, match=r"column 'b' holds 'word' \(str\) in row 1 where numbers are expected"):
        quick(max_iter=1).fit(table, y).predict(words)
    with pytest.raises(ValueError, match=r"column 'b' holds 'word' .*name it in `categorical_features`"):
        quick(categorical_features=None).fit(words, y)
    mask = [True, False, False]  # says which numbers are categories; words are in any case
    assert quick(max_iter=1, categorical_features=mask).fit(words, y).levels_["b"] == ["word"]


def test_bad_targets_weights_and_rows_are_refused(system: System, quick: Make) -> None:
    X, y = system
    with pytest.raises(ValueError, match=r"Input y contains NaN, first in row 3 .*drop the rows"):
        quick().fit(X, np.where(np.arange(len(y)) == 2, np.nan, y))
    with pytest.raises(ValueError, match=r"X 300, y 299. Give one target"):
        quick().fit(X, y[1:])
    with pytest.raises(ValueError, match=r"sample_weight holds -1.0 in row 4.*zero to leave"):
        quick().fit(X, y, np.where(np.arange(len(y)) == 3, -1, 1))
    with pytest.raises(ValueError, match=r"0 sample.*minimum of 2 is required"):
        quick().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2 is required"):
        quick().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match=r"0 sample.*minimum of 1 is required"):
        quick(max_iter=1).fit(X, y).predict(X[:0])


def test_bad_validation_rows_are_refused(system: System, quick: Make) -> None:
    X, y = system
    with pytest.raises(ValueError, match="X_val is given without y_val: give both"):
        quick().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="y_val is given without X_val: give both"):
        quick().fit(X, y, y_val=y)
    with pytest.raises(ValueError, match="X_val 300, y_val 299"):
        quick().fit(X, y, X_val=X, y_val=y[1:])
    with pytest.raises(ValueError, match="Input y_val contains NaN, first in row 1"):
        quick().fit(X, y, X_val=X, y_val=np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="y_val has 2 outputs, but y has 1: give the same"):
        quick().fit(X, y, X_val=X, y_val=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="has 2 features, but CSIDRegressor is expecting 3"):
        quick().fit(X, y, X_val=X[:, :2], y_val=y)


def test_a_prediction_that_overflows_is_an_error_and_not_a_number(system: System, quick: Make) -> None:
    X, y = system
    model = quick().fit(X, y)
    for power in (1e150, -1e150):
        inflated = clone(model).fit(X, y)
        tensor = replace(model.cpd_, factors=tuple(power * A for A in model.cpd_.factors))
        inflated.__dict__.update(fitted_=replace(model.fitted_, tensor=tensor))
        with pytest.raises(ArithmeticError, match=r"overflows in row 1.* larger `ridge`"):
            inflated.predict(X)
