"""The paper's twelve tasks, where their data are at hand: ONNX gives what the model does, to 1e-5 of the scale of y."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import problems
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.export import to_onnx
from export.systems import bounds, feeds, run

if not problems.data_at_hand():
    pytest.skip("the data sets are not at hand: CSID_DATA can name their folder", allow_module_level=True)

CLOSE = 1e-5
ROWS = 600


@pytest.mark.parametrize("name", problems.TASKS)
@pytest.mark.parametrize("bayesian", [False, True], ids=["als", "bayes"])
def test_predictions_and_intervals_are_those_of_the_model(name: str, bayesian: bool) -> None:
    task = problems.load(name)
    train, test = (rows[:ROWS] for rows in problems.split(task, 0))
    if bayesian:
        given = {"n_chains": 2, "n_burn": 3, "n_draws": 4, "prior": "medium", "missing": "marginalize"}
        model = BayesianCSIDRegressor(**given, random_state=0)
    else:
        model = CSIDRegressor(max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(task.X.iloc[train], task.y[train])
    assert (model.pmf_ is not None) == (bayesian or name == "skillcraft")  # the one whose rows lack cells
    table = problems.hide(task, 0.1, False, 0).X.iloc[test]
    found = run(to_onnx(model, 0.9 if bayesian else None), feeds(model, table))
    expected = [model.predict(table)[:, None], *(bounds(model, table, 0.9) if bayesian else ())]
    for values, wanted in zip(found.values(), expected, strict=True):
        assert np.abs(values - wanted).max() < CLOSE * np.std(task.y[train])
