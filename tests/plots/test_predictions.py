"""Convergence, calibration and residuals: what is drawn is what the model says."""

import subprocess
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from sklearn.exceptions import NotFittedError

from csid import BayesianCSIDRegressor, CSIDRegressor, plots
from csid.fitted.model import LeastSquaresRecord, SamplingRecord
from plots.models import Array, bayesian, least_squares, observed, predicted, quantiles, rows


def test_sweeps_of_least_squares() -> None:
    model = least_squares()
    assert isinstance(model.training, LeastSquaresRecord)
    objective, held_out, selected = plots.convergence(model).lines
    np.testing.assert_array_equal(objective.get_ydata(), model.training.objective[0])
    np.testing.assert_array_equal(held_out.get_ydata(), model.training.validation[0])
    assert selected.get_xdata()[0] == 1 + np.argmin(model.training.validation[0])


def test_without_held_out_rows() -> None:
    model = least_squares()
    assert isinstance(model.training, LeastSquaresRecord)
    without = replace(model, training=replace(model.training, validation=(np.zeros(0),)))
    assert len(plots.convergence(without).lines) == 1


def test_chains_of_a_posterior() -> None:
    model = bayesian(outputs=2)
    assert isinstance(model.training, SamplingRecord)
    ax = plots.convergence(model, output="wear")
    for drawn, trace in zip(ax.lines, model.training.trace, strict=True):
        np.testing.assert_array_equal(drawn.get_ydata(), trace[:, 1])
    assert ax.get_title(loc="left") == "R-hat: noise 1.23, predictions 1.01"
    assert ax.get_ylabel() == "noise scale of wear"
    assert len({(each.get_color(), each.get_linestyle()) for each in ax.lines}) == 3


def test_coverage_is_that_of_the_intervals() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    ax = plots.calibration(model, X, y)
    nominal, covered = next(each for each in ax.lines if len(each.get_xdata()) > 2).get_data()
    for at in (0, 9, 17):
        low, high = (quantiles(model, X, 0.5 + side * float(nominal[at])) for side in (-0.5, 0.5))
        assert covered[at] == pytest.approx(np.mean((low <= y) & (y <= high)))


def test_pit_counts_all_rows() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    bars = plots.calibration(model, X, y, kind="pit").patches[:10]
    assert sum(bar.get_height() for bar in bars) == pytest.approx(1.0)
    assert bars[0].get_height() == pytest.approx(np.mean(y <= quantiles(model, X, 0.1)))


def test_residuals_with_intervals() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    y[7] += 50.0
    ax = plots.residuals(model, X, y)
    inside, outside = (each.get_offsets() for each in ax.collections if isinstance(each, PathCollection))
    low, high = quantiles(model, X, 0.05), quantiles(model, X, 0.95)
    assert len(outside) == np.sum((y < low) | (y > high))
    points = np.vstack([inside, outside])
    np.testing.assert_allclose(np.sort(points[:, 1]), np.sort(y - predicted(model, X)))


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_estimator_is_drawn_with_its_own_predictions(outputs: int) -> None:
    X = np.random.default_rng(0).uniform(size=(300, 2))
    Y = X + 0.1 * np.random.default_rng(1).standard_normal((300, 2))
    options = {"rank": 2, "prior": "medium", "effort": "fast", "n_chains": 1, "n_burn": 20, "n_draws": 6, "n_jobs": 1}
    given = Y if outputs == 2 else Y[:, 0]
    model, k = BayesianCSIDRegressor(random_state=0, **options).fit(X, given), outputs - 1
    y = Y[:, k]

    def own(values: Array) -> Array:
        return values.reshape(300, -1)[:, k]

    ax = plots.calibration(model, X, given, output=k)
    nominal, covered = next(each for each in ax.lines if len(each.get_xdata()) > 2).get_data()
    low, high = map(own, model.predict_interval(X, coverage=float(nominal[9])))
    assert covered[9] == np.mean((low <= y) & (y <= high))
    bars = plots.calibration(model, X, given, kind="pit", output=k).patches[:10]
    assert bars[0].get_height() == pytest.approx(np.mean(y <= own(model.predict_quantiles(X, [0.1]))))
    ax = plots.residuals(model, X, given, output=k, coverage=0.5)
    inside, outside = (each.get_offsets() for each in ax.collections if isinstance(each, PathCollection))
    low, high = map(own, model.predict_interval(X, coverage=0.5))
    assert len(outside) == np.sum((y < low) | (y > high))
    np.testing.assert_array_equal(np.sort(np.vstack([inside, outside])[:, 0]), np.sort(own(model.predict(X))))


@pytest.mark.parametrize("n", [1, 3, 30])
def test_residuals_of_few_rows(n: int) -> None:
    model, X = least_squares(outputs=2), rows(n)
    _, ax = plt.subplots()
    assert plots.residuals(model, X, observed(model, X), output=1, ax=ax) is ax


def test_calibration_needs_intervals() -> None:
    model, X = least_squares(), rows()
    with pytest.raises(TypeError, match=r"plots\.calibration needs posterior draws.*fit a BayesianCSIDRegressor"):
        plots.calibration(model, X, predicted(model, X))
    with pytest.raises(ValueError, match="'coverage' or 'pit'"):
        plots.calibration(bayesian(), X, predicted(model, X), kind="both")
    with pytest.raises(ValueError, match="coverage=90: give a probability"):
        plots.residuals(model, X, predicted(model, X), coverage=90)


def test_targets_must_be_those_of_the_model() -> None:
    X = rows(10)
    with pytest.raises(ValueError, match=r"y has shape \(10, 2\), but the model has 1 output"):
        plots.residuals(least_squares(), X, np.zeros((10, 2)))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        plots.residuals(least_squares(), X, np.zeros(9))


def test_a_model_that_is_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        plots.importance(CSIDRegressor())


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_the_library_does_not_need_matplotlib() -> None:
    assert run("import sys, csid.estimators.least_squares, csid.explain; print('matplotlib' in sys.modules)") == "False"


def test_without_matplotlib_the_extra_is_named() -> None:
    code = "import sys; sys.modules['matplotlib'] = None\ntry:\n import csid.plots\nexcept ImportError as e: print(e)"
    assert run(code).endswith("pip install csid[plots]")
