"""Explanations of the paper's twelve tasks, where their data are at hand: they add up."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import problems
from csid import BayesianCSIDRegressor
from csid.explain import counterfactuals, shapley_effects, shapley_interactions, shapley_values, sobol_indices

if not problems.data_at_hand():
    pytest.skip("no folder of data sets: set CSID_DATA", allow_module_level=True)


@pytest.fixture(scope="module", params=problems.TASKS)
def task(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A model of some rows, and others to explain, of which some lack cells."""
    found = problems.load(request.param)
    table = found.X.astype(dict.fromkeys(found.X.select_dtypes("integer"), float))  # changes are not rounded
    order = np.random.default_rng(0).permutation(len(found.y))
    train, test = order[:400], order[400:430]
    options = {"rank": 4, "prior": "medium", "effort": "fast", "n_chains": 2, "n_burn": 20, "n_draws": 4}
    model = BayesianCSIDRegressor(random_state=0, pmf_rank=1, **options).fit(table.iloc[train], found.y[train])
    X = table.iloc[test].copy()
    for n, name in enumerate(X.columns[:2]):
        X[name] = X[name].where(np.arange(30) % 7 != n)
    return model, X


def test_shapley_values_sum_to_the_prediction_less_its_mean(task: tuple[Any, Any]) -> None:
    model, X = task
    expected = model.predict(X) - model.cpd_.mean()
    size = np.abs(expected).max()
    assert_allclose(shapley_values(model, X).sum(axis=1), expected, rtol=0, atol=1e-9 * size)
    assert_allclose(shapley_interactions(model, X[:5]).sum(axis=(1, 2)), expected[:5], rtol=0, atol=1e-9 * size)


def test_effects_lie_between_the_indices_and_sum_to_one(task: tuple[Any, Any]) -> None:
    model, _ = task
    effects, indices = shapley_effects(model), sobol_indices(model)
    assert_allclose(effects.sum(), 1.0, rtol=1e-9)
    assert (effects >= indices.first - 1e-9).all()
    assert (effects <= indices.total + 1e-9).all()


def test_counterfactuals_pass_their_goal(task: tuple[Any, Any]) -> None:
    model, X = task
    values = model.predict(X)
    goal = float(np.median(values))
    for m in range(6):
        row, side = X.iloc[[m]], "below" if values[m] > goal else "above"
        found = counterfactuals(model, row, most_changes=1 + (m == 0), **{side: goal})
        assert_allclose(found.prediction, values[m], rtol=1e-9)
        for one in found.found[:5]:
            changed = row.assign(**{name: new for name, (_, new) in one.changes.items()}).astype(row.dtypes)
            prediction = model.predict(changed)[0]
            assert prediction < goal if side == "below" else prediction > goal
            assert_allclose(prediction, one.prediction, rtol=1e-9)
