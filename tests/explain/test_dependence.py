"""Dependence on one or two predictors and individual curves, against predictions with cells replaced."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.explain import empirical_dependence, ice_curves, partial_dependence
from csid.explain.bands import band
from csid.explain.effects import main_effects
from explain.draws import of_each_draw

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 4)).astype(float)
    X[:, 2] = X[:, 0] + rng.integers(0, 2, 300)
    X[::17, 1] = np.nan
    y = np.sin(X[:, 0]) * np.nan_to_num(X[:, 1]) + X[:, 2]
    return X, np.column_stack([y, X[:, 3] * X[:, 0]])


@pytest.fixture(scope="module")
def fitted(table: tuple[Array, Array]) -> dict[str, Any]:
    X, Y = table
    return {
        "one": CSIDRegressor(rank=3, max_iter=8, pmf_rank=1, random_state=0).fit(X, Y[:, 0]),
        "two": CSIDRegressor(rank=3, max_iter=8, pmf_rank=1, interpolation="constant", random_state=0).fit(X, Y),
        "bayesian": BayesianCSIDRegressor(
            rank=4, prior="medium", effort="fast", n_chains=2, n_burn=3, n_draws=10, missing="marginalize", pmf_rank=1,
            random_state=0,
        ).fit(X, Y[:, 0]),
    }  # fmt: skip


def predicted(model: Any, X: Array, features: tuple[int, ...], values: tuple[float, ...]) -> Array:
    changed = X.copy()
    changed[:, features] = values
    return np.asarray(model.predict(changed))


@pytest.mark.parametrize("kind", ["one", "two", "bayesian"])
@pytest.mark.parametrize("features", [(1,), (2, 0)])
def test_dependence_is_a_mean_of_predictions(
    fitted: dict[str, Any], table: tuple[Array, Array], kind: str, features: tuple[int, ...]
) -> None:
    model, X = fitted[kind], table[0]
    over_rows, over_marginals = empirical_dependence(model, features, X), partial_dependence(model, features)
    nothing = np.full((1, 4), np.nan)  # predictions with all but some missing are means over the marginals
    assert over_rows.features == tuple(f"x{n}" for n in features)
    grids = over_rows.levels
    for cell in product(*(range(len(grid)) for grid in grids)):
        values = tuple(grid[i] for grid, i in zip(grids, cell, strict=True))
        assert_allclose(over_rows.values[cell], predicted(model, X, features, values).mean(axis=0), atol=1e-10)
        assert_allclose(over_marginals.values[cell], predicted(model, nothing, features, values)[0], atol=1e-10)
    assert (over_rows.lower is not None) == (kind == "bayesian")


@pytest.mark.parametrize("kind", ["one", "two"])
def test_curves_are_predictions_and_their_mean_the_dependence(
    fitted: dict[str, Any], table: tuple[Array, Array], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X = fitted[kind], table[0]
    curves = ice_curves(model, "x0", X)
    for i, level in enumerate(model.levels_["x0"]):
        assert_allclose(curves[:, i], predicted(model, X, (0,), (level,)), atol=1e-10)
    assert_allclose(curves.mean(axis=0), empirical_dependence(model, 0, X).values, atol=1e-10)
    monkeypatch.setattr("csid.explain.batches._MAX_NUMBERS", 1)
    assert_allclose(ice_curves(model, 0, X), curves, atol=1e-12)
    assert_allclose(empirical_dependence(model, 0, X).values, curves.mean(axis=0), atol=1e-10)


def test_main_effects_are_the_same_for_all_predictors(fitted: dict[str, Any]) -> None:
    for n, effect in enumerate(main_effects(fitted["two"].cpd_)):
        assert_allclose(partial_dependence(fitted["two"], n).values, effect, atol=1e-10)


def test_a_band_holds_most_draws(fitted: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted["bayesian"]
    found = partial_dependence(model, "x2")
    assert found.lower is not None
    assert found.upper is not None
    each = np.array([main_effects(draw)[2][:, 0] for draw in model.posterior_.draws])
    inside = model.posterior_.weights @ ((each >= found.lower) & (each <= found.upper))
    assert ((inside > 0.7) & (inside < 1.0 + 1e-9)).all()
    whole = partial_dependence(model, ("x2", "x0"))
    monkeypatch.setattr("csid.explain.batches._MAX_NUMBERS", 1)
    assert_allclose(partial_dependence(model, ("x2", "x0")).upper, whole.upper, atol=1e-10)


def test_curves_have_bands(fitted: dict[str, Any], table: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = fitted["bayesian"], table[0][:5]
    each = of_each_draw(model, lambda one: ice_curves(one, 0, X))
    found = ice_curves(model, 0, X, draws=True, coverage=0.8)
    assert_allclose(found, band(np.array(each), model.posterior_.weights, 0.8), atol=1e-12)
    assert_allclose(found.mean, ice_curves(model, 0, X), atol=1e-10)
    monkeypatch.setattr("csid.explain.batches._MAX_NUMBERS", 1)
    assert_allclose(ice_curves(model, 0, X, draws=True, coverage=0.8), found, atol=1e-12)


@pytest.mark.parametrize(
    ("features", "message"),
    [("y", "no predictor 'y'"), (4, "positions from 0 to 3"), ((0, 0), "two different"), ((0, 1, 2), "two different")],
)
def test_features_that_are_not_there(fitted: dict[str, Any], features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        partial_dependence(fitted["one"], features)


def test_a_curve_is_of_one_predictor(fitted: dict[str, Any], table: tuple[Array, Array]) -> None:
    with pytest.raises(ValueError, match="give one predictor"):
        ice_curves(fitted["one"], (0, 1), table[0])
