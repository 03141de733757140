"""Numbers at the ends of what floats hold: finite answers or one clear error, and never a warning of NumPy's."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from csid import Batches, BayesianCSIDRegressor, CSIDRegressor
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from csid.data.checks import without_mask
from csid.explain import partial_dependence, shapley_values, sobol_indices, uniqueness
from csid.fitted.metrics import metrics_of

Array = NDArray[np.float64]

LARGEST = np.finfo(np.float64).max
SHORT: dict[str, Any] = {"rank": 2, "levels": 6, "random_state": 0, "n_jobs": 1}
CHAINS: dict[str, Any] = {"effort": "fast", "n_chains": 2, "n_burn": 5, "n_draws": 4}

KINDS: dict[str, Callable[[], Any]] = {
    "als": lambda: CSIDRegressor(**SHORT, max_iter=4),
    "als, Student's t": lambda: CSIDRegressor(**SHORT, max_iter=4, likelihood="student_t"),
    "als, blocks": lambda: CSIDRegressor(**SHORT, max_iter=4, solver="stochastic"),
    "bayesian": lambda: BayesianCSIDRegressor(**SHORT, **CHAINS, prior=["medium", "smooth"]),
    "bayesian, Student's t": lambda: BayesianCSIDRegressor(**SHORT, **CHAINS, prior="medium", likelihood="student_t"),
    "bayesian, blocks": lambda: BayesianCSIDRegressor(**SHORT, **CHAINS, prior="medium", solver="stochastic"),
}


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(under="ignore"):
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def rows(n: int = 60) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] * X[:, 1] + X[:, 0] + 0.1 * rng.standard_normal(n)


BAYESIAN = sorted(kind for kind in KINDS if kind.startswith("bayesian"))
LEAST_SQUARES = sorted(set(KINDS) - set(BAYESIAN))


def assert_all_is_finite(model: Any, X: Array) -> None:
    answers = [model.predict(X), shapley_values(model, X[:4]), partial_dependence(model, 0).values]
    answers += [sobol_indices(model).variance, model.feature_importances_]
    if isinstance(model, BayesianCSIDRegressor):
        answers += [*model.predict_interval(X), *model.predict_uncertainty(X), *model.predict(X, return_std=True)]
        answers += [model.predict_quantiles(X), model.sample_y(X), model.noise_]
    for answer in answers:
        assert np.isfinite(np.asarray(answer, np.float64)).all()


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("unit", [1e138, 1e-130, 1e30], ids=str)
def test_targets_of_any_unit_that_has_a_variance(kind: str, unit: float) -> None:
    X, y = rows()
    model = KINDS[kind]().fit(X, unit * y)
    assert_all_is_finite(model, X)
    assert_allclose(model.predict(X) / unit, KINDS[kind]().fit(X, y).predict(X), atol=1e-3)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("value", [0.0, 5.0, 7e20, -1e140, 1e-139, 1e-320], ids=str)
def test_constant_targets(kind: str, value: float) -> None:
    X, _ = rows()
    model = KINDS[kind]().fit(X, np.full(60, value))
    assert_all_is_finite(model, X)
    assert_allclose(model.predict(X), value, rtol=1e-9, atol=0.01)


@pytest.mark.parametrize("kind", BAYESIAN)
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (lambda y: 1e160 * y, r"y has a mean or standard deviation of .*e\+1\d\d, but .*: divide y by a power of ten"),
        (lambda y: np.full(60, 1e150), r"y has a mean or standard deviation of 1e\+150, but"),
        (lambda y: 1e-312 * y, r"y has a standard deviation of .*e-313, but .*multiply y by a power of ten"),
        (lambda y: 1e-150 * y, r"y has a standard deviation of .*e-151, but"),
    ],
    ids=["1e160", "constant 1e150", "1e-312", "1e-150"],
)
def test_a_posterior_is_refused_whose_variances_are_no_floats(kind: str, targets: Any, message: str) -> None:
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        KINDS[kind]().fit(X, targets(y))


@pytest.mark.parametrize("kind", LEAST_SQUARES)
@pytest.mark.parametrize("unit", [1e160, 1e280, 1e-250, 1e-307], ids=str)
def test_least_squares_in_any_unit(kind: str, unit: float) -> None:
    X, y = rows()
    model, expected = KINDS[kind]().fit(X, unit * y), KINDS[kind]().fit(X, y)
    assert_allclose(model.predict(X) / unit, expected.predict(X), atol=1e-6)
    assert_allclose(model.score(X, unit * y), expected.score(X, y), atol=1e-6)
    assert_allclose(model.feature_importances_, expected.feature_importances_, atol=1e-6)
    assert_allclose(uniqueness(model).weights / unit, uniqueness(expected).weights, atol=1e-6)
    if unit > 1.0:
        with pytest.raises(ArithmeticError, match="the variance of the prediction is beyond the range of floats"):
            sobol_indices(model)


@pytest.mark.parametrize("unit", [1e160, 1e-307, 1e290], ids=str)
def test_metrics_in_any_unit(unit: float) -> None:
    truth, predicted = np.random.default_rng(0).standard_normal((2, 40)) / 8.0
    found, expected = (metrics_of(scale * truth, scale * predicted, None, None, 0) for scale in (unit, 1.0))
    for name in ("rmse", "mae"):
        assert_allclose(found[name]["value"] / unit, expected[name]["value"], rtol=1e-9)
    assert_allclose(found["r2"]["value"], expected["r2"]["value"], rtol=1e-9)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_targets_whose_sums_are_no_floats_are_refused(kind: str) -> None:
    X, y = rows()
    for targets, message in (
        (np.full(60, 1e300), r"y holds 1e\+300 in row 1, but targets must be within ±1e\+290: divide y by a power"),
        (np.where(np.arange(60) == 7, -LARGEST, y), r"y holds -1.79\d*e\+308 in row 8, but targets"),
    ):
        with pytest.raises(ValueError, match=message):
            KINDS[kind]().fit(X, targets)


def test_targets_are_refused_from_disk_and_dask_as_well() -> None:
    X, y = rows()
    for targets, message in ((1e160 * y, "divide y by a power of ten"), (1e-312 * y, "multiply y by a power of ten")):
        with pytest.raises(ValueError, match=message):
            KINDS["bayesian"]().fit(Batches([(X[:30], targets[:30]), (X[30:], targets[30:])]))
        lazy = da.from_array(X, chunks=(30, 2)), da.from_array(targets, chunks=30)
        with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=message):
            DaskBayesianCSIDRegressor(**SHORT, **CHAINS, prior="medium").fit(*lazy)


def test_a_fit_is_not_continued_in_units_far_from_its_own() -> None:
    X, y = rows()
    model = KINDS["bayesian"]().set_params(warm_start=True).fit(X, 1e-130 * y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="standard deviations of the earlier targets away"):
        model.fit(X, 1e130 * y)
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_predictors_of_any_size(kind: str) -> None:
    """The fit does not depend on the unit of a predictor, up to rounding."""
    X, y = rows()
    expected = KINDS[kind]().fit(X, y).predict(X)
    for unit in (LARGEST, 1e-300, 5e-308):
        model = KINDS[kind]().fit(X * unit, y)
        assert_all_is_finite(model, X * unit)
        assert_allclose(model.predict(X * unit), expected, atol=1e-3)
        assert np.isfinite(model.predict([[LARGEST, -LARGEST], [0.0, 5e-324]])).all()


@settings(max_examples=30)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=30, max_size=30), st.sampled_from(sorted(KINDS))
)
def test_any_finite_predictor(values: list[float], kind: str) -> None:
    X, y = rows(30)
    X[:, 0] = values
    assert np.isfinite(KINDS[kind]().fit(X, y).predict(X)).all()


def test_the_report_of_large_predictors(tmp_path: Path) -> None:
    X, y = rows()
    for unit in (LARGEST, 1e-310):
        KINDS["bayesian"]().fit(X * unit, y).report(tmp_path / "page.html", X * unit, y)
        assert "NaN" not in (tmp_path / "page.html").read_text().partition("<script")[0]


# --- masks ------------------------------------------------------------------------------------------------------------


def masked(values: Any, mask: Any) -> Any:
    return np.ma.masked_array(values, mask=mask)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_masked_cells_are_missing(kind: str) -> None:
    X, y = rows()
    mask = np.random.default_rng(1).random(X.shape) < 0.2
    expected = KINDS[kind]().fit(np.where(mask, np.nan, X), y).predict(np.where(mask, np.nan, X))
    X_masked = masked(np.where(mask, 1e300, X), mask)
    model = KINDS[kind]().fit(X_masked, masked(y, False))
    assert_array_equal(model.predict(X_masked), expected)


def test_masked_cells_are_missing_on_disk_and_on_dask() -> None:
    X, y = rows()
    mask = np.random.default_rng(1).random(X.shape) < 0.2
    X_masked, gaps = masked(np.where(mask, 1e300, X), mask), np.where(mask, np.nan, X)
    for batches in (Batches([(X_masked, y)]), iter([(X_masked, y)])):
        expected = KINDS["als"]().fit(Batches([(gaps, y)])).predict(gaps)
        assert_array_equal(KINDS["als"]().fit(batches).predict(X_masked), expected)
    with dask.config.set(scheduler="synchronous"):
        first, second = (
            DaskCSIDRegressor(**SHORT, max_iter=2).fit(da.from_array(each, chunks=(30, 2)), da.from_array(y, chunks=30))
            for each in (X_masked, gaps)
        )
    assert_array_equal(first.predict(gaps), second.predict(gaps))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_masked_targets_and_weights_are_refused_as_nan_is(kind: str) -> None:
    (X, y), mask = rows(), np.arange(60) == 4
    with pytest.raises(ValueError, match=r"Input y contains NaN, first in row 5 .*drop the rows"):
        KINDS[kind]().fit(X, masked(y, mask))
    with pytest.raises(ValueError, match="sample_weight holds nan in row 5"):
        KINDS[kind]().fit(X, y, masked(np.ones(60), mask))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(6), "f"),
        (np.arange(6, dtype=np.uint8), "f"),
        (np.array(list("abcdef")), "O"),
        (np.arange(6) > 2, "O"),
    ],
    ids=["int", "byte", "text", "boolean"],
)
def test_masked_cells_of_any_type(values: Any, kind: str) -> None:
    mask = np.arange(6) == 2
    X = masked(values, mask).reshape(6, 1)
    model = KINDS["als"]().fit(X, np.arange(6.0))
    assert without_mask(X).dtype.kind == kind
    assert sum(model.encoding_.encode(without_mask(X), 6).codes[:, 0] == model.encoding_.levels[0]) == 1
    assert np.isfinite(model.predict(X)).all()
