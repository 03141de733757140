"""A fit of Dask collections that fails leaves the fitted estimator as it was: refused or stopped, anywhere."""

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from csid import InterruptedFitWarning
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from refits import Rows, Snapshot, fails_at, left_as_it_was, rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT: dict[str, Any] = {"rank": 2, "levels": 6, "random_state": 0, "n_jobs": 1}
CHAINS: dict[str, Any] = {"prior": "medium", "effort": "fast", "n_chains": 1, "n_burn": 2, "n_draws": 2}

KINDS: dict[str, Callable[[], Any]] = {
    "als": lambda: DaskCSIDRegressor(**SHORT, max_iter=2),
    "als, warm start": lambda: DaskCSIDRegressor(**SHORT, max_iter=2, warm_start=True),
    "bayesian": lambda: DaskBayesianCSIDRegressor(**SHORT, **CHAINS),
    "bayesian, warm start": lambda: DaskBayesianCSIDRegressor(**SHORT, **CHAINS, warm_start=True),
}


@pytest.fixture(autouse=True, scope="module")
def _in_this_process() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(X: pd.DataFrame, y: Any, sample_weight: Any = None) -> Rows:
    """Three partitions of data frames and arrays."""
    table = dd.from_pandas(X.assign(word=X["word"].astype("string")), npartitions=3)
    sizes = tuple(table.map_partitions(len).compute())
    arrays = [None if each is None else da.from_array(np.asarray(each), chunks=(sizes,)) for each in (y, sample_weight)]
    return Rows(table, *arrays)


@cache
def _fitted(kind: str) -> bytes:
    with dask.config.set(scheduler="synchronous"):
        return pickle.dumps(KINDS[kind]().fit(*lazy(*rows())[:2]))


def fitted(kind: str) -> Any:
    return pickle.loads(_fitted(kind))


def _with(values: Any, row: int, value: float) -> Any:
    values = np.array(values, float)
    values[row] = value
    return values


def _infinite(X: pd.DataFrame, row: int) -> pd.DataFrame:
    X = X.copy()
    X.loc[row, "x"] = np.inf
    return X


def _weights(value: float) -> Callable[[Rows, int], Rows]:
    return lambda own, row: lazy(*own[:2], _with(np.ones(60), row, value))


def _as_array(own: Rows, columns: int) -> Rows:
    return Rows(da.zeros((60, columns), chunks=(20, columns)), da.from_array(own.y, chunks=20))


WRONG: dict[str, Callable[[Rows, int], Rows]] = {
    "a target that is NaN": lambda own, row: lazy(own.X, _with(own.y, row, np.nan)),
    "a weight that is negative": _weights(-1.0),
    "a weight that is NaN": _weights(np.nan),
    "weights of zero": lambda own, row: lazy(*own[:2], np.zeros(60)),
    "a cell that is infinite": lambda own, row: lazy(_infinite(own.X, row), own.y),
    "targets of other partitions": lambda own, row: Rows(lazy(*own).X, da.zeros(60, chunks=30)),
    "targets of fewer rows": lambda own, row: Rows(lazy(*own).X, da.zeros(30, chunks=10)),
    "targets that are no collection": lambda own, row: Rows(lazy(*own).X, own.y),
    "no columns": lambda own, row: _as_array(own, 0),
    "a column that is not in its metadata": lambda own, row: Rows(
        lazy(*own).X.map_partitions(lambda X: X.drop(columns="z"), meta=lazy(*own).X._meta), lazy(*own).y
    ),
    "local rows without targets": lambda own, row: Rows(own.X, None),
}
WRONG_TO_CONTINUE: dict[str, Callable[[Rows, int], Rows]] = {
    "fewer columns": lambda own, row: lazy(own.X[["x", "word"]], own.y),
    "one column without a name": lambda own, row: _as_array(own, 1),
    "more outputs": lambda own, row: Rows(
        lazy(*own).X, da.stack([lazy(*own).y, lazy(*own).y], axis=1).rechunk({1: -1})
    ),
}
"""Only where a fit is continued."""


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(max_examples=40)
@given(data=st.data())
def test_a_refused_fit_changes_nothing(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    model = fitted(kind)
    cases = WRONG | WRONG_TO_CONTINUE if model.warm_start else WRONG
    case = data.draw(st.sampled_from(sorted(cases)))
    wrong = cases[case](rows(seed=1), data.draw(st.integers(0, 59)))
    with left_as_it_was(model), pytest.raises((ValueError, TypeError)):
        model.fit(*wrong)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"solver": "stochastic"}, {"pmf_rank": 3}], ids=str)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_refused_parameters_change_nothing(kind: str, wrong: dict[str, Any]) -> None:
    model = fitted(kind).set_params(**wrong)
    with left_as_it_was(model), pytest.raises(ValueError, match=next(iter(wrong))):
        model.fit(*lazy(*rows(seed=1)))


@cache
def _calls_of_a_fit(kind: str) -> int:
    model, own = fitted(kind), lazy(*rows(seed=1))
    with fails_at(0, KeyboardInterrupt) as seen:
        model.fit(*own)
    return seen[0]


@settings(max_examples=15)
@given(data=st.data())
def test_a_fit_that_stops_anywhere_changes_nothing(data: st.DataObject) -> None:
    """An interrupt, or memory that runs out, at any call inside. The sampler may keep the draws made so far."""
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    error = data.draw(st.sampled_from([KeyboardInterrupt, MemoryError]))
    call = data.draw(st.integers(1, _calls_of_a_fit(kind)))
    model, own = fitted(kind), lazy(*rows(seed=1))
    before, failed = Snapshot.of(model), False
    with warnings.catch_warnings(record=True) as caught, fails_at(call, error) as seen:
        warnings.simplefilter("always")
        try:
            model.fit(*own)
        except (KeyboardInterrupt, MemoryError):
            failed = True
    if failed:
        before.assert_still(model)
        assert_array_equal(model.fit(*own).predict(rows().X), _after(kind))
    else:
        assert any(issubclass(each.category, InterruptedFitWarning) for each in caught) or seen[0] < call


@cache
def _after(kind: str) -> Any:
    return fitted(kind).fit(*lazy(*rows(seed=1))).predict(rows().X)
