"""Survival: a known truth is found in spite of censoring, and predictions agree with one another."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone

import csid
from csid import BayesianCSIDSurvival, ModelFileError, load, plots
from csid.explain import shapley_values
from csid.export import to_json, to_onnx, to_python
from csid.model_file import container

Array = np.ndarray


def _model(**options: Any) -> BayesianCSIDSurvival:
    quick = {"rank": 3, "effort": "fast", "prior": ["medium", "smooth"], "random_state": 0, "n_jobs": 1}
    return BayesianCSIDSurvival(**{**quick, **options})


def _system(rows: int, seed: int = 0) -> tuple[pd.DataFrame, Array, Array]:
    """Patients, targets of which a third is censored, and the mean of the log time."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(40, 80, rows), "dose": rng.uniform(0, 1, rows)})
    centre = 5.0 - 0.05 * (X["age"] - 60) + X["dose"]
    time = np.exp(centre + 0.5 * rng.standard_normal(rows))
    end = rng.exponential(500.0, rows)
    fields = [("time", float), ("died", bool)]
    y = np.array(list(zip(np.minimum(time, end), time <= end, strict=True)), fields)
    return X, y, centre.to_numpy()


@pytest.fixture(scope="module")
def fitted() -> BayesianCSIDSurvival:
    X, y, _ = _system(500)
    assert 0.2 < 1.0 - y["died"].mean() < 0.5
    return _model().fit(X, y)


def test_median_times_are_found_in_spite_of_censoring(fitted: BayesianCSIDSurvival) -> None:
    X, y, centre = _system(400, seed=1)
    errors = np.log(fitted.predict(X)) - centre
    assert np.sqrt(np.mean(errors**2)) < 0.2
    assert abs(errors.mean()) < 0.1  # as if no row were censored, it would be -0.3
    assert fitted.noise_[0] == pytest.approx(0.5, rel=0.15)
    perfect = csid.concordance_index(y["died"], y["time"], -centre)
    assert fitted.score(X, y) == pytest.approx(perfect, abs=0.02)
    assert fitted.accuracy_.concordance == pytest.approx(perfect, abs=0.1)


def test_survival_curves_are_calibrated(fitted: BayesianCSIDSurvival) -> None:
    X, y, centre = _system(400, seed=1)
    times = np.array([50.0, 150.0, 400.0])
    found = fitted.predict_survival_function(X, times)
    exact = ndtr((centre[:, None] - np.log(times)) / 0.5)
    assert np.abs(found - exact).mean() < 0.06
    assert csid.integrated_brier_score(y, y, found, times) < csid.integrated_brier_score(y, y, exact, times) + 0.01
    lower, upper = fitted.predict_survival_interval(X, times)
    assert lower.shape == upper.shape == (400, 3)
    assert ((lower <= found + 0.05) & (found <= upper + 0.05)).all()
    assert np.mean((lower <= exact) & (exact <= upper)) > 0.7


def test_predictions_agree(fitted: BayesianCSIDSurvival) -> None:
    """The median is a quantile, intervals are pairs of quantiles, and survival curves cross one half at the median."""
    X, _, _ = _system(30, seed=2)
    low, middle, high = fitted.predict_quantiles(X, (0.05, 0.5, 0.95)).T
    assert_allclose(middle, fitted.predict(X))
    assert_allclose(fitted.predict_interval(X, 0.9), (low, high))
    curves = fitted.predict_survival_function(X, fitted.predict(X))
    assert_allclose(np.diag(curves), 0.5, atol=1e-9)
    assert (np.diff(fitted.predict_survival_function(X, np.geomspace(1, 1e4, 50)), axis=1) <= 1e-12).all()


def test_events_and_times_of_any_form_give_the_same_fit() -> None:
    X, y, _ = _system(150)
    frame = pd.DataFrame({"event": y["died"].astype(int), "time": y["time"]})
    model = _model(prior="medium")
    assert_array_equal(clone(model).fit(X, y).predict(X), clone(model).fit(X, frame).predict(X))


def test_the_unit_of_time_does_not_matter() -> None:
    X, y, _ = _system(200)
    in_years = y.copy()
    in_years["time"] /= 365.25
    model = _model(prior="medium")
    ratio = clone(model).fit(X, y).predict(X) / clone(model).fit(X, in_years).predict(X)
    assert_allclose(ratio, 365.25, rtol=1e-4)


def test_arguments_are_checked(fitted: BayesianCSIDSurvival) -> None:
    X, y, _ = _system(100)
    before = fitted.fitted_
    censored = y.copy()
    censored["died"] = False
    with pytest.raises(ValueError, match="all rows of y are censored"):
        fitted.fit(X, censored)
    zero = y.copy()
    zero["time"][3] = 0.0
    with pytest.raises(ValueError, match=r"y\['time'\] holds 0 in row 4"):
        fitted.fit(X, zero)
    assert fitted.fitted_ is before
    for call, message in (
        (lambda: fitted.predict_survival_function(X, [0.0, 1.0]), "give times above zero"),
        (lambda: fitted.predict_survival_interval(X, [1.0], coverage=1.0), "coverage=1.0: give a probability"),
        (lambda: fitted.predict_quantiles(X, [1.5]), "give probabilities between 0 and 1"),
        (lambda: fitted.predict_interval(X, 0.0), "coverage=0.0: give a probability"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_it_survives_a_file(fitted: BayesianCSIDSurvival, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again, (X, _, _) = load(tmp_path / "model"), _system(20)
    assert isinstance(again, BayesianCSIDSurvival)
    assert_array_equal(again.predict_survival_function(X, [100.0]), fitted.predict_survival_function(X, [100.0]))
    assert again.get_params()["likelihood"] == "log_normal"
    header, arrays = container.read(tmp_path / "model")
    entries = {name: entry for name, entry in header.entries.items() if name != "sha256"}
    for name in ("gaussian", "binary_probit", "ordinal_probit", "censored_gaussian"):
        container.write(tmp_path / "wrong", entries | {"likelihood": {"name": name}}, arrays)
        with pytest.raises(ModelFileError, match=r"likelihood|classes"):
            load(tmp_path / "wrong")


@pytest.mark.parametrize("export", [to_onnx, to_python, to_json])
def test_exports_are_refused(fitted: BayesianCSIDSurvival, export: Any) -> None:
    with pytest.raises(
        NotImplementedError, match="report pages and exports do not support likelihood='log_normal' yet"
    ):
        export(fitted)


def test_a_page_is_refused_before_it_is_written(fitted: BayesianCSIDSurvival, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="report pages and exports do not support"):
        fitted.report(tmp_path / "page.html")
    assert not any(tmp_path.iterdir())


def test_explanations_are_of_the_log_time(fitted: BayesianCSIDSurvival) -> None:
    X, _, _ = _system(20)
    values = shapley_values(fitted, X)
    logs = fitted.fitted_.means(X, 1)[:, 0]
    assert_allclose(np.diff(values.sum(axis=1)), np.diff(logs), atol=1e-9)


@pytest.mark.parametrize("plot", [plots.calibration, plots.residuals])
def test_plots_of_log_times_are_refused(fitted: BayesianCSIDSurvival, plot: Any) -> None:
    X, y, _ = _system(20, seed=2)
    with pytest.raises(TypeError, match="does not support likelihood='log_normal' yet"):
        plot(fitted, X, y["time"])
