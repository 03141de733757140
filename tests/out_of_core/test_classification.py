"""Classifiers on rows out of memory: the model of the table in memory, with the labels as they are in the files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid import Batches, BayesianCSIDClassifier, CSIDClassifier, ParquetRows
from csid.data.out_of_core import parquet
from large_tables import table, written

PREDICTORS = ["a", "b", "c", "word", "flag"]
MODELS = {
    "least squares": CSIDClassifier(rank=3, max_iter=10, pmf_rank=1, random_state=0),
    "bayesian": BayesianCSIDClassifier(
        3, prior="medium", n_chains=2, n_burn=4, n_draws=3, pmf_rank=1, missing="marginalize", random_state=0
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore:The chains may not have converged")
of_both = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 128)


def model(kind: str, **options: Any) -> Any:
    return type(MODELS[kind])(**MODELS[kind].get_params() | options)


def classes(count: int, missing: float = 0.1) -> pd.DataFrame:
    """The rows of `table` with a column of texts, sorted so that early files do not have all classes."""
    X = table(700, missing=missing)
    edges = np.quantile(X["y"], np.linspace(0.3, 0.9, count - 1))
    X["kind"] = np.array(["good", "bad", "fair"])[np.digitize(X["y"], edges)]
    return X.sort_values("y", ignore_index=True)


def folder(X: pd.DataFrame, tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    return written(X, tmp_path / "rows")


def same(one: Any, other: Any, X: pd.DataFrame) -> None:
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.classes_.dtype == other.classes_.dtype
    assert_allclose(one.fitted_.classes.counts, other.fitted_.classes.counts)
    tolerance = 1e-8 if isinstance(one, CSIDClassifier) else 1e-5  # draws are kept in single precision
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=tolerance)


@of_both
@pytest.mark.parametrize("count", [2, 3])
def test_a_folder_gives_the_model_of_its_table(kind: str, count: int, tmp_path: Path) -> None:
    X = classes(count, missing=0.1 if kind == "least squares" else 0.0)
    found = model(kind).fit(folder(X[[*PREDICTORS, "kind"]], tmp_path), y="kind")
    if kind == "least squares":
        same(found, model(kind).fit(X[PREDICTORS], X["kind"]), X[PREDICTORS])
    else:  # the pilot draws the same rows, but encodes them in another order
        local = model(kind).fit(X[PREDICTORS], X["kind"])
        assert found.classes_.tolist() == local.classes_.tolist()
        assert np.sqrt(np.mean((found.predict_proba(X[PREDICTORS]) - local.predict_proba(X[PREDICTORS])) ** 2)) < 0.1


@of_both
def test_weights_of_rows_and_classes(kind: str, tmp_path: Path) -> None:
    X = classes(3)
    rows = ParquetRows(folder(X, tmp_path), target="kind", weight="weight", columns=PREDICTORS)
    options = {"class_weight": {"bad": 3.0}, "max_iter": 6} if kind == "least squares" else {"class_weight": "balanced"}
    found = model(kind, **options).fit(rows)
    local = model(kind, **options).fit(X[PREDICTORS], X["kind"], X["weight"])
    assert_allclose(found.fitted_.classes.counts, local.fitted_.classes.counts)
    assert_allclose(found.fitted_.classes.class_factors, local.fitted_.classes.class_factors)
    if kind == "least squares":
        same(found, local, X[PREDICTORS])


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([3, 1, 2], "int64"), ([3, 1, 2], "Int8"), ([2.0, 1.0, 3.0], "float32"), ([True, False, True], "bool")],
    ids=str,
)
def test_labels_keep_the_type_of_the_file(labels: list[Any], dtype: str, tmp_path: Path) -> None:
    X = classes(3)
    X["kind"] = pd.Series(np.array(labels)[pd.factorize(X["kind"])[0]], dtype=dtype)
    found = model("least squares").fit(folder(X[[*PREDICTORS, "kind"]], tmp_path), y="kind")
    same(found, model("least squares").fit(X[PREDICTORS], X["kind"]), X[PREDICTORS])


@pytest.mark.parametrize("kind", ["pandas", "ordered", "enum", "objects", "texts"])
@pytest.mark.parametrize("once", [False, True], ids=["function", "iterator"])
def test_batches_of_any_labels_read_once_or_again(kind: str, once: bool) -> None:
    X = classes(3)
    order = ["bad", "fair", "good"][::-1]
    convert = {
        "pandas": lambda y: y,
        "ordered": lambda y: y.astype(pd.CategoricalDtype(order, ordered=True)),
        "enum": lambda y: pl.Series(y.tolist(), dtype=pl.Enum(order)),
        "objects": lambda y: y.to_numpy(object),
        "texts": lambda y: y.to_numpy(str),
    }[kind]

    def read() -> Iterator[Any]:
        for start in range(0, 700, 200):
            part = X[start : start + 200]
            yield part[PREDICTORS], convert(part["kind"])

    found = model("least squares").fit(read() if once else Batches(read))
    local = model("least squares").fit(X[PREDICTORS], convert(X["kind"]))
    assert found.fitted_.classes.ordered == (kind in ("ordered", "enum"))
    same(found, local, X[PREDICTORS])


def test_only_the_column_of_classes_is_read_to_count_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, columns = classes(3), []
    read = ParquetRows._read

    def watched(self: Any, names: list[str]) -> Any:
        columns.append(names)
        return read(self, names)

    monkeypatch.setattr(ParquetRows, "_read", watched)
    model("least squares", max_iter=1).fit(folder(X[[*PREDICTORS, "kind"]], tmp_path), y="kind")
    assert columns.count(["kind"]) == 1


def test_labels_that_are_refused_name_the_file_and_the_row(tmp_path: Path) -> None:
    X = classes(2)
    X.loc[500, "kind"] = None
    rows = folder(X[[*PREDICTORS, "kind"]], tmp_path)
    with pytest.raises(ValueError, match=r"part-2.parquet, rows 1 to 128: Input y contains NaN, first in row 34"):
        model("least squares").fit(rows, y="kind")
    with pytest.raises(ValueError, match=r"part-0.parquet, rows 1 to 128: .* Unknown label type: continuous"):
        model("least squares").fit(rows, y="b")
    with pytest.raises(ValueError, match=r"batch 1: y mixes labels|mixes labels of different types"):
        model("least squares").fit(Batches([(X[["b"]][:9], ["u", "v"] * 4 + ["u"]), (X[["b"]][:2], [1, 2])]))
    with pytest.raises(ValueError, match="y has one class, 'only'"):
        model("least squares").fit(Batches([(X[["b"]][:9], ["only"] * 9)]))


def test_a_warm_start_continues_from_a_folder(tmp_path: Path) -> None:
    X = classes(3)
    rows = folder(X[[*PREDICTORS, "kind"]], tmp_path)
    one, other = (model("least squares", warm_start=True, max_iter=3) for _ in range(2))
    one.fit(rows, y="kind").fit(rows, y="kind")
    other.fit(X[PREDICTORS], X["kind"]).fit(X[PREDICTORS], X["kind"])
    same(one, other, X[PREDICTORS])
    few = X[X["kind"] != "bad"]
    again = one.fit(Batches([(few[PREDICTORS], few["kind"])]))
    assert_array_equal(again.classes_, ["bad", "fair", "good"])
