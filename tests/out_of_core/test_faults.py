"""What is wrong with rows in files or batches is named, or does no harm."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid import Batches, CSIDRegressor, ParquetRows
from large_tables import table, written

COLUMNS = ["a", "b", "word", "y"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(table()[COLUMNS], tmp_path)


def fit(given: Any, y: Any = None) -> CSIDRegressor:
    return CSIDRegressor(rank=2, max_iter=3, random_state=0).fit(given, y)


def test_a_file_that_is_no_parquet_is_named(folder: Path) -> None:
    (folder / "part-1.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(ValueError, match=r"part-1\.parquet cannot be read as Parquet"):
        fit(folder, "y")


def test_a_file_that_is_damaged_inside_is_named(folder: Path) -> None:
    path = folder / "part-2.parquet"
    content = bytearray(path.read_bytes())
    content[4:100] = bytes([255] * 96)  # the header of its first column
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"part-2\.parquet"):
        fit(folder, "y")


def test_a_column_that_a_file_lacks_is_named(folder: Path) -> None:
    table()[["a", "word", "y"]].to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet has no column 'b'"):
        fit(folder, "y")


def test_a_column_of_another_type_is_named(folder: Path) -> None:
    table()[COLUMNS].assign(a="x").to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet: column 'a' has type .*string, but double"):
        fit(folder, "y")


def test_numbers_of_another_width_are_read(folder: Path) -> None:
    table()[COLUMNS].astype({"b": np.float32}).to_parquet(folder / "part-1.parquet")
    assert fit(folder, "y").n_samples_ > 0


def test_a_file_without_rows_does_no_harm(folder: Path) -> None:
    X = table()[COLUMNS]
    X[:0].to_parquet(folder / "part-9.parquet")
    one = fit(X.drop(columns="y"), X["y"])
    assert_allclose(fit(folder, "y").cpd_.bias, one.cpd_.bias, rtol=0.5)


@pytest.mark.parametrize("name", ["a", "word"])
def test_a_file_in_which_a_column_is_missing_throughout(name: str, tmp_path: Path) -> None:
    X = table(missing=0.0)[COLUMNS]
    X.loc[:499, name] = None
    whole = CSIDRegressor(rank=2, max_iter=5, random_state=0, pmf_rank=1).fit(X.drop(columns="y"), X["y"])
    fitted = CSIDRegressor(rank=2, max_iter=5, random_state=0).fit(written(X, tmp_path), "y")
    assert_allclose(fitted.predict(X.drop(columns="y")), whole.predict(X.drop(columns="y")), rtol=1e-8, atol=1e-8)


def test_a_column_that_is_missing_everywhere_says_nothing(tmp_path: Path) -> None:
    X = table()[COLUMNS].assign(a=np.nan)
    fitted = fit(written(X, tmp_path), "y")
    assert fitted.levels_["a"] == [0.0]


def test_an_unknown_target_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"has no column 'price'\. Its columns are 'a', 'b', 'word', 'y'"):
        fit(folder, "price")


def test_a_target_that_is_missing_or_no_number_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"part-0\.parquet, rows 1 to .*: y holds the text 'low' in row 1"):
        fit(folder, "word")
    X = table()[COLUMNS]
    X.loc[10, "y"] = np.nan
    X.to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet, rows 1 to 1,500: Input y contains NaN, first in row 11"):
        fit(folder, "y")


def test_a_path_wants_the_name_of_a_target(folder: Path) -> None:
    for y in (None, np.arange(3.0)):
        with pytest.raises(TypeError, match="y must name the target column"):
            fit(folder, y)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fit(tmp_path / "nowhere", "y")
    with pytest.raises(ValueError, match="has no Parquet files"):
        fit(tmp_path, "y")


def test_too_few_rows(tmp_path: Path) -> None:
    table(1)[COLUMNS].to_parquet(tmp_path / "one.parquet")
    with pytest.raises(ValueError, match="1 row with a positive weight: a fit needs at least 2"):
        fit(tmp_path, "y")
    with pytest.raises(ValueError, match="0 rows with a positive weight"):
        fit(Batches([]))


def test_batches_that_differ_are_named() -> None:
    X = pd.DataFrame({"a": np.arange(300.0), "b": 1.0})
    y = np.arange(300.0)
    with pytest.raises(ValueError, match=r"batch 1: .*feature names"):
        fit(Batches([(X, y), (X.rename(columns={"b": "c"}), y)]))
    with pytest.raises(ValueError, match=r"batch 1: Found input variables with inconsistent numbers"):
        fit(Batches([(X, y), (X, y[:10])]))
    with pytest.raises(ValueError, match="batch 1: y has 2 outputs"):
        fit(Batches([(X, y), (X, np.column_stack([y, y]))]))
    with pytest.raises(TypeError, match=r"batch 0 must be a tuple \(X, y\)"):
        fit(Batches([X]))
    with pytest.raises(ValueError, match=r"batch 1: .*infinity"):
        fit(Batches([(X, y), (X.assign(a=np.inf), y)]))


def test_rows_that_change_between_reads_are_noticed() -> None:
    calls = iter(range(100))

    def read() -> Any:
        n = 300 + next(calls)
        X = np.random.default_rng(0).normal(size=(n, 2))
        return [(X, X[:, 0])]

    with pytest.raises(ValueError, match="changed during the fit"):
        fit(Batches(read))


def test_targets_come_with_the_rows(folder: Path) -> None:
    with pytest.raises(TypeError, match="contains its own targets and weights"):
        fit(ParquetRows(folder, "y"), np.arange(3.0))
