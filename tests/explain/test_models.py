"""What can be explained: a fitted estimator, or its `FittedModel`; anything else is an error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_equal
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.explain import (
    additivity,
    banzhaf_values,
    counterfactuals,
    empirical_dependence,
    ice_curves,
    identifiability,
    partial_dependence,
    shapley_effects,
    shapley_interactions,
    shapley_values,
    sobol_indices,
    uniqueness,
)

Array = NDArray[np.float64]

X = np.random.default_rng(0).uniform(size=(300, 3))
Y = np.column_stack([X[:, 0] * X[:, 1] + X[:, 2], X[:, 0]]) + 0.1 * np.random.default_rng(1).normal(size=(300, 2))

EXPLAIN: dict[str, Callable[[Any], Any]] = {
    "additivity": additivity,
    "banzhaf_values": lambda model: banzhaf_values(model, X[:4]),
    "counterfactuals": lambda model: counterfactuals(model, X[0], above=5.0, output=0),
    "empirical_dependence": lambda model: empirical_dependence(model, "x0", X),
    "ice_curves": lambda model: ice_curves(model, 1, X[:4]),
    "identifiability": identifiability,
    "partial_dependence": lambda model: partial_dependence(model, (0, "x2")),
    "shapley_effects": lambda model: shapley_effects(model, X),
    "shapley_interactions": lambda model: shapley_interactions(model, X[:4]),
    "shapley_values": lambda model: shapley_values(model, X[:4], background=X[:2]),
    "sobol_indices": sobol_indices,
    "uniqueness": lambda model: uniqueness(model, draw=0 if _is_bayesian(model) else None),
}
OF_DRAWS: dict[str, Callable[[Any], Any]] = {
    "additivity": lambda model: additivity(model, draws=True),
    "ice_curves": lambda model: ice_curves(model, 1, X[:4], draws=True),
    "shapley_effects": lambda model: shapley_effects(model, draws=True),
    "shapley_values": lambda model: shapley_values(model, X[:4], draws=True),
    "sobol_indices": lambda model: sobol_indices(model, draws=True),
}


def _is_bayesian(model: Any) -> bool:
    return getattr(model, "fitted_", model).posterior is not None


def plain(found: Any) -> Any:
    """A result as nested dictionaries of numbers and arrays."""
    return {name: plain(value) for name, value in vars(found).items()} if hasattr(found, "__dict__") else found


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {
        "least squares": CSIDRegressor(rank=2, max_iter=3, n_jobs=1, random_state=0).fit(X, Y),
        "bayesian": BayesianCSIDRegressor(
            rank=2, prior="medium", effort="fast", n_chains=1, n_burn=20, n_draws=6, n_jobs=1, random_state=0
        ).fit(X, Y),
    }


@pytest.mark.parametrize("kind", ["least squares", "bayesian"])
@pytest.mark.parametrize("name", EXPLAIN)
def test_an_estimator_and_its_fitted_model_have_the_same_explanation(
    models: dict[str, Any], kind: str, name: str
) -> None:
    model = models[kind]
    assert_equal(plain(EXPLAIN[name](model.fitted_)), plain(EXPLAIN[name](model)))


@pytest.mark.parametrize("name", OF_DRAWS)
def test_so_have_their_posterior_draws(models: dict[str, Any], name: str) -> None:
    model = models["bayesian"]
    assert_equal(plain(OF_DRAWS[name](model.fitted_)), plain(OF_DRAWS[name](model)))
    with pytest.raises(TypeError, match="draws=True needs posterior draws, but CSIDRegressor has none"):
        OF_DRAWS[name](models["least squares"].fitted_)


@pytest.mark.parametrize("name", sorted(set(EXPLAIN) - {"uniqueness"}))
@pytest.mark.parametrize("model", [CSIDRegressor(), BayesianCSIDRegressor()])
def test_a_model_must_be_fitted(name: str, model: Any) -> None:
    with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
        EXPLAIN[name](model)


def test_a_model_must_be_of_csid() -> None:
    with pytest.raises(TypeError, match="a LinearRegression is not a csid estimator"):
        sobol_indices(LinearRegression().fit(X, Y))  # type: ignore[arg-type]
