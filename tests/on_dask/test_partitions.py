"""Partitions that are not as they should be: the right answer, or an error that names the partition."""

from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid import CSIDRegressor
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from csid.data.cluster.partitions import PartitionError
from on_dask.partitioned import mixed


def _collection(parts: list[Any], meta: Any) -> Any:
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)


def _quarters() -> tuple[list[pd.DataFrame], list[Any]]:
    data = mixed()
    edges = [0, 150, 300, 450, 600]
    cuts = list(pairwise(edges))
    return [data.X[start:stop] for start, stop in cuts], [data.y[start:stop] for start, stop in cuts]


def _fit(tables: list[Any], targets: list[Any], **parameters: Any) -> DaskCSIDRegressor:
    X, y = _quarters()
    model = DaskCSIDRegressor(rank=3, max_iter=4, random_state=0, pmf_rank=1, **parameters)
    return model.fit(_collection(tables, X[0][:0]), _collection(targets, y[0][:0]))


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("what", ["table", "target"])
def test_a_partition_that_cannot_be_read_is_named(what: str, early_stopping: bool) -> None:
    (tables, targets), fail = _quarters(), _failing()
    (tables if what == "table" else targets)[2] = fail()
    with pytest.raises(PartitionError, match=r"partition 2 .* cannot be read: OSError.*disk on fire"):
        _fit(tables, targets, early_stopping=early_stopping)


def _failing() -> Any:
    @dask.delayed
    def fail() -> None:
        raise OSError("disk on fire")

    return fail


def test_a_partition_with_other_columns_is_named() -> None:
    tables, targets = _quarters()
    tables[1] = tables[1].rename(columns={"c": "other"})
    with pytest.raises(PartitionError, match=r"in partition 1: X has the columns \['a', 'b', 'other', 'd'\]"):
        _fit(tables, targets)


def test_a_partition_with_words_for_numbers_is_named() -> None:
    tables, targets = _quarters()
    tables[3] = tables[3].assign(b="x")
    with pytest.raises(PartitionError, match="in partition 3: column 'b' holds text, but numbers by"):
        _fit(tables, targets)


@pytest.mark.parametrize(("value", "message"), [(np.nan, "Input y contains NaN"), (np.inf, "infinity")])
def test_targets_that_are_no_numbers_are_named(value: float, message: str) -> None:
    tables, targets = _quarters()
    targets[1] = targets[1].where(targets[1] < targets[1].max(), value)
    with pytest.raises(PartitionError, match=f"in partition 1: .*{message}"):
        _fit(tables, targets)


def test_partitions_of_different_lengths_are_named() -> None:
    tables, targets = _quarters()
    targets[2] = targets[2][:-1]
    with pytest.raises(PartitionError, match=r"in partition 2: .*inconsistent numbers of samples"):
        _fit(tables, targets, early_stopping=False)


def test_infinite_cells_and_negative_weights_are_named() -> None:
    X = np.ones((40, 2))
    X[25, 1] = np.inf
    lazy, y = da.from_array(X, chunks=(10, 2)), da.arange(40.0, chunks=10)
    with pytest.raises(PartitionError, match=r"in partition 2: .*column 'x1' holds inf in row 6"):
        DaskCSIDRegressor().fit(lazy, y)
    with pytest.raises(PartitionError, match=r"in partition 0: sample_weight holds -1.0 in row 1"):
        DaskCSIDRegressor(early_stopping=False).fit(da.ones((40, 2), chunks=(10, 2)), y, sample_weight=y - 1)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("kind", [DaskCSIDRegressor, DaskBayesianCSIDRegressor])
def test_a_fit_that_a_partition_stops_leaves_the_model_as_it_was(kind: Any, warm_start: bool) -> None:
    data, short = mixed(200), {"effort": "fast", "prior": "medium", "n_chains": 1, "n_draws": 3}
    model = kind(rank=2, random_state=0, warm_start=warm_start, likelihood="student_t")
    if kind is DaskBayesianCSIDRegressor:
        model.set_params(**short)
    before, fitted = model.fit(*data.lazy).predict(data.X), model.fitted_
    own = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    (tables, targets), fail = _quarters(), _failing()
    X, y = _quarters()
    wrong = [
        ([*tables[:3], tables[3].assign(b="x")], targets),
        ([*tables[:3], tables[3].rename(columns={"c": "other"})], targets),
        (tables, [*targets[:3], targets[3].where(targets[3] < targets[3].max(), np.nan)]),
        (tables, [*targets[:3], targets[3][:-1]]),
        ([*tables[:3], fail()], targets),
    ]
    for some, their in wrong:
        with pytest.raises(PartitionError, match="partition 3"):
            model.fit(_collection(some, X[0][:0]), _collection(their, y[0][:0]))
        assert model.fitted_ is fitted
        assert all(vars(model)[name] is value for name, value in own.items())
        assert np.array_equal(model.predict(data.X), before)


def test_an_empty_partition_and_one_that_lacks_columns_give_the_local_answer() -> None:
    """Numbers missing throughout a partition come without a type, and so do words."""
    tables, targets = _quarters()
    tables[1] = tables[1].assign(b=np.nan, d=np.nan)
    tables[3], targets[3] = tables[3][:0], targets[3][:0]
    model = _fit(tables, targets)
    X, y = pd.concat(tables[:3]).astype({"d": object}), pd.concat(targets[:3])
    local = CSIDRegressor(rank=3, max_iter=4, random_state=0, pmf_rank=1).fit(X, y)
    assert_allclose(model.predict(X), local.predict(X), rtol=1e-8, atol=1e-8)


def test_too_few_rows() -> None:
    with pytest.raises(ValueError, match="Found 1 sample"):
        DaskCSIDRegressor().fit(da.ones((1, 2)), da.ones(1))
