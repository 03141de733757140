"""Convergence, calibration and residuals: what is drawn is what the model says."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from sklearn.exceptions import NotFittedError

from csid import CSIDRegressor, plots
from plots.models import bayesian, least_squares, observed, rows


def test_sweeps_of_least_squares() -> None:
    model = least_squares()
    ax = plots.convergence(model)
    objective, held_out, kept = ax.lines
    np.testing.assert_array_equal(objective.get_ydata(), model.objective_history_[0])
    np.testing.assert_array_equal(held_out.get_ydata(), model.validation_history_[0])
    assert kept.get_xdata()[0] == 1 + np.argmin(model.validation_history_[0])


def test_without_held_out_rows() -> None:
    model = least_squares()
    model.validation_history_ = [np.zeros(0)]
    assert len(plots.convergence(model).lines) == 1


def test_chains_of_a_posterior() -> None:
    model = bayesian(outputs=2)
    ax = plots.convergence(model, output="wear")
    for drawn, history in zip(ax.lines, model.history_, strict=True):
        np.testing.assert_array_equal(drawn.get_ydata(), history[:, 1])
    assert ax.get_title(loc="left") == "R-hat 1.23 of the noise, 1.01 of predictions"
    assert len({(each.get_color(), each.get_linestyle()) for each in ax.lines}) == 3


def test_coverage_is_that_of_the_intervals() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    ax = plots.calibration(model, X, y)
    nominal, shares = next(each for each in ax.lines if len(each.get_xdata()) > 2).get_data()
    for at in (0, 9, 17):
        low, high = model.predict_interval(X, coverage=float(nominal[at]))
        assert shares[at] == pytest.approx(np.mean((low <= y) & (y <= high)))


def test_pit_counts_all_rows() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    bars = plots.calibration(model, X, y, kind="pit").patches[:10]
    assert sum(bar.get_height() for bar in bars) == pytest.approx(1.0)
    assert bars[0].get_height() == pytest.approx(np.mean(y <= model.predict_quantiles(X, [0.1])[:, 0]))


def test_residuals_with_intervals() -> None:
    model, X = bayesian(), rows(200)
    y = observed(model, X)
    y[7] += 50.0
    ax = plots.residuals(model, X, y)
    inside, outside = (each.get_offsets() for each in ax.collections if isinstance(each, PathCollection))
    low, high = model.predict_interval(X)
    assert len(outside) == np.sum((y < low) | (y > high))
    points = np.vstack([inside, outside])
    np.testing.assert_allclose(np.sort(points[:, 1]), np.sort(y - model.predict(X)))


@pytest.mark.parametrize("n", [1, 3, 30])
def test_residuals_of_few_rows(n: int) -> None:
    model, X = least_squares(outputs=2), rows(n)
    _, ax = plt.subplots()
    assert plots.residuals(model, X, observed(model, X), output=1, ax=ax) is ax


def test_calibration_needs_intervals() -> None:
    model, X = least_squares(), rows()
    with pytest.raises(TypeError, match="fit a BayesianCSIDRegressor"):
        plots.calibration(model, X, model.predict(X))
    with pytest.raises(ValueError, match="'coverage' or 'pit'"):
        plots.calibration(bayesian(), X, model.predict(X), kind="both")


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
    assert run("import sys, csid.regression, csid.explain; print('matplotlib' in sys.modules)") == "False"


def test_without_matplotlib_the_extra_is_named() -> None:
    code = "import sys; sys.modules['matplotlib'] = None\ntry:\n import csid.plots\nexcept ImportError as e: print(e)"
    assert run(code).endswith("pip install csid[plots]")
