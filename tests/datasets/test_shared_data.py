"""The real data sets, if a folder of them is available: the benchmark tasks, and reading their original files."""

import csv
import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from csid import CSIDRegressor, datasets
from csid.datasets.download import fetch
from csid.datasets.store import read_tables
from csid.datasets.tables import fingerprint

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDER = Path(os.environ.get("CSID_DATA", BESIDE))
if not (FOLDER / "paper").is_dir():
    pytest.skip(f"no data sets in {FOLDER}: set CSID_DATA", allow_module_level=True)


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / "paper" / f"{name}.csv.gz")


def _wine() -> pd.DataFrame:
    parts = [_read(f"wine_{colour}").assign(colour=colour) for colour in ("red", "white")]
    return pd.concat(parts).reset_index(drop=True)


@dataclass(frozen=True)
class Read:
    """A data set read by hand: its targets, and which columns are left out or categorical."""

    targets: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    read: Callable[[], pd.DataFrame] | None = None


BY_HAND = {
    "energy": Read(("Y1", "Y2"), categories=("X6", "X8")),
    "concrete": Read(("Strength",)),
    "skillcraft": Read(("LeagueIndex",), ("GameID",)),
    "abalone": Read(("Rings",), categories=("Sex",)),
    "wine": Read(("quality",), categories=("colour",), read=_wine),
    "parkinsons": Read(("motor_UPDRS", "total_UPDRS"), ("subject#",)),
    "ccpp": Read(("PE",)),
    "bike": Read(
        ("casual", "registered"),
        ("instant", "dteday", "cnt"),
        ("season", "holiday", "weekday", "workingday", "weathersit"),
    ),
    "protein": Read(("RMSD",)),
}


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSID_DATA", str(FOLDER))


@pytest.mark.parametrize("name", list(BY_HAND))
def test_a_data_set_of_the_paper_is_what_its_file_says(name: str) -> None:
    by_hand = BY_HAND[name]
    frame = _read(name) if by_hand.read is None else by_hand.read()
    targets = list(by_hand.targets) if name != "concrete" else [frame.columns[-1]]
    expected = frame.drop(columns=[*targets, *by_hand.left_out]).astype(dict.fromkeys(by_hand.categories, "category"))
    loaded = datasets.load(name)
    pd.testing.assert_frame_equal(loaded.X, expected, rtol=1e-15, atol=0.0)
    assert list(loaded.categorical) == list(by_hand.categories)
    np.testing.assert_allclose(loaded.y, frame[targets].to_numpy(np.float64).squeeze(), rtol=1e-15)


@pytest.mark.parametrize("name", datasets.names())
def test_a_data_set_is_the_same_in_pandas_and_polars(name: str) -> None:
    one, other = datasets.load(name, library="pandas"), datasets.load(name, library="polars")
    assert_array_equal(one.y, other.y)
    assert list(one.X.columns) == other.X.columns
    for column in one.X.columns:
        if column in one.categorical:
            assert one.X[column].astype(str).tolist() == other.X[column].to_list()
        else:
            assert_array_equal(one.X[column].to_numpy(np.float64), other.X[column].cast(float).to_numpy())


@pytest.mark.parametrize(
    ("name", "shape", "groups"),
    [("parkinsons", (5875, 19), 42), ("oulad", (1917, 12), 1917), ("college_grades", (5690, 6), 443)],
)
def test_people_are_the_groups(name: str, shape: tuple[int, int], groups: int) -> None:
    task = datasets.load(name)
    assert task.X.shape == shape
    assert task.groups is not None
    assert len(task.groups) == len(task.y)
    assert len(np.unique(task.groups)) == groups


def test_the_grades_are_mostly_missing() -> None:
    task = datasets.load("oulad")
    assert task.target == ("CMA 24295",)
    assert task.X.isna().to_numpy().mean() > 0.5
    assert (task.X.notna().sum() >= 20).all()


def test_every_listed_assessment_can_be_a_target() -> None:
    found = datasets.oulad_assessments()
    assert len(found) == 188
    assert [one.students for one in found] == sorted((one.students for one in found), reverse=True)
    assert found[0].name == datasets.describe("oulad").target[0]
    last = datasets.load("oulad", target=found[-1].name)
    assert len(last.y) == found[-1].students


def test_an_estimator_takes_a_loaded_data_set_as_it_is() -> None:
    task = datasets.load("energy", library="polars")
    model = CSIDRegressor(rank=3, max_iter=3, random_state=0, n_jobs=1).fit(task.X, task.y)
    assert model.levels_["X6"] == ["2", "3", "4", "5"]


def test_one_step_of_the_tanks_is_nearly_linear() -> None:
    task = datasets.load("cascaded_tanks", lags=2)
    X = np.column_stack([np.ones(len(task.y)), task.X.to_numpy()])
    train, test = task.split["train"], task.split["test"]
    weights = np.linalg.lstsq(X[train], task.y[train], rcond=None)[0]
    assert np.sqrt(np.mean((X[test] @ weights - task.y[test]) ** 2)) < 0.1


# --- original files -----------------------------------------------------------------------------------------------
# Originals are rebuilt from the folder. Their checksums are those that others have published for the files of the
# UCI repository, so reading what it delivers is tested without a network.


def _text(path: str) -> str:
    return gzip.decompress((FOLDER / f"{path}.csv.gz").read_bytes()).decode()


def _concrete() -> bytes:
    names = "Cement,Blast Furnace Slag,Fly Ash,Water,Superplasticizer,Coarse Aggregate,Fine Aggregate,Age"
    rows = [",".join(f"{float(cell):g}" for cell in row) for row in _rows("paper/concrete")[1:]]
    return "".join(f"{row}\r\n" for row in [f"{names},Concrete compressive strength", *rows]).encode()


def _quoted_header(path: str, separator: str) -> bytes:
    header, body = _text(path).replace(",", separator).split("\n", 1)
    return "\n".join([separator.join(f'"{name}"' for name in header.split(separator)), body]).encode()


def _oulad(path: str, missing: str) -> bytes:
    rows = ([cell.removesuffix(".0") or missing for cell in row] for row in _rows(f"grades/oulad_{path}"))
    return "".join(",".join(f'"{cell}"' for cell in row) + "\r\n" for row in rows).encode()


def _rows(path: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(_text(path))))


ORIGINALS: dict[str, tuple[Callable[[], bytes], str]] = {
    "concrete": (_concrete, "8d4b15b6fc68cd932d745cbd663d5ceae66dd54422e99c1e4865f2936ab7e2af"),
    "ccpp": (
        lambda: _text("paper/ccpp").encode(),
        "3c1fc11025f8424f8d95802d8b7086dffd3f73a552c6dcab3d973620986194b2",
    ),
    "abalone.data": (
        lambda: _text("paper/abalone").split("\n", 1)[1].encode(),
        "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    ),
    "winequality-red.csv": (
        lambda: _quoted_header("paper/wine_red", ";"),
        "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    ),
    "winequality-white.csv": (
        lambda: _quoted_header("paper/wine_white", ";"),
        "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
    ),
    "parkinsons_updrs.data": (
        lambda: _text("paper/parkinsons").rstrip("\n").encode(),
        "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
    ),
    "hour.csv": (
        lambda: _text("paper/bike").replace("\n", "\r\n").encode(),
        "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f",
    ),
    "CASP.csv": (
        lambda: _quoted_header("paper/protein", ","),
        "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40",
    ),
    "assessments.csv": (
        lambda: _oulad("assessments", ""),
        "8cc738fb88ad760571d6f2a23059bfee0ffcae3bcd830514c9cbd5c6d5a046f1",
    ),
    "studentAssessment.csv": (
        lambda: _oulad("student_assessment", ""),
        "fd5320786328d05af841ee7dd4b5871b9dada3b9fe9d6a3642b2f42635510a6e",
    ),
}
SETS = {
    "concrete": ("concrete",),
    "ccpp": ("ccpp",),
    "abalone": ("abalone.data",),
    "wine": ("winequality-red.csv", "winequality-white.csv"),
    "parkinsons": ("parkinsons_updrs.data",),
    "bike": ("hour.csv",),
    "protein": ("CASP.csv",),
    "oulad": ("assessments.csv", "studentAssessment.csv"),
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_an_original_rebuilt_is_the_published_one(name: str) -> None:
    build, checksum = ORIGINALS[name]
    assert hashlib.sha256(build()).hexdigest() == checksum


@pytest.mark.parametrize("name", SETS)
def test_a_data_set_is_read_from_its_original(
    name: str, site: Any, answer: Callable[..., Any], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Downloaded from a local server, unpacked, read, verified and cached; the second time from the cache."""
    files = {file: ORIGINALS[file][0]() for file in SETS[name]}
    original = files.get(name) or _packed(files)
    known = datasets.describe(name)
    path = "/" + known.origins[0].url.split("/", 3)[3]
    site.answers[path] = answer(200, original)
    monkeypatch.setattr("csid.datasets.store.fetch", _at(site.url))
    first = read_tables(known)
    assert [fingerprint(table) for table in first] == [file.fingerprint for file in known.files]
    read_tables(known)
    assert site.asked == [path]


def test_question_marks_of_the_repository_are_missing_scores() -> None:
    """OULAD in the UCI repository has them, in files of these sizes."""
    files = {
        "assessments.csv": _oulad("assessments", "?"),
        "studentAssessment.csv": _oulad("student_assessment", "?"),
    }
    assert [len(data) for data in files.values()] == [8211, 5690483]
    known = datasets.describe("oulad")
    for read, file in zip(known.origins[0].readers, known.files, strict=True):
        assert fingerprint(read(_packed(files))) == file.fingerprint


def _packed(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def _at(site: str) -> Callable[[str, Path], None]:
    """Downloads from this server in place of the public ones."""
    return lambda url, path: fetch(f"{site}/{url.split('/', 3)[3]}", path)
