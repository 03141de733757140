"""The problems of the benchmarks: the paper's tasks with one output and several, grade prediction, and synthetic data.

`csid.datasets` loads the data sets: from the folder `$CSID_DATA`, from `../shared/data` beside the repository if it
exists, or else by download from their public sources into the user's cache.
"""

import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1

from csid import datasets

REPOSITORY = Path(__file__).resolve().parents[1]
_BESIDE = REPOSITORY.parent / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("CSID_DATA", str(_BESIDE))


@dataclass(frozen=True)
class BenchmarkProblem:
    """A table (M, N), with categories as pandas categoricals, and its target (M,) or (M, K).

    trials : the number of trials of a random search on this problem.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    trials: int = 30


_SINGLE = {
    "energy1": ("energy", "Y1"),
    "energy2": ("energy", "Y2"),
    "concrete": ("concrete", None),
    "skillcraft": ("skillcraft", None),
    "abalone": ("abalone", None),
    "wine": ("wine", None),
    "parkinsons1": ("parkinsons", "motor_UPDRS"),
    "parkinsons2": ("parkinsons", "total_UPDRS"),
    "ccpp": ("ccpp", None),
    "bike1": ("bike", "casual"),
    "bike2": ("bike", "registered"),
    "protein": ("protein", None),
}
TASKS = tuple(_SINGLE)
"""The paper's Tables 1 and 2."""

JOINT = ("energy", "parkinsons", "bike")
"""The paper's Table 3: all targets of a data set at once."""

SYNTHETIC = "friedman"

_COURSES, _FEWEST_GRADES, _GRADE_TRIALS = 10, 20, 15


def data_at_hand() -> bool:
    """Whether the data sets are in a local folder, so that nothing has to be downloaded."""
    folder = os.environ.get("CSID_DATA")
    return folder is not None and (Path(folder) / "paper").is_dir()


@cache
def load(name: str) -> BenchmarkProblem:
    """A problem by name: one of `TASKS`, `JOINT` or `grade_tasks()`, or the synthetic one."""
    if name == SYNTHETIC:
        X, y = make_friedman1(1000, noise=1.0, random_state=0)
        return BenchmarkProblem(name, pd.DataFrame(X).add_prefix("x"), y)
    if name.startswith("oulad "):
        return _from_data_set(name, "oulad", name.removeprefix("oulad "), _GRADE_TRIALS)
    if name.startswith("college "):
        return college_course(name)
    if name in JOINT:
        return _from_data_set(name, name, None)
    return _from_data_set(name, *_SINGLE[name])


def _from_data_set(name: str, data_set: str, target: str | None, trials: int = 30) -> BenchmarkProblem:
    loaded = datasets.load(data_set, target=target, library="pandas")
    return BenchmarkProblem(name, loaded.X, loaded.y, trials)


def grade_tasks() -> tuple[str, ...]:
    """Twenty targets, like the paper's Table 4: ten assessments of OULAD and ten courses of a college.

    Both are those with the most students, with at most two assessments per module.
    """
    per_module: dict[str, int] = {}
    chosen = []
    for assessment in datasets.oulad_assessments():
        per_module[assessment.module] = per_module.get(assessment.module, 0) + 1
        if per_module[assessment.module] <= 2:
            chosen.append(f"oulad {assessment.name}")
    return (*chosen[:_COURSES], *(f"college {course}" for course in college_courses()[:_COURSES]))


@cache
def college_grades() -> pd.DataFrame:
    """Mean grade point of each student (row) in each course (column); a course is a department and a level."""
    rows = datasets.load("college_grades", library="pandas")
    table = rows.X.assign(course=rows.X["dept"].astype(str) + " " + rows.X["level"].astype(str), grade=rows.y)
    return table.pivot_table(index="sid", columns="course", values="grade", observed=True)


def college_courses() -> list[str]:
    """All courses, by decreasing number of students."""
    return list(college_grades().notna().sum().sort_values(ascending=False, kind="stable").index)


def college_course(name: str, fewest_grades: int = _FEWEST_GRADES) -> BenchmarkProblem:
    """Predict the grade in one course from the other courses that at least `fewest_grades` of its students took."""
    course = name.removeprefix("college ")
    grades = college_grades()
    grades = grades[grades[course].notna()].reset_index(drop=True)
    others = grades.drop(columns=course)
    X = others.loc[:, others.notna().sum() >= fewest_grades]
    return BenchmarkProblem(name, X, grades[course].to_numpy(), _GRADE_TRIALS)


def split(problem: BenchmarkProblem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one random 80/20 split."""
    order = np.random.default_rng(seed).permutation(len(problem.y))
    cut = int(0.8 * len(order))
    return order[:cut], order[cut:]


def hide(problem: BenchmarkProblem, fraction: float, by_value: bool, seed: int) -> BenchmarkProblem:
    """The problem with a fraction of its cells missing: completely at random, or depending on their own value.

    By value, the probability of a cell is proportional to its rank within its column; categories are in their order.
    """
    rng = np.random.default_rng([seed, int(100 * fraction)])
    X = problem.X.copy()
    for name in X:
        column = X[name].cat.codes if isinstance(X[name].dtype, pd.CategoricalDtype) else X[name]
        probability = 2.0 * fraction * (column.rank().fillna(0.0) - 0.5) / len(column) if by_value else fraction
        X[name] = X[name].mask(rng.random(len(column)) < probability)
    return replace(problem, X=X)
