"""Quantiles of mixtures over which Newton's steps alone jump to and fro, in every language."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from browser import chromium, opened
from csid import BayesianCSIDRegressor
from csid.export import to_onnx, to_python
from export.systems import run

pytestmark = pytest.mark.filterwarnings("ignore:The chains may not have converged")

OUTPUTS, DRAWS = 4000, 5
"""Among so many mixtures, Newton's steps alone miss one quantile or two in each language but JavaScript."""
COVERAGES = (0.2, 0.37109375, 0.7)

PAGE_INTERVALS = """(coverage) => {
    const model = window.csid.model;
    return model.predict([0.0]).map((one, k) => model.interval(k, one, coverage));
}"""


@cache
def _model() -> Any:
    """Many outputs, each of whose predictive distributions is another mixture of a few normal distributions."""
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(size=(30, 1)), rng.standard_normal((30, OUTPUTS))
    model = BayesianCSIDRegressor(
        rank=1, n_chains=1, n_burn=1, n_draws=DRAWS, prior="medium", random_state=0, n_jobs=1
    ).fit(X, Y)
    posterior = model.fitted_.posterior
    assert posterior is not None
    (draws,) = posterior.groups
    bias, weights = 3.0 * rng.standard_normal((DRAWS, OUTPUTS)), rng.dirichlet(np.ones(DRAWS))
    noise = rng.uniform(0.1, 2.0, (DRAWS, OUTPUTS))
    mixtures = replace(draws, V=np.zeros_like(draws.V), bias=bias, parameters={"noise": noise}, weights=weights)
    tensor = replace(model.fitted_.tensor, V=np.zeros_like(model.fitted_.tensor.V), bias=weights @ bias)
    model.fitted_ = replace(model.fitted_, tensor=tensor, posterior=replace(posterior, groups=(mixtures,)))
    return model


def _expected(coverage: float) -> np.ndarray:
    """The probabilities below the two bounds (2, K)."""
    return np.broadcast_to([[0.5 - 0.5 * coverage], [0.5 + 0.5 * coverage]], (2, OUTPUTS))


def _below(bounds: Any) -> np.ndarray:
    """The probabilities below two bounds (2, K), by the distribution function of each draw."""
    fitted = _model().fitted_
    (draws,) = fitted.posterior.groups
    mean = draws.weights @ draws.bias
    factor = fitted.calibration.at(mean[None])[0]
    z = (np.asarray(bounds)[:, None] - mean - factor * (draws.bias - mean)) / (factor * draws.parameters["noise"])
    return np.tensordot(draws.weights, norm.cdf(z), (0, 1))


@pytest.mark.parametrize("coverage", COVERAGES)
def test_in_numpy(coverage: float) -> None:
    lower, upper = _model().predict_interval([[0.0]], coverage)
    assert_allclose(_below([lower[0], upper[0]]), _expected(coverage), atol=1e-9)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_in_python(coverage: float) -> None:
    names: dict[str, Any] = {"__name__": "model"}
    exec(to_python(_model()), names)
    bounds = np.array(names["predict_interval"]({"x0": 0.0}, coverage))
    assert_allclose(_below(bounds.T if len(bounds) == OUTPUTS else bounds), _expected(coverage), atol=1e-9)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_in_onnx(coverage: float) -> None:
    found = run(to_onnx(_model(), interval=coverage), {"x0": np.array([[0.0]])})
    assert_allclose(_below([found["lower"][0], found["upper"][0]]), _expected(coverage), atol=1e-9)


def test_in_javascript(tmp_path: Path) -> None:
    _model().report(tmp_path / "page.html")
    with chromium() as browser, opened(browser, tmp_path / "page.html") as page:
        for coverage in COVERAGES:
            bounds = np.array(page.evaluate(PAGE_INTERVALS, coverage))
            assert_allclose(_below(bounds.T), _expected(coverage), atol=1e-9)
