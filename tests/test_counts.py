"""Regression of counts: a known truth is found, predictions are of whole numbers, and wrong input is refused."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import d2_tweedie_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csid import Batches, BayesianCSIDRegressor, CSIDRegressor, ModelFileError, ParquetRows, load
from csid.export import to_json, to_onnx, to_python
from csid.fitted.accuracy import CountAccuracy
from csid.likelihoods.count_predictive import DispersionCalibration
from csid.likelihoods.negative_binomial import NegativeBinomial
from csid.model_file import container

Array = np.ndarray

pytestmark = pytest.mark.filterwarnings("ignore:The chains may not have converged")  # they are short

NAMES = ["poisson", "negative_binomial"]
both = pytest.mark.parametrize("likelihood", NAMES)
R = 2.0


def _model(likelihood: str, **parameters: Any) -> BayesianCSIDRegressor:
    few = {"rank": 4, "effort": "fast", "prior": ["medium", "smooth"], "random_state": 0, "n_jobs": 1}
    return BayesianCSIDRegressor(likelihood=likelihood, **(few | parameters))


def _rows(likelihood: str, rows: int = 500, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Predictors, counts, exposure, and the true rates."""
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(-1, 1, (rows, 2)), rng.uniform(0.3, 6.0, rows)
    rates = np.exp(0.5 + 1.2 * np.sin(3 * X[:, 0]) * X[:, 1])
    noise = rng.gamma(R, 1.0 / R, rows) if likelihood == "negative_binomial" else np.ones(rows)
    return X, rng.poisson(exposure * rates * noise).astype(float), exposure, rates


@pytest.fixture(scope="module", params=NAMES)
def fitted(request: pytest.FixtureRequest) -> BayesianCSIDRegressor:
    X, y, exposure, _ = _rows(request.param)
    return _model(request.param).fit(X, y, exposure=exposure)


def test_a_known_truth_is_found(fitted: BayesianCSIDRegressor) -> None:
    """Rates, intervals and the dispersion, although the exposures differ by a factor of twenty."""
    X, y, exposure, rates = _rows(fitted.likelihood, 1000, seed=1)
    assert np.corrcoef(np.log(fitted.predict(X)), np.log(rates))[0, 1] > 0.9
    assert_allclose(np.mean(np.log(fitted.predict(X) / rates)), 0.0, atol=0.12)
    lower, upper = fitted.predict_interval(X, 0.9, exposure=exposure)
    assert 0.88 < np.mean((lower <= y) & (y <= upper)) < 0.98
    if fitted.likelihood == "negative_binomial":
        assert 1.3 < fitted.posterior_.weights @ fitted.posterior_.parameters["dispersion"][:, 0] < 3.0
    found = fitted.accuracy_
    assert isinstance(found, CountAccuracy)
    assert found.rows == 100
    assert 0.85 < found.coverage <= 1.0
    assert found.deviance > 0.5
    assert found.log_density < 0.0
    assert isinstance(fitted.calibration_, DispersionCalibration)


def test_predictions_are_of_whole_numbers_and_scale_with_exposure(fitted: BayesianCSIDRegressor) -> None:
    X, _, exposure, _ = _rows(fitted.likelihood, 40, seed=2)
    mean, deviation = fitted.predict(X, return_std=True, exposure=exposure)
    assert_allclose(mean, exposure * fitted.predict(X))
    assert_allclose(fitted.predict(X, exposure=3.0), 3.0 * fitted.predict(X))
    parts = fitted.predict_uncertainty(X, exposure=exposure)
    assert_allclose(parts.total, deviation)
    assert_allclose(parts.model**2 + parts.noise**2, parts.total**2)
    assert (parts.noise**2 >= mean - 1e-9).all()
    quantiles = fitted.predict_quantiles(X, (0.1, 0.5, 0.9), exposure=exposure)
    assert_array_equal(quantiles, np.rint(quantiles))
    assert (np.diff(quantiles) >= 0.0).all()
    drawn = fitted.sample_y(X, 400, random_state=0, exposure=exposure)
    assert_array_equal(drawn, np.rint(drawn))
    assert (np.abs(drawn.mean(axis=1) - mean) < 5.0 * deviation / np.sqrt(400)).all()


def test_the_score_is_the_explained_deviance(fitted: BayesianCSIDRegressor) -> None:
    X, y, exposure, _ = _rows(fitted.likelihood, 300, seed=3)
    assert_allclose(fitted.score(X, y), d2_tweedie_score(y, fitted.predict(X), power=1))
    assert fitted.score(X, y, exposure=exposure) > fitted.score(X, y)
    weights = np.repeat([1.0, 2.0], 150)
    twice = [np.concatenate([each, each[150:]]) for each in (X, y, exposure)]
    assert_allclose(fitted.score(X, y, weights, exposure), fitted.score(*twice[:2], exposure=twice[2]))


@both
def test_a_fit_does_not_depend_on_threads(likelihood: str) -> None:
    X, y, exposure, _ = _rows(likelihood, 120)
    X[::7, 0] = np.nan
    one, two = (_model(likelihood, n_jobs=n).fit(X, y, exposure=exposure) for n in (1, 2))
    assert_array_equal(one.predict(X), two.predict(X))
    assert_array_equal(one.posterior_.weights, two.posterior_.weights)


def test_without_exposure_it_is_one() -> None:
    X, y, _, _ = _rows("poisson", 100)
    plain, ones = _model("poisson").fit(X, y), _model("poisson").fit(X, y, exposure=np.ones(100))
    assert_array_equal(plain.predict(X), ones.predict(X, exposure=1.0))


def test_a_constant_factor_of_exposure_divides_the_rate() -> None:
    X, y, exposure, _ = _rows("poisson", 200)
    hours, minutes = (_model("poisson").fit(X, y, exposure=unit * exposure) for unit in (1.0, 60.0))
    assert_allclose(60.0 * minutes.predict(X), hours.predict(X), rtol=0.1)


@both
def test_tables_with_gaps(likelihood: str) -> None:
    """Averaging over missing cells; intervals of rows with gaps are wider."""
    X, y, exposure, _ = _rows(likelihood, 400)
    gaps = X.copy()
    gaps[np.random.default_rng(5).random(X.shape) < 0.15] = np.nan
    model = _model(likelihood, missing="marginalize", pmf_rank=1).fit(gaps, y, exposure=exposure)
    new, counts, of_new, _ = _rows(likelihood, 500, seed=6)
    new[:, 1] = np.nan
    lower, upper = model.predict_interval(new, exposure=of_new)
    assert 0.82 < np.mean((lower <= counts) & (counts <= upper)) <= 0.99
    assert (model.predict_uncertainty(new).model.mean()) > 2.0 * model.predict_uncertainty(X).model.mean()


def test_whole_weights_are_repeated_rows() -> None:
    """The posterior means agree up to Monte Carlo error; without the weights they do not."""
    X, y, exposure, _ = _rows("poisson", 150)
    times = np.where(X[:, 0] > 0.0, 6, 1)
    y[X[:, 0] > 0.0] *= 2.0
    settings = {"weights": "counts", "prior": "medium", "n_chains": 4}
    weighted = _model("poisson", **settings).fit(X, y, times, exposure)
    repeated = _model("poisson", **settings).fit(
        *(np.repeat(each, times, axis=0) for each in (X, y)), None, np.repeat(exposure, times)
    )
    assert abs(np.log(weighted.predict(X) / repeated.predict(X))).mean() < 0.1


def test_more_draws_by_a_warm_start() -> None:
    X, y, exposure, _ = _rows("negative_binomial", 80)
    model = _model("negative_binomial", warm_start=True, prior="medium", n_chains=2, n_draws=5).fit(
        X, y, exposure=exposure
    )
    before = len(model.posterior_.weights)
    assert len(model.fit(X, y, exposure=exposure).posterior_.weights) > before


# --- other ways to give rows ------------------------------------------------------------------------------------------


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    X, y, exposure, _ = _rows("negative_binomial", 200)
    table = pd.DataFrame(X, columns=["a", "b"])
    path = str(tmp_path / "counts.parquet")
    table.assign(claims=y, years=exposure).to_parquet(path)
    one, rows = (_model("negative_binomial", prior="medium") for _ in range(2))
    one.fit(path, "claims", exposure="years")
    rows.fit(ParquetRows(path, "claims", exposure="years"))
    assert_array_equal(one.predict(table), rows.predict(table))
    assert one.feature_names_in_.tolist() == ["a", "b"]
    memory = _model("negative_binomial", prior="medium").fit(table, y, exposure=exposure)
    assert_allclose(np.log(one.predict(table)).mean(), np.log(memory.predict(table)).mean(), atol=0.15)
    with pytest.raises(ValueError, match="exposure is given, but likelihood='gaussian' is not of counts"):
        BayesianCSIDRegressor().fit(ParquetRows(path, "claims", exposure="years"))
    with pytest.raises(TypeError, match="exposure must be the name of a column"):
        _model("poisson").fit(path, "claims", exposure=exposure)


def test_batches_have_exposure_one() -> None:
    X, y, exposure, _ = _rows("poisson", 120)
    model = _model("poisson", prior="medium").fit(Batches([(X[:60], y[:60]), (X[60:], y[60:])]))
    assert model.predict(X).shape == (120,)
    with pytest.raises(TypeError, match="exposure is not supported: give the path of Parquet files"):
        _model("poisson").fit(Batches([(X, y)]), exposure=exposure)


def test_rows_of_dask_collections() -> None:
    da = pytest.importorskip("dask.array")
    from csid.dask import DaskBayesianCSIDRegressor

    X, y, exposure, rates = _rows("poisson", 300)
    given = {"rank": 4, "effort": "fast", "prior": "medium", "random_state": 0, "likelihood": "poisson"}
    parts = [da.from_array(each, chunks=100) for each in (y, exposure)]
    lazy = da.from_array(X, chunks=(100, 2))
    model = DaskBayesianCSIDRegressor(**given).fit(lazy, parts[0], exposure=parts[1])
    assert np.corrcoef(np.log(model.predict(X)), np.log(rates))[0, 1] > 0.8
    assert_allclose(model.predict(lazy).compute(), model.predict(X))
    with pytest.raises(ValueError, match="only the mean is predicted"):
        model.predict(lazy, exposure=exposure)


def test_exposure_is_routed_through_a_pipeline() -> None:
    X, y, exposure, _ = _rows("poisson", 80)
    with sklearn.config_context(enable_metadata_routing=True):
        model = _model("poisson", prior="medium").set_fit_request(exposure=True).set_predict_request(exposure=True)
        chain = make_pipeline(StandardScaler(), model.set_score_request(exposure=True))
        chain.fit(X, y, exposure=exposure)
        assert_allclose(chain.predict(X, exposure=exposure), exposure * chain.predict(X))
        assert chain.score(X, y, exposure=exposure) > 0.2


# --- files ------------------------------------------------------------------------------------------------------------


def test_it_survives_a_file(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.csid")
    again, (X, _, exposure, _) = load(tmp_path / "model.csid"), _rows(fitted.likelihood, 30, seed=4)
    assert_array_equal(again.predict(X, exposure=exposure), fitted.predict(X, exposure=exposure))
    assert_array_equal(again.predict_quantiles(X), fitted.predict_quantiles(X))
    assert again.accuracy_ == fitted.accuracy_
    assert again.calibration_ == fitted.calibration_
    assert set(again.posterior_.parameters) == set(fitted.fitted_.likelihood.draw_parameters)


def _with_zero(arrays: dict[str, Array], name: str) -> None:
    arrays[name] = 0.0 * arrays[name]


WRONG_FILES: list[tuple[Callable[[dict[str, Any], dict[str, Array]], Any], str]] = [
    (lambda header, arrays: _with_zero(arrays, "draws.0.dispersion"), "draws.0.dispersion.*not positive"),
    (lambda header, arrays: _with_zero(arrays, "draws.0.largest_rate"), "draws.0.largest_rate.*not positive"),
    (lambda header, arrays: _with_zero(arrays, "calibration.dispersion_factor"), "factor of an ordinary size"),
    (lambda header, arrays: arrays.pop("calibration.dispersion_factor"), "dispersion_factor.*missing"),
    (lambda header, arrays: header["likelihood"].update(name="gaussian"), "not"),
    (lambda header, arrays: header.update(estimator="CSIDRegressor", parameters={}), "contradicts its fitted model"),
    (lambda header, arrays: header.update(estimator="BayesianCSIDClassifier", parameters={}), "contradicts its likel"),
    (lambda header, arrays: header["accuracy"].pop("coverage"), "coverage"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_FILES)
def test_wrong_files_are_refused(change: Callable[..., Any], message: str, tmp_path: Path) -> None:
    X, y, exposure, _ = _rows("negative_binomial", 60)
    path = tmp_path / "model.csid"
    if "path" not in _SAVED:
        _model("negative_binomial").fit(X, y, exposure=exposure).save(path)
        _SAVED["path"] = path.read_bytes()
    path.write_bytes(_SAVED["path"])
    section, arrays = container.read(path)
    header = {name: copy.deepcopy(each) for name, each in section.entries.items() if name != "sha256"}
    change(header, arrays)
    container.write(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(path)


_SAVED: dict[str, bytes] = {}


def test_pages_and_exports_are_refused_before_a_file_is_written(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    for write in (to_json, to_onnx, to_python, lambda model: model.report(tmp_path / "page.html")):
        with pytest.raises(NotImplementedError, match="do not support likelihood="):
            write(fitted)
    assert not list(tmp_path.iterdir())


# --- wrong input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "value", "message"),
    [
        (3, -2.0, r"y holds -2 in row 4 \(1 such rows in total\), which is not a count"),
        (7, 1.5, r"y holds 1.5 in row 8 .* For rates, give their counts and exposure"),
        (0, np.nan, "Input y contains NaN, first in row 1"),
        (2, 1e16, "whole numbers from 0 to 1e[+]15"),
    ],
)
def test_wrong_counts_are_named(row: int, value: float, message: str) -> None:
    X, y, _, _ = _rows("poisson", 30)
    y[row] = value
    with pytest.raises(ValueError, match=message):
        _model("poisson").fit(X, y)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_wrong_exposures_are_named(value: float, fitted: BayesianCSIDRegressor) -> None:
    X, y, exposure, _ = _rows("poisson", 30)
    exposure[4] = value
    message = r"exposure holds .* in row 5 \(1 such rows in total\), but must be a positive number: leave out"
    with pytest.raises(ValueError, match=message):
        _model("poisson").fit(X, y, exposure=exposure)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X, exposure=exposure)


def test_what_is_not_supported_says_so() -> None:
    X, y, exposure, _ = _rows("poisson", 30)
    with pytest.raises(ValueError, match="counts of one output only are supported: fit one model for each output"):
        _model("poisson").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"exposure has shape \(29,\), expected \(30,\)"):
        _model("poisson").fit(X, y, exposure=exposure[:29])
    with pytest.raises(ValueError, match="exposure is given, but likelihood='gaussian' is not of counts"):
        _model("gaussian").fit(X, y, exposure=exposure)
    gaussian = _model("gaussian", prior="medium").fit(X, y)
    for call in (
        gaussian.predict,
        gaussian.predict_interval,
        gaussian.sample_y,
        lambda X, exposure: gaussian.score(X, y, exposure=exposure),
    ):
        with pytest.raises(ValueError, match="is not of counts"):
            call(X, exposure=exposure)
    with pytest.raises(
        ValueError,
        match=r"likelihood='poisson' is for counts: give one of .*'gaussian', .*, or use BayesianCSIDRegressor",
    ):
        CSIDRegressor(likelihood="poisson").fit(X, y)
    with pytest.raises(ValueError, match="is for counts"):
        CSIDRegressor(likelihood=NegativeBinomial()).fit(X, y)
    with pytest.raises(AttributeError, match="no scale of additive noise"):
        _ = _model("poisson", prior="medium").fit(X, y).noise_


def test_rows_without_any_count() -> None:
    """All counts are zero: a low rate, and no warning."""
    X, _, exposure, _ = _rows("poisson", 60)
    model = _model("negative_binomial", prior="medium").fit(X, np.zeros(60), exposure=exposure)
    assert (model.predict(X) < 0.3).all()
    assert np.isnan(model.score(X, np.zeros(60)))
