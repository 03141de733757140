"""A fit over partitions is the local fit: same levels, same start, same answer."""

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid import CSIDRegressor
from csid.dask import DaskCSIDRegressor
from csid.data.cluster import encoding
from on_dask.partitioned import mixed, numbers

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
LIKELIHOODS = ["gaussian", "student_t"]


def _pair(**parameters: Any) -> tuple[DaskCSIDRegressor, CSIDRegressor]:
    given = {"rank": 3, "max_iter": 12, "random_state": 0, "pmf_rank": 1} | parameters
    return DaskCSIDRegressor(**given), CSIDRegressor(**given)


def _assert_same(one: Any, other: Any, X: Any) -> None:
    assert_allclose(one.predict(X), other.predict(X), **CLOSE)
    assert one.n_iter_ == other.n_iter_
    assert one.n_samples_ == other.n_samples_
    assert one.levels_ == other.levels_
    for p, q in zip(one.encoding_.marginals, other.encoding_.marginals, strict=True):
        assert_allclose(p, q, rtol=1e-12)
    for name in ("objective_history_", "validation_history_"):
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
            assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"early_stopping": False},
        {"interpolation": "constant", "levels": 6},
        {"levels": 5, "update": "row"},
        {"n_init": 2, "smoothness_order": 2},
        {"missing": "level"},
        {"likelihood": "student_t"},
        {"likelihood": "student_t", "early_stopping": False, "n_init": 2, "missing": "level"},
    ],
    ids=str,
)
def test_a_frame_gives_the_local_answer(parameters: dict[str, Any]) -> None:
    """Some cells missing, rows held out or not, and cells that repeat."""
    data = mixed(missing=0.1)
    over_partitions, local = _pair(**parameters)
    _assert_same(over_partitions.fit(*data.lazy), local.fit(data.X, data.y), data.X)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_an_array_gives_the_local_answer(outputs: int, likelihood: str) -> None:
    data = numbers(outputs=outputs)
    over_partitions, local = _pair(likelihood=likelihood)
    _assert_same(over_partitions.fit(*data.lazy), local.fit(data.X, data.y), data.X)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_many_predictors_give_the_local_answer(likelihood: str) -> None:
    """Products outside a group of them are kept while it is visited."""
    data = numbers(predictors=20)
    over_partitions, local = _pair(max_iter=4, likelihood=likelihood)
    _assert_same(over_partitions.fit(*data.lazy), local.fit(data.X, data.y), data.X)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_weights_give_the_local_answer(likelihood: str) -> None:
    """Rows of weight zero are no rows, for the levels and for the choice of rows to hold out."""
    data, weights = numbers(), np.random.default_rng(2).integers(0, 3, 500).astype(float)
    over_partitions, local = _pair(likelihood=likelihood)
    over_partitions.fit(*data.lazy, sample_weight=da.from_array(weights, chunks=120))
    _assert_same(over_partitions, local.fit(data.X, data.y, sample_weight=weights), data.X)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_to_validate_on_and_a_warm_start_give_the_local_answer(likelihood: str) -> None:
    data = numbers()
    over_partitions, local = _pair(warm_start=True, max_iter=4, likelihood=likelihood)
    for model, given in ((over_partitions, data.lazy), (local, (data.X, data.y))):
        for _ in range(2):
            model.fit(*given, X_val=data.X[:60], y_val=data.y[:60])
    _assert_same(over_partitions, local, data.X)


def test_partitions_of_unknown_length_and_without_rows_do() -> None:
    data = mixed()
    over_partitions, local = _pair()
    table = data.X.assign(t=data.y).sort_values("a", ignore_index=True)
    lazy = dd.from_pandas(table, npartitions=4)
    some, whole = lazy[lazy["a"] < 0.25], table[table["a"] < 0.25]
    assert 0 in some.map_partitions(len).compute().tolist()
    over_partitions.fit(some[list("abcd")], some["t"])
    _assert_same(over_partitions, local.fit(whole[list("abcd")], whole["t"]), whole[list("abcd")])


def test_partitions_are_joined_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed(npartitions=20)
    monkeypatch.setattr(encoding, "_BLOCKS_PER_THREAD", 1)
    monkeypatch.setattr("csid.data.cluster.cluster.CPU_COUNT", 3)
    kept: list[int] = []
    keep = encoding.Cluster.keep

    def watched(cluster: Any, tasks: Any) -> Any:
        found = keep(cluster, tasks)
        kept.append(len(found))
        return found

    monkeypatch.setattr(encoding.Cluster, "keep", watched)
    over_partitions, local = _pair()
    _assert_same(over_partitions.fit(*data.lazy), local.fit(data.X, data.y), data.X)
    assert kept == [3]


def test_very_many_rows_are_held_out_by_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_MOST_SHUFFLED", 100)
    held = encoding.held_out_rows([50, 0, 70, 30], 30, np.random.default_rng(0))
    assert [len(rows) for (rows,) in held] == [10, 0, 14, 6]
    assert all(len(set(rows.tolist())) == len(rows) for (rows,) in held)
    assert max(held[2][0]) < 70
    data = mixed()
    over_partitions, _ = _pair()
    assert over_partitions.fit(*data.lazy).n_samples_ == 540
    assert over_partitions.score(data.X, data.y) > 0.9


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_any_scheduler_will_do(scheduler: str, likelihood: str) -> None:
    data = mixed()
    over_partitions, local = _pair(max_iter=3, likelihood=likelihood)
    with dask.config.set(scheduler=scheduler):
        over_partitions.fit(*data.lazy)
    _assert_same(over_partitions, local.fit(data.X, data.y), data.X)


def test_dates_ordered_words_and_names_of_targets_are_those_of_a_local_fit() -> None:
    rng = np.random.default_rng(0)
    sizes, days = rng.integers(0, 3, 240), rng.integers(0, 900, 240)
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "size": pd.Categorical.from_codes(sizes, ["S", "M", "L"], ordered=True),
        }
    )
    y = pd.Series(days / 100.0 + sizes, name="price")
    one, other = _pair()
    one.fit(dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3))
    other.fit(X, y)
    _assert_same(one, other, X)
    assert one.fitted_.target_names == ("price",)
    assert one.encoding_.modes[0].limits == other.encoding_.modes[0].limits
    new = X.assign(day=X["day"] + pd.Timedelta(days=5))
    assert one.unseen_values(dd.from_pandas(new, npartitions=4)) == other.unseen_values(new)
    assert len(other.unseen_values(new)) == 1
