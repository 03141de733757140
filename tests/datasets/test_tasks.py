"""From tables to tasks: targets, predictors, groups and official splits. Nothing is downloaded."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from csid import datasets
from csid.datasets import tasks
from csid.datasets.catalogue import CATALOGUE
from csid.datasets.descriptions import Description, File
from csid.datasets.tables import Table, parse_csv


def a_set(name: str, **fields: Any) -> Description:
    about = {"title": "", "task": "", "licence": "", "citation": "", "page": "", "files": (), "origins": ()}
    return Description(name=name, **about | fields)


# --- names, targets and lags --------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["csid", "csid.datasets", "csid.cli.datasets"])
def test_importing_the_package_imports_no_heavy_library(module: str) -> None:
    heavy = "{'pandas', 'polars', 'pyarrow', 'platformdirs', 'pooch', 'rdata', 'requests', 'scipy.io'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_help_imports_no_downloader() -> None:
    code = (
        "import sys, csid.cli.app as app; sys.argv = ['csid', '--help']\n"
        "try: app.main()\nexcept SystemExit: print(sorted({'pooch', 'requests'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).endswith("[]\n")


def test_every_data_set_is_described() -> None:
    assert len(datasets.names()) == 13
    for name in datasets.names():
        known = datasets.describe(name)
        assert known.name == name
        for line in (known.title, known.task, known.licence, known.citation, *known.target):
            assert line
            assert line in str(known)
        for origin in known.origins:
            assert origin.url.startswith("https://")
            assert len(origin.readers) == len(known.files)
            assert "/" not in origin.file_name
        assert all(len(file.fingerprint) == 64 for file in known.files)


def test_an_unknown_name_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown data set 'iris': choose one of energy, concrete, .*silverbox"):
        datasets.load("iris")


def test_an_unknown_target_is_rejected() -> None:
    with pytest.raises(ValueError, match="target is 'Y3', but energy has 'Y1' and 'Y2': choose one, or leave"):
        datasets.load("energy", target="Y3")
    with pytest.raises(ValueError, match=r"target is 'V2', but silverbox has 'y\(t\)': choose one, or leave"):
        datasets.load("silverbox", target="V2")


def test_lags_are_for_time_series() -> None:
    with pytest.raises(ValueError, match="lags is 3, but concrete is not a time series: leave lags out"):
        datasets.load("concrete", lags=3)


# --- tables -------------------------------------------------------------------------------------------------------

TABLE = parse_csv("id,a,y,z\n1,u,1,10\n1,v,2,\n2,u,3,30\n")


def _table(target: str | None) -> datasets.Dataset:
    about = a_set("some", target=("y", "z"), categorical=("a",), dropped=("id",), groups="id", files=(_file(),))
    return tasks.table_task(about, [TABLE], target, "pandas")


def _file(**constants: str) -> File:
    return File("", "", constants)


def test_one_target_is_a_vector_and_several_are_a_matrix() -> None:
    assert_array_equal(_table("y").y, [1.0, 2.0, 3.0])
    assert _table("y").target == ("y",)
    assert_array_equal(_table(None).y, [[1.0, 10.0], [3.0, 30.0]])
    assert _table(None).target == ("y", "z")


def test_rows_with_a_missing_target_are_dropped() -> None:
    task = _table("z")
    assert_array_equal(task.y, [10.0, 30.0])
    assert_array_equal(task.groups, [1, 2])
    assert task.X["a"].tolist() == ["u", "u"]


def test_neither_other_targets_nor_dropped_columns_are_predictors() -> None:
    task = _table("y")
    assert list(task.X.columns) == ["a"]
    assert task.categorical == ("a",)
    assert task.split == {}
    assert repr(task) == "Dataset(name='some', target=('y',), categorical=('a',))"


def test_stacked_files_are_told_apart_by_a_constant_column() -> None:
    about = a_set("some", target=("y",), categorical=("colour",), files=(_file(colour="red"), _file(colour="white")))
    parts = [parse_csv("a,y\n1,2\n3,4\n"), parse_csv("a,y\n5,6\n")]
    task = tasks.table_task(about, parts, None, "pandas")
    assert task.X.to_numpy().tolist() == [[1, "red"], [3, "red"], [5, "white"]]
    assert task.groups is None


# --- grades -------------------------------------------------------------------------------------------------------

KEY = parse_csv(
    "code_module,code_presentation,id_assessment,assessment_type,date,weight\n"
    "AAA,2013J,1,TMA,19,10\nAAA,2014J,2,CMA,54,20\nBBB,2013J,3,TMA,20,10\nAAA,2013J,4,Exam,,100\n"
)


def _results() -> Table:
    """Students 101 to 130 in assessment 1, every third also in 2, all in 3, and one missing score."""
    rows = [(1, 100 + n, 50 + n) for n in range(1, 31)]
    rows += [(2, 100 + n, 60 + n) for n in range(1, 31, 3)]
    rows += [(3, 100 + n, 70) for n in range(1, 41)]
    text = "id_assessment,id_student,date_submitted,is_banked,score\n"
    text += "".join(f"{one},{student},1,0,{score}\n" for one, student, score in reversed(rows))
    return parse_csv(f"{text}1,131,1,0,?\n")


def _grades(target: str) -> datasets.Dataset:
    return tasks.oulad_task(CATALOGUE["oulad"], [KEY, _results()], target, "pandas")


def test_assessments_are_listed_by_their_number_of_students() -> None:
    found = tasks.oulad_assessments([KEY, _results()])
    assert [(one.module, one.presentation, one.name, one.students) for one in found] == [
        ("BBB", "2013J", "TMA 3", 40),
        ("AAA", "2013J", "TMA 1", 30),
        ("AAA", "2014J", "CMA 2", 10),
    ]


def test_an_assessment_is_predicted_from_others_of_its_module() -> None:
    task = _grades("CMA 2")
    assert task.target == ("CMA 2",)
    assert_array_equal(task.groups, np.arange(101, 131, 3))
    assert_array_equal(task.y, np.arange(61, 91, 3))
    assert list(task.X.columns) == ["TMA 1"]
    assert_array_equal(task.X["TMA 1"], np.arange(51, 81, 3))


def test_an_assessment_with_few_scores_is_not_a_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(_grades("TMA 1").X.columns) == []
    monkeypatch.setattr(tasks, "_MIN_SCORES", 10)
    task = _grades("TMA 1")
    assert list(task.X.columns) == ["CMA 2"]
    assert_array_equal(np.flatnonzero(task.X["CMA 2"].notna()), np.arange(0, 30, 3))
    assert_array_equal(task.y, np.arange(51, 81))


@pytest.mark.parametrize("target", ["Exam 4", "1"])
def test_an_assessment_without_scores_is_rejected(target: str) -> None:
    with pytest.raises(
        ValueError, match=f"target is '{target}', which is not an assessment with scores: .*of the 3 listed by csid"
    ):
        _grades(target)


# --- time series --------------------------------------------------------------------------------------------------


def test_lagged_predictors() -> None:
    u, y = np.arange(10.0), 100.0 + np.arange(10.0)
    X, following = tasks.lagged(u, y, (1, 3))
    assert list(X) == ["u(t)", "u(t-1)", "y(t-1)", "y(t-2)", "y(t-3)"]
    assert_array_equal(following, y[3:])
    for t, row in enumerate(np.stack(list(X.values()), axis=1), start=3):
        assert_array_equal(row, [u[t], u[t - 1], y[t - 1], y[t - 2], y[t - 3]])


def _tanks(lags: Any) -> datasets.Dataset:
    time = np.arange(100.0)
    table: Table = {"uEst": time, "uVal": 1000.0 + time, "yEst": 2000.0 + time, "yVal": 3000.0 + time}
    return tasks.dynamic_task(CATALOGUE["cascaded_tanks"], [table], lags, "pandas")


@pytest.mark.parametrize("lags", [1, 4, (0, 2), (48, 3)])
def test_records_do_not_mix_and_tests_begin_after_the_initial_samples(lags: int | tuple[int, int]) -> None:
    task = _tanks(lags)
    furthest = np.max(lags)
    assert len(task.y) == 2 * (100 - furthest)
    train, test = task.split["train"], task.split["test"]
    assert_array_equal(task.y[train], 2000.0 + np.arange(furthest, 100))
    assert_array_equal(task.y[test], 3000.0 + np.arange(50, 100))
    assert task.groups is not None
    assert set(task.groups[train]) == {"train"}
    assert set(task.groups[test]) == {"test"}
    assert (task.X.to_numpy()[test] >= 1000.0).all()
    assert (task.X["u(t)"].to_numpy()[test] == task.y[test] - 2000.0).all()


@pytest.mark.parametrize("lags", [0, (0, 0), -1, (2, -1), 50, 2.0, True, "3", (1, 2, 3)])
def test_invalid_lags_are_rejected(lags: Any) -> None:
    with pytest.raises(ValueError, match=r"lags is .*: give an integer from 1 to 49, or a tuple of two"):
        _tanks(lags)


def test_the_parts_of_the_silverbox_are_the_official_ones() -> None:
    time = np.arange(131072.0)
    task = tasks.dynamic_task(CATALOGUE["silverbox"], [{"V1": -time, "V2": time}], 3, "pandas")
    found = {name: (task.y[rows[0]], task.y[rows[-1]], len(rows)) for name, rows in task.split.items()}
    assert found == {
        "train": (40653, 105711, 65059),
        "test_multisine": (105762, 127399, 21638),
        "test_arrow": (150, 40574, 40425),
        "test_arrow_no_extrapolation": (150, 32099, 31950),
    }
    assert_array_equal(task.X["u(t-3)"], -(task.y - 3.0))
