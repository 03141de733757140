"""Estimators on Dask as estimators: parameters, copies, files, lazy predictions, and what they refuse."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import csid
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from on_dask.partitioned import mixed, numbers

PAIRS = [(DaskCSIDRegressor, CSIDRegressor), (DaskBayesianCSIDRegressor, BayesianCSIDRegressor)]


@pytest.mark.parametrize(("on_dask", "local"), PAIRS)
def test_parameters_are_those_of_the_local_estimator_and_a_client(on_dask: Any, local: Any) -> None:
    assert on_dask().get_params() == {**local().get_params(), "client": None}
    assert list(inspect.signature(on_dask).parameters) == [*inspect.signature(local).parameters, "client"]
    assert on_dask(7).rank == 7
    with pytest.raises(TypeError, match="unexpected keyword argument 'ranks'"):
        on_dask(ranks=3)
    with pytest.raises(ValueError, match="rank"):
        on_dask(rank=0).fit(*numbers().lazy)


def test_copies_share_the_client_and_pickles_leave_it(client: Client) -> None:
    model = DaskCSIDRegressor(rank=3, client=client)
    assert clone(model).client is client
    assert clone(model).rank == 3
    assert pickle.loads(pickle.dumps(model)).client is None
    assert model.client is client


def test_the_local_estimator_inside(tmp_path: Path) -> None:
    data = mixed()
    model = DaskCSIDRegressor(rank=3, max_iter=3, random_state=0).fit(*data.lazy)
    local = model.to_local()
    assert type(local) is CSIDRegressor
    assert local.get_params() == {name: value for name, value in model.get_params().items() if name != "client"}
    assert_array_equal(local.predict(data.X), model.predict(data.X))
    model.save(tmp_path / "model.csid")
    loaded = csid.load(tmp_path / "model.csid")
    assert type(loaded) is CSIDRegressor
    assert_array_equal(loaded.predict(data.X), model.predict(data.X))


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_the_local_sampler_inside_goes_on(likelihood: str, tmp_path: Path) -> None:
    data = mixed(200)
    given: dict[str, Any] = {"rank": 2, "effort": "fast", "prior": "medium", "n_chains": 1, "n_draws": 4}
    model = DaskBayesianCSIDRegressor(**given, likelihood=likelihood, warm_start=True, random_state=0).fit(*data.lazy)
    local = model.to_local()
    assert type(local) is BayesianCSIDRegressor
    assert_array_equal(local.predict_interval(data.X), model.predict_interval(data.X))
    model.save(tmp_path / "model.csid")
    assert_array_equal(csid.load(tmp_path / "model.csid").predict_interval(data.X), model.predict_interval(data.X))
    before = model.predict(data.X)
    assert len(local.fit(data.X, data.y).posterior_.weights) == 2 * len(model.posterior_.weights)
    assert_array_equal(model.predict(data.X), before)


def test_a_table_in_memory_is_fitted_locally() -> None:
    data = mixed()
    models = [kind(rank=3, max_iter=3, random_state=0).fit(data.X, data.y) for kind in PAIRS[0]]
    assert_array_equal(models[0].predict(data.X), models[1].predict(data.X))


def test_a_frame_is_predicted_lazily() -> None:
    data = mixed()
    model = DaskCSIDRegressor(rank=3, max_iter=3, random_state=0).fit(*data.lazy)
    predicted = model.predict(data.lazy[0])
    assert isinstance(predicted, dd.Series)
    assert predicted.npartitions == 4
    found = predicted.compute()
    assert_allclose(found, model.predict(data.X), rtol=1e-12)
    assert found.index.equals(data.X.index)
    assert len(model.predict(data.lazy[0][data.lazy[0]["a"] > 2.0]).compute()) == 0


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_array_is_predicted_lazily(outputs: int) -> None:
    data = numbers(outputs=outputs)
    model = DaskCSIDRegressor(rank=3, max_iter=3, random_state=0).fit(*data.lazy)
    predicted = model.predict(data.lazy[0])
    assert isinstance(predicted, da.Array)
    assert predicted.shape == data.y.shape
    assert_allclose(predicted.compute(), model.predict(data.X), rtol=1e-12)
    unknown = data.lazy[0][data.lazy[0][:, 0] > 0.5]
    assert_allclose(model.predict(unknown).compute(), model.predict(data.X[data.X[:, 0] > 0.5]), rtol=1e-12)


@pytest.mark.parametrize(
    ("on_dask", "parameters"),
    [
        (DaskCSIDRegressor, {"update": "cg"}),
        (DaskCSIDRegressor, {"solver": "stochastic"}),
        (DaskCSIDRegressor, {"n_estimators": 2}),
        (DaskCSIDRegressor, {"pmf_rank": 4}),
        (DaskBayesianCSIDRegressor, {"solver": "stochastic"}),
        (DaskBayesianCSIDRegressor, {"rank": 33}),
        (DaskBayesianCSIDRegressor, {"pmf_rank": 4}),
    ],
    ids=str,
)
def test_what_needs_rows_one_by_one_is_refused(on_dask: Any, parameters: dict[str, Any]) -> None:
    ((name, value),) = parameters.items()
    with pytest.raises(ValueError, match=f"{name}={value!r} needs individual rows"):
        on_dask(**parameters).fit(*numbers().lazy)


def test_targets_and_weights_come_in_the_partitions_of_the_table() -> None:
    data, model = mixed(), DaskCSIDRegressor()
    with pytest.raises(TypeError, match="y is a Series: give a Dask collection"):
        model.fit(data.lazy[0], data.y)
    with pytest.raises(ValueError, match="X has 4 partitions, but y has 3"):
        model.fit(data.lazy[0], data.lazy[1].repartition(npartitions=3))
    with pytest.raises(ValueError, match="X has 4 partitions, but sample_weight has 2"):
        model.fit(*data.lazy, sample_weight=data.lazy[1].repartition(npartitions=2))
    with pytest.raises(TypeError, match="X is a Series"):
        model.fit(data.lazy[1], data.lazy[1])
    with pytest.raises(ValueError, match="X has no columns"):
        model.fit(data.lazy[0][[]], data.lazy[1])


def test_of_a_collection_only_the_mean_is_predicted() -> None:
    data = numbers(100)
    model = DaskBayesianCSIDRegressor(rank=2, effort="fast", prior="medium", random_state=0).fit(*data.lazy)
    assert len(model.predict(data.X, return_std=True)) == 2
    with pytest.raises(ValueError, match="only the mean is predicted"):
        model.predict(data.lazy[0], return_std=True)
