"""Rows out of memory give the model that they give in memory, and leave nothing behind."""

import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.dataset
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid import Batches, CSIDRegressor, ParquetRows
from csid.data.out_of_core import parquet
from csid.encoding import OrdinalMode
from large_tables import table, written

PREDICTORS = ["a", "b", "c", "word", "flag"]
LIKELIHOODS = ["gaussian", "student_t"]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where code files go; empty when a test ends."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 128)


def model(**options: Any) -> CSIDRegressor:
    return CSIDRegressor(**({"rank": 3, "max_iter": 12, "random_state": 0, "pmf_rank": 1} | options))


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interpolation": "constant", "levels": 300},
        {"missing": "level"},
        {"early_stopping": False},
        {"categorical_features": ["flag", "b"], "levels": 5},
        {"n_estimators": 2},
        {"n_init": 2, "update": "row"},
        {"update": "cg", "max_iter": 4},
        {"solver": "stochastic"},
        {"likelihood": "student_t"},
        {"likelihood": "student_t", "n_estimators": 2, "missing": "level"},
        {"likelihood": "student_t", "solver": "stochastic"},
    ],
    ids=str,
)
def test_a_folder_gives_the_model_of_its_table(options: dict[str, Any], tmp_path: Path) -> None:
    X = table()
    if options.get("categorical_features"):
        X["b"] = X["b"].round(1)
    if options.get("interpolation") == "constant":
        X = table(400)
    folder = written(X[[*PREDICTORS, "y"]], _new(tmp_path))
    one, other = model(**options).fit(X[PREDICTORS], X["y"]), model(**options).fit(folder, "y")
    _same_model(one, other, X[PREDICTORS])
    assert list(other.feature_names_in_) == PREDICTORS


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_several_outputs_and_weights(likelihood: str, tmp_path: Path) -> None:
    X = table()
    folder = written(X, _new(tmp_path))
    rows = ParquetRows(folder, target=["y", "z"], weight="weight", columns=PREDICTORS)
    one = model(likelihood=likelihood).fit(X[PREDICTORS], X[["y", "z"]], X["weight"])
    other = model(likelihood=likelihood).fit(rows)
    assert one.n_samples_ == other.n_samples_ < len(X)
    _same_model(one, other, X[PREDICTORS])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_without_repeated_cells_give_the_same_bits(likelihood: str, tmp_path: Path) -> None:
    X = table(missing=0.0)[["a", "b", "c", "y"]]
    folder = written(X, _new(tmp_path), parts=1)
    options = {"early_stopping": False, "likelihood": likelihood}
    one, other = model(**options).fit(X[["a", "b", "c"]], X["y"]), model(**options).fit(folder, "y")
    assert_array_equal(one.predict(X[["a", "b", "c"]]), other.predict(X[["a", "b", "c"]]))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_threads_change_no_bit(likelihood: str, tmp_path: Path) -> None:
    X = table()
    folder = written(X[[*PREDICTORS, "y"]], _new(tmp_path))
    one, other = (model(n_jobs=threads, likelihood=likelihood).fit(folder, "y") for threads in (1, 3))
    assert_array_equal(one.predict(X[PREDICTORS]), other.predict(X[PREDICTORS]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "generator", "function"])
def test_batches_of_any_kind_give_the_model_of_the_whole(kind: str) -> None:
    names = ["a", "b", "c"] if kind == "array" else PREDICTORS
    X = table()
    convert = {"polars": pl.from_pandas, "array": lambda part: part.to_numpy()}.get(kind, lambda part: part)

    def read() -> Iterator[Any]:
        for start in range(0, len(X), 400):
            part = X[start : start + 400]
            yield convert(part[names]), part["y"].to_numpy(), part["weight"].to_numpy()

    given = {"generator": read(), "function": Batches(read)}.get(kind, Batches(list(read())))
    whole = X[names].to_numpy() if kind == "array" else X[names]
    _same_model(model().fit(whole, X["y"], X["weight"]), model().fit(given), whole)


def test_a_data_set_with_partitions_has_their_column(tmp_path: Path) -> None:
    X = table(missing=0.0).drop(columns=["flag", "z", "weight"])
    X["year"] = np.repeat([2023, 2024, 2025], 500)
    X.to_parquet(tmp_path / "years", partition_cols=["year"])
    for rows in (tmp_path / "years", pyarrow.dataset.dataset(tmp_path / "years", partitioning="hive")):
        fitted = model().fit(rows, "y")
        assert list(fitted.feature_names_in_) == ["a", "b", "c", "word", "year"]
        whole = X[["a", "b", "c", "word", "year"]]
        _same_model(model().fit(whole, X["y"]), fitted, whole)


def test_a_fit_goes_on_from_rows_in_a_folder(tmp_path: Path) -> None:
    X = table()
    folder = written(X[[*PREDICTORS, "y"]], _new(tmp_path))
    one = model(warm_start=True, max_iter=3).fit(X[PREDICTORS], X["y"])
    other = model(warm_start=True, max_iter=3).fit(folder, "y")
    _same_model(one.fit(X[PREDICTORS], X["y"]), other.fit(folder, "y"), X[PREDICTORS])


def test_rows_to_stop_on_may_be_in_memory(tmp_path: Path) -> None:
    X = table()
    folder = written(X[[*PREDICTORS, "y"]][:1200], _new(tmp_path))
    own = {"X_val": X[PREDICTORS][1200:], "y_val": X["y"][1200:]}
    one = model().fit(X[PREDICTORS][:1200], X["y"][:1200], **own)
    _same_model(one, model().fit(folder, "y", **own), X[PREDICTORS])


def test_a_joint_distribution_is_for_tables_in_memory(tmp_path: Path) -> None:
    folder = written(table()[[*PREDICTORS, "y"]], _new(tmp_path))
    with pytest.raises(ValueError, match="pmf_rank=4 is not supported for rows that are read in batches"):
        model(pmf_rank=4).fit(folder, "y")


def test_an_interrupted_fit_leaves_no_files(tmp_path: Path) -> None:
    X = table()

    def read() -> Iterator[Any]:
        yield X[PREDICTORS][:700], X["y"][:700]
        raise KeyboardInterrupt

    for given in (read(), Batches(read)):
        with pytest.raises(KeyboardInterrupt):
            model().fit(given)


def test_a_failing_write_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(table()[[*PREDICTORS, "y"]], _new(tmp_path))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        model().fit(folder, "y")


def _new(tmp_path: Path) -> Path:
    folder = tmp_path / "rows"
    folder.mkdir()
    return folder


def _same_model(one: CSIDRegressor, other: CSIDRegressor, X: Any) -> None:
    for own, its in zip(one.encoding_.modes, other.encoding_.modes, strict=True):
        if isinstance(own, OrdinalMode) and isinstance(its, OrdinalMode):
            assert_array_equal(own.grid, its.grid)
        else:
            assert own == its
    assert one.n_samples_ == other.n_samples_
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-8, atol=1e-8)


def test_the_memory_of_a_fit_is_below_that_of_its_table(tmp_path: Path) -> None:
    """Peak of what NumPy allocates, codes apart, which are in a file, and compiled code, which a smaller fit loads."""
    rng = np.random.default_rng(0)
    rows, columns = 100_000, 60

    def read(batches: int) -> Iterator[Any]:
        for _ in range(batches):
            X = rng.integers(0, 1000, (10_000, columns)) / 1000.0
            yield X, X[:, 0] * X[:, 1]

    brief = model(rank=2, max_iter=1, levels=8, early_stopping=False)
    brief.fit(read(2))
    tracemalloc.start()
    try:
        brief.fit(read(rows // 10_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * rows * columns
