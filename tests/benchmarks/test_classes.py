"""The classification benchmark: rows resume, settings are tuned, and the page counts what it says."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import classes
import problems
import results
from measuring import measure_missing
from methods import METHODS
from sections import classes as page
from target_kinds import CLASSES, class_probabilities

TUNED = "forest classifier"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)


@pytest.fixture
def problem() -> problems.BenchmarkProblem:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=90), "b": pd.Categorical(rng.choice(["p", "q"], 90))})
    return problems.BenchmarkProblem("car", X, (3 * X["a"]).astype(int).to_numpy(), trials=2)


def _measure(problem: problems.BenchmarkProblem, name: str, **options: Any) -> list[dict[str, Any]]:
    return list(measure_missing("classes", problem, name, splits=2, threads=1, **options))


def test_rows_that_are_there_are_not_measured_again(problem: problems.BenchmarkProblem) -> None:
    first = _measure(problem, "logistic regression defaults")
    assert [row["split"] for row in first] == [0, 1]
    assert all(row["accuracy"] > 0.6 and row["fit_seconds"] > 0.0 for row in first)
    assert not _measure(problem, "logistic regression defaults")


def test_rows_without_times_are_measured_again_with_them(problem: problems.BenchmarkProblem) -> None:
    _measure(problem, "logistic regression defaults", timed=False)
    assert [row["fit_seconds"] for row in results.read("classes")] == ["", ""]
    assert not _measure(problem, "logistic regression defaults", timed=False)
    again = _measure(problem, "logistic regression defaults")
    found = page.rows()
    assert len(found) == 2
    assert found["fit_seconds"].tolist() == [row["fit_seconds"] for row in again]
    assert found["log_loss"].tolist() == [row["log_loss"] for row in again]


def test_a_search_minimises_the_log_loss_and_is_stored(
    problem: problems.BenchmarkProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, TUNED, replace(METHODS[TUNED], settings={"n_estimators": 5}))
    row = _measure(problem, TUNED)[0]
    trials = pd.DataFrame(results.read("tuning"))
    assert len(trials) == 2
    best = trials.loc[trials["loss"].astype(float).idxmin(), "settings"]
    assert row["settings"] == f'{{"n_estimators": 5, {best.removeprefix("{")}'


def test_every_method_is_a_classifier_whose_defaults_have_no_settings() -> None:
    assert all(METHODS[name].targets is CLASSES for name in classes.METHODS)
    assert all(METHODS[name].search is None and not METHODS[name].settings for name in classes.DEFAULTS)
    assert all(METHODS[name].search is not None for name in classes.OTHERS)


def test_a_class_without_training_rows_is_an_error() -> None:
    class Model:
        classes_ = np.array([0, 2])

    with pytest.raises(ValueError, match=r"classes \[.*0.*2.*\]: one is missing"):
        class_probabilities(Model(), pd.DataFrame())


def _store(losses: dict[str, float]) -> None:
    """Rows of two problems: a log loss for each method that differs a little between splits."""
    for name, task in itertools.product(classes.METHODS, ("car", "adult")):
        for split in range(problems.CLASSES[task].splits):
            row = dict.fromkeys(CLASSES.metrics, 0.5)
            row |= {"log_loss": losses.get(name, 1.0) + 0.001 * split, "calibration_error": losses.get(name, 1.0)}
            times = {"fit_seconds": 3.0 if name == classes.CSID else 2.0}
            results.append("classes", {"task": task, "split": split, "method": name, **row, **times})


@pytest.mark.parametrize(("csid", "close", "better"), [(0.2, 2, 2), (0.5, 0, 2), (2.0, 0, 0)])
def test_the_page_counts_problems(csid: float, close: int, better: int) -> None:
    _store({classes.CSID: csid, "ebm classifier": 0.4})
    text = page.goals()
    assert f"within one standard error of it, on {close} of 2 problems" in text
    assert f"below that of every booster on {better}, and its expected calibration error on {better}." in text
    assert "takes 1.5 times as long as one of CatBoost with defaults in the median over 2 problems" in text


def test_the_best_method_of_a_table_is_bold() -> None:
    _store({classes.CSID: 0.2})
    line = next(line for line in page.section().splitlines() if line.startswith("| **csid, defaults**"))
    assert line == "| **csid, defaults** | **0.201 ± 0.001** | **0.202 ± 0.001** |"


def test_a_page_without_rows_says_so() -> None:
    assert "Not measured yet" in page.section()
    assert "not measured yet" in page.goals()
