"""The classifiers as users of scikit-learn expect them: labels, probabilities, weights, pipelines, warm starts."""

import pickle
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import csid
from csid import BayesianCSIDClassifier, CSIDClassifier, InterruptedFitWarning
from csid.fitted.summary import summary_table
from csid.inference import gibbs
from csid.likelihoods.binary_probit import BinaryProbit

Array = NDArray[np.float64]
Classifier = CSIDClassifier | BayesianCSIDClassifier

pytestmark = pytest.mark.filterwarnings("ignore:The chains may not have converged")


def least_squares(**options: Any) -> CSIDClassifier:
    return CSIDClassifier(**{"rank": 3, "max_iter": 15, "levels": 8, "random_state": 0, "n_jobs": 1} | options)


def bayesian(**options: Any) -> BayesianCSIDClassifier:
    short = {"rank": 3, "levels": 8, "prior": "medium", "n_chains": 2, "n_burn": 8, "n_draws": 6, "effort": "fast"}
    return BayesianCSIDClassifier(**short | {"random_state": 0, "n_jobs": 1} | options)


MAKERS = [least_squares, bayesian]
both = pytest.mark.parametrize("make", MAKERS)
of_two_and_more = pytest.mark.parametrize("count", [2, 4])


@cache
def _data(count: int, rows: int = 240) -> tuple[pd.DataFrame, NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, 2)), columns=["a", "b"])
    X["word"] = rng.choice(["u", "v"], rows)
    z = 2 * X["a"] * X["b"] + X["a"] + (X["word"] == "u") + 0.2 * rng.standard_normal(rows)
    return X, np.array(list("dbca"), object)[np.digitize(z, np.quantile(z, np.arange(1, count) / count))]


def data(count: int = 2, rows: int = 240) -> tuple[pd.DataFrame, NDArray[Any]]:
    X, y = _data(count, rows)
    return X.copy(), y.copy()


# --- predictions --------------------------------------------------------------------------------------------------


@both
@of_two_and_more
def test_shapes_are_those_of_scikit_learn(make: Any, count: int) -> None:
    X, y = data(count)
    model = make().fit(X, y)
    p = model.predict_proba(X)
    assert model.classes_.tolist() == sorted(set(y))
    assert p.shape == (240, count)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(model.predict_log_proba(X), np.log(p))
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    decision = model.decision_function(X)
    assert decision.shape == ((240,) if count == 2 else (240, count))
    assert_array_equal(decision > 0 if count == 2 else decision.argmax(axis=1), p.argmax(axis=1))
    weights = np.where(y == "d", 3.0, 1.0)
    assert_allclose(model.score(X, y), np.mean(model.predict(X) == y))
    assert_allclose(model.score(X, y, weights), np.average(model.predict(X) == y, weights=weights))
    assert model.score(X, y) > (0.85 if count == 2 else 0.55)


@both
@pytest.mark.parametrize(
    ("labels", "kind"),
    [([3, 1], "i"), ([2.0, 1.0], "f"), ([False, True], "b"), (["no", "yes"], "O"), ([np.str_("x"), np.str_("y")], "O")],
    ids=str,
)
def test_labels_of_any_type_come_back(make: Any, labels: list[Any], kind: str) -> None:
    X, y = data()
    y = np.array(labels)[(y == "d").astype(int)]
    model = make().fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).dtype.kind == kind
    assert set(model.predict(X).tolist()) <= set(labels)


def test_containers_of_labels_give_the_same_bits() -> None:
    X, y = data(4)
    expected = least_squares().fit(X, y).predict_proba(X)
    for labels in (y.tolist(), pd.Series(y), pl.Series(y.tolist()), pd.Series(y, dtype="category")):
        assert_array_equal(least_squares().fit(X, labels).predict_proba(X), expected)


@both
def test_the_order_of_classes_orders_the_columns(make: Any) -> None:
    X, y = data(4)
    order = ["c", "a", "d", "b"]
    declared = pd.Series(pd.Categorical(y, order, ordered=True))
    model, other = make(class_order=order).fit(X, y), make().fit(X, declared)
    assert model.classes_.tolist() == other.classes_.tolist() == order
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert log_loss(y, model.predict_proba(X)[:, np.argsort(order)], labels=sorted(order)) < 1.1


def test_the_point_probabilities_are_those_at_the_tensor() -> None:
    X, y = data()
    model = least_squares().fit(X, y)
    rows = model.encoding_.encode(X, len(X))
    p = BinaryProbit().class_probabilities(model.cpd_.evaluate(rows.codes, rows.fractions), {})
    assert_allclose(model.predict_proba(X), p, atol=1e-11)


# --- expectation maximisation --------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(data=st.data())
def test_the_objective_falls_with_every_sweep(data: st.DataObject) -> None:
    """Whatever the rows, weights, penalties and starts: also where classes are separable, and cells missing."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    rows, count = data.draw(st.integers(8, 80)), data.draw(st.integers(2, 4))
    X = rng.uniform(-1, 1, (rows, 3)).round(1)
    X[rng.random(X.shape) < data.draw(st.sampled_from([0.0, 0.2]))] = np.nan
    noise = data.draw(st.sampled_from([0.0, 0.5]))
    y = np.digitize(np.nan_to_num(X[:, 0]) + noise * rng.standard_normal(rows), np.linspace(-0.5, 0.5, count - 1))
    y[:count] = range(count)
    weights = rng.uniform(0.1, 4.0, rows) if data.draw(st.booleans()) else None
    options = {
        "ridge": data.draw(st.sampled_from([1e-4, 1e-2])),
        "smoothness_order": data.draw(st.sampled_from([1, 2])),
        "output_smoothness": data.draw(st.sampled_from([0.0, 0.1])),
        "missing": data.draw(st.sampled_from(["marginalize", "level"])),
        "class_weight": data.draw(st.sampled_from([None, "balanced"])),
        "random_state": data.draw(st.integers(0, 3)),
    }
    model = least_squares(**options, early_stopping=False, max_iter=30, n_init=2, tol=0.0).fit(X, y, weights)
    (objective,) = model.objective_history_
    assert (np.diff(objective) <= 1e-9 * objective[0]).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_held_out_rows_stop_the_fit_and_scale_the_latent_values() -> None:
    """The history is twice the log loss, at the scale of the latent values that suits held-out rows best."""
    X, y = data(4)
    fitted = least_squares(max_iter=40).fit(X[:180], y[:180], X_val=X[180:], y_val=y[180:])
    (errors,) = fitted.validation_history_
    assert fitted.n_samples_ == 180
    assert_allclose(log_loss(y[180:], fitted.predict_proba(X[180:])), 0.5 * errors.min(), rtol=2e-3)
    latent = fitted.decision_function(X[180:])
    scales = [log_loss(y[180:], _probabilities(fitted, s * latent)) for s in (0.8, 1.0, 1.25)]
    assert scales[1] == min(scales)


def _probabilities(model: CSIDClassifier, latent: Array) -> Array:
    return model.fitted_.likelihood.predictive(latent[None], {}, np.ones(1)).probabilities  # type: ignore[attr-defined]


def test_separable_classes_are_predicted_with_confidence_that_is_bounded() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    y = X[:, 0] > 0
    for early_stopping in (True, False):
        p = CSIDClassifier(random_state=0, early_stopping=early_stopping).fit(X[:300], y[:300]).predict_proba(X[300:])
        assert log_loss(y[300:], p) < 0.12
        assert p.min() > 1e-12


def test_an_ensemble_is_one_tensor_of_the_mean_latent_values() -> None:
    X, y = data(4)
    model = least_squares(n_estimators=3, early_stopping=True).fit(X, y)
    rows = model.encoding_.encode(X, len(X))
    members = [each.evaluate(rows.codes, rows.fractions) for each in model.members_]
    assert_allclose(model.decision_function(X), np.mean(members, axis=0), atol=1e-9)
    assert all(len(history) for history in model.validation_history_)  # on out-of-bag rows
    assert model.score(X, y) > 0.6


def test_starts_blocks_and_updates() -> None:
    X, y = data(4)
    for options in ({"n_init": 3}, {"solver": "stochastic"}, {"update": "row"}, {"update": "cg"}):
        assert least_squares(**options, max_iter=60, early_stopping=False).fit(X, y).score(X, y) > 0.6


def test_what_needs_squared_errors_is_refused() -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"pmf_rank=2 is not supported .* use BayesianCSIDClassifier"):
        least_squares(pmf_rank=2).fit(X, y)
    with pytest.raises(ValueError, match=r"does not work with solver='stochastic': use solver='gibbs'\."):
        bayesian(solver="stochastic").fit(X, y)
    assert not hasattr(least_squares(solver="stochastic"), "partial_fit")
    with pytest.raises(ValueError, match="has 2 classes, but y has 4: give 'probit'"):
        least_squares(likelihood=BinaryProbit()).fit(*data(4))


# --- weights ------------------------------------------------------------------------------------------------------


@both
@of_two_and_more
@pytest.mark.parametrize("weight", ["balanced", {"d": 4.0}], ids=str)
def test_class_weights_multiply_the_weights_of_rows(make: Any, count: int, weight: Any) -> None:
    X, y = data(count)
    X, y = X[60:].reset_index(drop=True), y[60:]
    own = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    totals = {label: own[y == label].sum() for label in set(y)}
    by_label = {label: 1.0 / total for label, total in totals.items()} if weight == "balanced" else {"d": 4.0}
    one = make(class_weight=weight).fit(X, y, own)
    other = make().fit(X, y, own * [by_label.get(label, 1.0) for label in y])
    changed = np.abs(one.predict_proba(X) - make().fit(X, y, own).predict_proba(X)).max()
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-4, atol=1e-4)
    assert changed > 1e-3


@both
def test_a_rare_class_of_a_large_weight_is_predicted_more(make: Any) -> None:
    X, y = data()
    rare = (y == "d") & (np.arange(240) % 5 > 0)
    X, y = X[~rare], y[~rare]
    plain, balanced = (make(class_weight=each).fit(X, y) for each in (None, "balanced"))
    at = plain.classes_.tolist().index("d")
    assert balanced.predict_proba(X)[:, at].mean() > plain.predict_proba(X)[:, at].mean() + 0.03


@both
def test_class_weights_are_checked(make: Any) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="class_weight names 'e', which is not a class of y: the classes are 'b', 'd'"):
        make(class_weight={"e": 1.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"'class_weight' parameter .* must be"):
        make(class_weight="equal").fit(X, y)


@both
def test_counts_are_repeated_rows(make: Any) -> None:
    X, y = data(4)
    counts = np.random.default_rng(0).integers(0, 3, 240)
    repeated = np.repeat(np.arange(240), counts)
    options = {"weights": "counts", "early_stopping": False} if make is least_squares else {"weights": "counts"}
    one = make(**options).fit(X, y, counts)
    if make is least_squares:  # to the rounding of sums; the sampler draws other numbers
        other = make(**options).fit(X.iloc[repeated], y[repeated])
        assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-4, atol=1e-4)
    assert np.isfinite(one.predict_proba(X)).all()
    with pytest.raises(ValueError, match="weights='counts' needs whole numbers"):
        make(weights="counts").fit(X, y, counts + 0.5)
    weighted = make(**options, class_weight={"d": 2.5}).fit(X, y, counts)
    assert np.abs(weighted.predict_proba(X) - one.predict_proba(X)).max() > 1e-3


@both
def test_a_class_of_weight_zero_stays_a_class_and_gets_no_probability(make: Any, tmp_path: Path) -> None:
    X, y = data(4)
    model = make().fit(X, y, np.where(y == "a", 0.0, 1.0))
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.predict_proba(X)[:, 0].mean() < 0.1
    model.save(tmp_path / "model.csid")
    assert_array_equal(csid.load(tmp_path / "model.csid").predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="y has one class, 'a', in the rows of positive weight"):
        make().fit(X, y, np.where(y == "a", 1.0, 0.0))


# --- with the rest of scikit-learn ---------------------------------------------------------------------------------


@both
@of_two_and_more
def test_searches_pipelines_and_calibration(make: Any, count: int) -> None:
    X, y = data(count)
    encoder = make_column_transformer((StandardScaler(), ["a", "b"]), remainder="passthrough")
    search = GridSearchCV(make(), {"rank": [1, 3]}, scoring="neg_log_loss", cv=2).fit(X, y)
    models = [search, make_pipeline(encoder.set_output(transform="pandas"), make()).fit(X, y)]
    models.append(CalibratedClassifierCV(make(), cv=2, ensemble=False).fit(X, y))
    stack = StackingClassifier([("csid", make()), ("rank 1", make(rank=1))], LogisticRegression(), cv=2)
    models.append(stack.fit(X, y))
    for model in models:
        p = model.predict_proba(X)
        assert p.shape == (240, count)
        assert np.isfinite(p).all()
        assert model.score(X, y) > -1.5  # of the search, minus the log loss
    assert search.best_params_["rank"] in (1, 3)


@both
def test_members_of_a_bag_have_all_classes(make: Any) -> None:
    """Bags draw rows by weights, or by indices where a class may be absent."""
    X, y = data(4, 60)
    model = BaggingClassifier(make(), 3, random_state=0).fit(X[["a", "b"]], y)
    assert np.isfinite(model.predict_proba(X[["a", "b"]])).all()


@both
def test_clones_and_pickles(make: Any) -> None:
    X, y = data(4)
    model = make(class_weight={"a": 2.0}, class_order=["d", "c", "b", "a"]).fit(X, y)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "fitted_")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


@both
def test_weights_are_routed(make: Any) -> None:
    X, y = data()
    weights = np.where(y == "d", 5.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(model, X, y, params={"sample_weight": weights}, cv=2)
        inside = make_pipeline(model).fit(X, y, sample_weight=weights)
    assert np.isfinite(found["test_score"]).all()
    assert_array_equal(inside.predict_proba(X), make().fit(X, y, weights).predict_proba(X))


# --- files --------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("labels", [["d", "b"], [2, 1], [True, False]], ids=str)
def test_a_file_keeps_labels_weights_and_probabilities(make: Any, labels: list[Any], tmp_path: Path) -> None:
    X, y = data()
    y = np.array(labels)[(y == "d").astype(int)]
    model = make(class_weight={labels[0]: 3.0}, class_order=labels).fit(X, y)
    model.save(tmp_path / "model.csid")
    loaded = csid.load(tmp_path / "model.csid")
    assert type(loaded) is type(model)
    assert loaded.class_weight == {labels[0]: 3.0}
    assert loaded.classes_.tolist() == labels
    assert type(loaded.classes_.tolist()[0]) is type(labels[0])
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(clone(loaded).set_params(n_jobs=1).fit(X, y).predict_proba(X), model.predict_proba(X))


def test_a_least_squares_fit_continues_from_a_file(tmp_path: Path) -> None:
    X, y = data(4)
    model = least_squares(warm_start=True, class_weight="balanced", max_iter=3).fit(X, y)
    model.save(tmp_path / "model.csid")
    loaded = csid.load(tmp_path / "model.csid")
    assert isinstance(loaded, CSIDClassifier)
    assert_allclose(loaded.fit(X, y).predict_proba(X), model.fit(X, y).predict_proba(X), atol=1e-12)


# --- warm starts and interrupts ------------------------------------------------------------------------------------


@both
def test_a_warm_start_continues_with_the_same_classes(make: Any) -> None:
    X, y = data(4)
    model = make(warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"y holds 'z' in row 4, which no training row had: the classes are 'a', 'b'"):
        model.fit(X, np.where(np.arange(240) == 3, "z", y))
    assert_array_equal(model.predict_proba(X), before)
    some = y != "a"  # rows of fewer classes
    model.fit(X[some], y[some])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.predict_proba(X).shape == (240, 4)


def test_two_fits_of_n_sweeps_are_one_of_twice_as_many() -> None:
    X, y = data(4)
    options = {"early_stopping": False, "tol": 0.0}
    twice = least_squares(warm_start=True, max_iter=5, **options).fit(X, y).fit(X, y)
    assert_allclose(twice.predict_proba(X), least_squares(max_iter=10, **options).fit(X, y).predict_proba(X), rtol=1e-6)


def test_a_warm_start_adds_draws() -> None:
    X, y = data(4)
    model = bayesian(warm_start=True).fit(X, y)
    assert len(model.posterior_.weights) == 12
    assert len(model.fit(X, y).posterior_.weights) == 24


def test_an_interrupt_keeps_the_draws_made_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(4)
    drawn, calls = gibbs.draw_bias, iter(range(10**6))

    def interrupted(*given: Any) -> Any:
        if next(calls) == 21:  # the second chain, or the first one of two threads
            raise KeyboardInterrupt
        return drawn(*given)

    monkeypatch.setattr(gibbs, "draw_bias", interrupted)
    with pytest.warns(InterruptedFitWarning, match="keeps the draws made so far"):
        model = bayesian().fit(X, y)
    assert 0 < len(model.posterior_.weights) < 12
    assert np.isfinite(model.predict_proba(X)).all()


# --- threads, missing cells, small and wide tables -----------------------------------------------------------------


@both
@of_two_and_more
def test_the_number_of_threads_changes_nothing(make: Any, count: int) -> None:
    X, y = data(count)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    one, two = (make(n_jobs=threads).fit(X, y).predict_proba(X) for threads in (1, 3))
    assert_array_equal(one, two)


@of_two_and_more
@pytest.mark.parametrize(
    "options",
    [{"missing": "level"}, {"missing": "marginalize", "pmf_rank": 1}, {"missing": "marginalize", "pmf_rank": 3}],
)
def test_missing_cells_in_every_treatment(count: int, options: dict[str, Any]) -> None:
    X, y = data(count)
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.15)
    makers = MAKERS if options.get("pmf_rank") != 3 else [bayesian]
    for make in makers:
        model = make(**options).fit(gaps, y)
        assert model.score(gaps, y) > 1.3 / count
        nothing = pd.DataFrame({"a": [np.nan], "b": [np.nan], "word": [None]})
        assert np.isfinite(model.predict_proba(nothing)).all()
        assert np.isfinite(model.predict_proba(X.assign(word="new"))).all()


@both
def test_one_row_of_a_class_and_tables_of_two_rows(make: Any) -> None:
    X, y = data()
    few = np.where(np.arange(240) == 7, "only", y)
    model = make().fit(X, few)
    assert model.classes_.tolist() == ["b", "d", "only"]
    assert model.fitted_.classes.counts.tolist()[2] == 1.0
    for rows in (2, 3, 12):
        tiny = make().fit(np.arange(rows)[:, None] * 1.0, [0, *[1] * (rows - 1)])
        assert np.isfinite(tiny.predict_proba([[0.0], [5.0]])).all()


@both
def test_a_thousand_columns(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 1000)).astype(float)
    y = X[:, 0] > 0
    short = {"max_iter": 4} if make is least_squares else {"n_burn": 2, "n_draws": 2, "whole_numbers": "number"}
    model = make(rank=2, levels=3, pmf_rank=1, **short).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@both
def test_a_refused_refit_leaves_the_model_as_it_was(make: Any) -> None:
    X, y = data()
    model = make().fit(X, y)
    fitted = model.fitted_
    for wrong in (np.full(240, "b"), np.linspace(0, 1, 240), [None, *y[1:]], y[:-1], np.stack([y, y], axis=1)):
        with pytest.raises(ValueError, match=r"class|continuous|NaN|inconsistent|multilabel"):
            model.fit(X, wrong)
        assert model.fitted_ is fitted


# --- what a fit shows ----------------------------------------------------------------------------------------------


def test_a_summary_is_of_classes() -> None:
    X, y = data(4)
    lines = dict(summary_table(bayesian(prior=["medium", "smooth"]).fit(X, y).fitted_).rows)
    assert lines["classes"] == "4: a (60), b (60), c (60), d (60)"
    assert lines["likelihood"] == "probit, 4 classes"
    assert "log loss" in lines["held out"]
    assert "Brier score" in lines["held out"]
    assert "noise scale" not in lines
    lines = dict(summary_table(least_squares().fit(X, y).fitted_).rows)
    assert lines["held out"].endswith(" on the rows for early stopping")
    assert "classes_" in bayesian().fit(X, y)._repr_html_()


def test_a_warning_of_chains_that_have_not_converged_speaks_of_the_log_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csid.estimators.sampling._LARGEST_DRIFT", -1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bayesian().fit(*data())
    (warning,) = [each for each in caught if "may not have converged" in str(each.message)]
    assert "the log loss on the training rows drifted by 0." in str(warning.message)
    assert Path(warning.filename).samefile(__file__)


@both
def test_progress_speaks_of_the_log_loss(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    make(verbose=1).fit(*data())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "R²" not in shown.err
    assert ("held-out log loss 0." in shown.err) == (make is least_squares)
