"""Files that are fitted out of core: the same model, by option or by file size."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose

import csid as library
from cli.conftest import Run, as_csv, table
from csid.cli import memory

FIT = ("--target", "rent", "--estimator", "als", "--set", "rank=2", "--set", "pmf_rank=1", "--set", "max_iter=5")


def predicted(path: Path, X: Any) -> Any:
    return library.load(path).predict(X)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_in_parts_gives_the_model_of_the_whole(ending: str, csid: Run, tmp_path: Path) -> None:
    flats = table()
    path = tmp_path / f"flats.{ending}"
    if ending == "csv":
        path.write_bytes(as_csv(flats))
    else:
        pa.parquet.write_table(flats, path)
    csid("fit", str(path), *FIT, "--in-memory", "-o", "whole.csid")
    csid("fit", str(path), *FIT, "--out-of-core", "-o", "parts.csid")
    whole, parts = (library.load(tmp_path / name) for name in ("whole.csid", "parts.csid"))
    assert whole.schema_ == parts.schema_
    assert whole.n_samples_ == parts.n_samples_
    for one, other in zip(whole.cpd_.factors, parts.cpd_.factors, strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_a_folder_of_parquet_files(csid: Run, tmp_path: Path) -> None:
    folder = tmp_path / "flats"
    folder.mkdir()
    for part in range(3):
        pa.parquet.write_table(table(100, part), folder / f"{part}.parquet")
    done = csid("fit", "flats", *FIT, "--out-of-core", "--json")
    assert done.document["rows"] <= 300
    assert (tmp_path / "flats.csid").exists()


def test_large_files_are_read_in_parts_by_themselves(csid: Run, flats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    assert "Fitting out of core" in csid("fit", str(flats), *FIT).notes
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 40)
    assert "Fitting out of core" not in csid("fit", str(flats), *FIT).notes


def test_what_needs_memory_is_said(csid: Run, flats: Path) -> None:
    assert "needs the rows in memory" in csid("fit", flats, *FIT, "--out-of-core", "--holdout", "0.2").notes
    assert "standard input can be read only once" in csid("fit", "-", *FIT, "--out-of-core", "-o", "m.csid").notes


def test_the_memory_that_is_free_is_known() -> None:
    assert 1 << 20 < memory.free_memory() < 1 << 50
    assert np.isfinite(memory.free_memory())
