"""Censored targets: the fit is of the value itself, on disk and on a cluster too, by sampling and by least squares."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import csid
from csid import Batches, BayesianCSIDRegressor, CSIDRegressor, ModelFileError, load
from csid.export import to_onnx, to_python
from csid.model_file import container

Array = np.ndarray
LIMIT = 0.8


def _model(**options: Any) -> BayesianCSIDRegressor:
    quick = {"rank": 3, "effort": "fast", "prior": ["medium", "smooth"], "likelihood": "censored_gaussian"}
    return BayesianCSIDRegressor(**{**quick, "random_state": 0, "n_jobs": 1, **options})


def _system(rows: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Predictors, noisy values, and values without noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    exact = 2.0 * X[:, 0] * X[:, 1] + X[:, 0]
    return X, exact + 0.3 * rng.standard_normal(rows), exact


def _with_limit(values: Array) -> Array:
    """Known up to a limit of detection, and rounded down to halves in every fifth row."""
    lower, upper = np.minimum(values, LIMIT), np.where(values < LIMIT, values, np.inf)
    rounded = (np.arange(len(values)) % 5 == 0) & (values < LIMIT)
    lower[rounded] = np.floor(2.0 * values[rounded]) / 2.0
    upper[rounded] = lower[rounded] + 0.5
    return csid.censored(lower, upper)


@pytest.fixture(scope="module")
def fitted() -> BayesianCSIDRegressor:
    X, values, _ = _system(500)
    return _model().fit(X, _with_limit(values))


def test_the_value_behind_the_limit_is_found(fitted: BayesianCSIDRegressor) -> None:
    """Ignoring the limit is much worse; intervals cover the uncensored values."""
    (X, values, _), (new, truth, exact) = _system(500), _system(500, seed=1)
    ignoring = _model(likelihood="gaussian").fit(X, np.minimum(values, LIMIT))
    errors = [np.sqrt(np.mean((model.predict(new) - exact) ** 2)) for model in (fitted, ignoring)]
    assert errors[0] < 0.12
    assert errors[1] > 1.5 * errors[0]
    lower, upper = fitted.predict_interval(new, 0.9)
    assert abs(np.mean((lower < truth) & (truth < upper)) - 0.9) < 0.06
    assert fitted.noise_[0] == pytest.approx(0.3, rel=0.15)
    assert fitted.predict_quantiles(new).shape == (500, 3)
    assert fitted.sample_y(new, 4).shape == (500, 4)


def test_the_score_is_the_concordance_index(fitted: BayesianCSIDRegressor) -> None:
    new, truth, exact = _system(300, seed=2)
    y = _with_limit(truth)
    perfect = csid.concordance_index(np.ones(300), truth, -exact)
    assert fitted.score(new, y) == pytest.approx(perfect, abs=0.03)
    accuracy = fitted.accuracy_
    assert accuracy.rows == 100
    assert 0.5 < accuracy.known < 0.9
    assert accuracy.concordance == pytest.approx(perfect, abs=0.08)
    assert "concordance index" in fitted._repr_html_()


def test_plain_numbers_are_known_values() -> None:
    X, values, _ = _system(200)
    model = _model(prior="medium")
    known = clone(model).fit(X, values).predict(X[:20])
    assert_array_equal(known, clone(model).fit(X, csid.censored(values, values)).predict(X[:20]))


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_lowers_its_objective_in_every_sweep(weighted: bool) -> None:
    X, values, _ = _system(400)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 400) if weighted else None
    model = CSIDRegressor(
        rank=3, likelihood="censored_gaussian", max_iter=40, tol=0.0, early_stopping=False, random_state=0
    )
    model.fit(X, _with_limit(values), weights)
    assert (np.diff(model.objective_history_[0]) <= 1e-9).all()
    ignoring = CSIDRegressor(rank=3, max_iter=40, random_state=0).fit(X, np.minimum(values, LIMIT), weights)
    new, _, exact = _system(500, seed=1)
    errors = [np.mean((each.predict(new) - exact) ** 2) for each in (model, ignoring)]
    assert errors[0] < 0.7 * errors[1]
    assert model.score(X, _with_limit(values)) > 0.8


def test_counts_of_rows_are_repeated_rows() -> None:
    """The noise and the predictions are those of the repeated rows, up to the Monte Carlo error."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 2)).astype(float)
    values = X[:, 0] - 0.7 * X[:, 1] + 0.5 * X.prod(axis=1) + 0.6 * rng.standard_normal(600)
    lower = np.floor(np.minimum(2.0 * values, 3.0)) / 2.0
    upper = np.where(lower < 1.5, lower + 0.5, np.inf)
    different, times = np.unique(np.column_stack([X, lower, upper]), axis=0, return_counts=True)
    assert len(different) < 60
    options = {"prior": "medium", "n_chains": 2, "n_burn": 40, "n_draws": 100}
    repeated = _model(**options).fit(X, csid.censored(lower, upper))
    y = csid.censored(different[:, 2], different[:, 3])
    counted = _model(**options, weights="counts").fit(different[:, :2], y, times)
    assert counted.noise_[0] == pytest.approx(repeated.noise_[0], rel=0.05)
    assert_allclose(counted.predict(X), repeated.predict(X), atol=0.12)


def test_gaps_do_not_inflate_the_noise() -> None:
    X, values, _ = _system(500)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.15, np.nan, X)
    model = _model(prior="medium", missing="marginalize", pmf_rank=1).fit(X, _with_limit(values))
    assert 0.25 < model.noise_[0] < 0.45  # the truth is 0.3, and the deviation of the values over a gap is above 1
    lower, upper = model.predict_interval([[0.9, 0.9], [np.nan, 0.9]])
    assert (upper - lower)[1] > 1.5 * (upper - lower)[0]


def test_the_number_of_threads_changes_nothing(fitted: BayesianCSIDRegressor) -> None:
    X, values, _ = _system(500)
    threaded = _model(n_jobs=2).fit(X, _with_limit(values))
    assert_array_equal(threaded.predict_interval(X[:50]), fitted.predict_interval(X[:50]))


def test_a_fit_is_continued() -> None:
    X, values, _ = _system(200)
    model = _model(prior="medium", warm_start=True).fit(X, _with_limit(values))
    draws = len(model.posterior_.weights)
    model.fit(X, _with_limit(values))
    assert len(model.posterior_.weights) == 2 * draws
    with pytest.raises(ValueError, match="warm_start continues a fit of likelihood="):
        model.set_params(likelihood="gaussian").fit(X, values)


def test_bad_targets_lose_nothing(fitted: BayesianCSIDRegressor) -> None:
    X, values, _ = _system(100)
    before = fitted.fitted_
    for y, message in (
        (np.column_stack([values, values]), r"give y=csid.censored\(lower, upper\)"),
        (csid.censored(values, np.inf), "all rows of y are censored on one side"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.fit(X, y)
    with pytest.raises(ValueError, match="y has the fields 'lower', 'upper', but must be numbers"):
        clone(fitted).set_params(likelihood="gaussian").fit(X, _with_limit(values))
    assert fitted.fitted_ is before


def test_it_survives_a_file(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again, (X, _, _) = load(tmp_path / "model"), _system(20)
    assert isinstance(again, BayesianCSIDRegressor)
    assert_array_equal(again.predict_interval(X), fitted.predict_interval(X))
    assert again.accuracy_ == fitted.accuracy_
    header, arrays = container.read(tmp_path / "model")
    entries = {name: entry for name, entry in header.entries.items() if name != "sha256"}
    container.write(tmp_path / "wrong", entries, arrays | {"draws.0.noise": -arrays["draws.0.noise"]})
    with pytest.raises(ModelFileError, match=r"draws\.0\.noise.*is not positive"):
        load(tmp_path / "wrong")
    container.write(tmp_path / "wrong", entries | {"estimator": "BayesianCSIDSurvival"}, arrays)
    with pytest.raises(ModelFileError, match="contradicts its likelihood"):
        load(tmp_path / "wrong")


def test_other_programs_compute_the_same_intervals(fitted: BayesianCSIDRegressor) -> None:
    import onnxruntime

    X, _, _ = _system(10, seed=4)
    lower, upper = fitted.predict_interval(X, 0.8)
    session = onnxruntime.InferenceSession(to_onnx(fitted, interval=0.8).SerializeToString())
    _, low, high = session.run(None, {f"x{n}": X[:, [n]] for n in range(2)})
    assert_allclose(np.hstack([low, high]).T, (lower, upper), atol=1e-8)
    module: dict[str, Any] = {"__name__": "model"}
    exec(to_python(fitted), module)
    found = module["predict_interval"](dict(zip(("x0", "x1"), X[0], strict=True)), coverage=0.8)
    assert_allclose(found, (lower[0], upper[0]), atol=1e-8)


def test_a_page_has_no_metrics_of_censored_targets(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    X, values, _ = _system(30)
    with pytest.raises(ValueError, match="y has the fields 'lower', 'upper', but must be numbers here"):
        fitted.report(tmp_path / "page.html", X, _with_limit(values))
    assert not any(tmp_path.iterdir())
    fitted.report(tmp_path / "page.html", X)
    assert "normal, censored" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_rows_on_disk_and_on_a_cluster_are_fitted() -> None:
    import dask
    import dask.array as da

    from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor

    X, values, _ = _system(500)
    y, quick = _with_limit(values), {"n_chains": 1, "n_burn": 20, "n_draws": 12, "prior": "medium"}

    def batches() -> Iterator[tuple[Array, Array]]:
        yield X[:200], y[:200]
        yield X[200:], y[200:]

    options = {"rank": 3, "likelihood": "censored_gaussian", "random_state": 0}
    models = [
        _model(**quick).fit(Batches(batches)),
        _model(**quick).fit(batches()),
        CSIDRegressor(**options).fit(Batches(batches)),
    ]
    with dask.config.set(scheduler="synchronous"):
        lazy = da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=250)
        quick["n_draws"] = 4
        models.append(DaskBayesianCSIDRegressor(**options, effort="fast", **quick).fit(*lazy).to_local())
        models.append(DaskCSIDRegressor(**options, max_iter=10).fit(*lazy).to_local())
    new, _, exact = _system(300, seed=5)
    for model in models:
        assert model.predict(new).shape == (300,)
        assert np.sqrt(np.mean((model.predict(new) - exact) ** 2)) < 0.25


def test_a_bad_row_of_a_batch_names_the_batch() -> None:
    X, values, _ = _system(100)
    y = csid.censored(values, values)
    y["lower"][60] += 1.0

    def batches() -> Iterator[tuple[Array, Array]]:
        yield X[:50], y[:50]
        yield X[50:], y[50:]

    with pytest.raises(ValueError, match=r"batch 1: y holds lower=.* in row 11 .*lower bound is above"):
        _model().fit(Batches(batches))
