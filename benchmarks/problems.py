"""Every problem of the benchmarks: the paper's tasks, alone and joint, tasks of grades, and a synthetic one.

Data sets come from `csid.datasets`: from the folder `$CSID_DATA`, from `../shared/data` beside the repository if it is
there, or else from their public origins, into the user's cache.
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
class Problem:
    """A table (M, N) whose categories have pandas' categorical type, and its target (M,) or (M, K).

    trials : how many settings a random search may try on it.
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
"""The paper's Table 3: all targets of a set at once."""

SYNTHETIC = "friedman"

_COURSES, _FEWEST_GRADES, _FEWEST_TRIALS = 10, 20, 15


def data_at_hand() -> bool:
    """Whether a folder of the data sets is there, so that nothing need be downloaded."""
    folder = os.environ.get("CSID_DATA")
    return folder is not None and (Path(folder) / "paper").is_dir()


@cache
def load(name: str) -> Problem:
    """A problem by its name: one of `TASKS`, `JOINT` or `grade_tasks()`, or the synthetic one."""
    if name == SYNTHETIC:
        X, y = make_friedman1(1000, noise=1.0, random_state=0)
        return Problem(name, pd.DataFrame(X).add_prefix("x"), y)
    if name.startswith("oulad "):
        return _of_set(name, "oulad", name.removeprefix("oulad "), _FEWEST_TRIALS)
    if name.startswith("college "):
        return college_course(name)
    if name in JOINT:
        return _of_set(name, name, None)
    return _of_set(name, *_SINGLE[name])


def _of_set(name: str, of: str, target: str | None, trials: int = 30) -> Problem:
    loaded = datasets.load(of, target=target, library="pandas")
    return Problem(name, loaded.X, loaded.y, trials)


def grade_tasks() -> tuple[str, ...]:
    """Twenty targets, as the paper's Table 4 has: ten assessments of OULAD and ten courses of a college.

    Assessments are those with the most students, but at most two of a module; courses those with the most students.
    """
    of_module: dict[str, int] = {}
    chosen = []
    for one in datasets.oulad_assessments():
        of_module[one.module] = of_module.get(one.module, 0) + 1
        if of_module[one.module] <= 2:
            chosen.append(f"oulad {one.name}")
    return (*chosen[:_COURSES], *(f"college {course}" for course in college_courses()[:_COURSES]))


@cache
def college_grades() -> pd.DataFrame:
    """Mean grade point of each student (a row) in each course, which is a department and a level."""
    rows = datasets.load("college_grades", library="pandas")
    table = rows.X.assign(course=rows.X["dept"].astype(str) + " " + rows.X["level"].astype(str), grade=rows.y)
    return table.pivot_table(index="sid", columns="course", values="grade", observed=True)


def college_courses() -> list[str]:
    """Those with the most students first."""
    return list(college_grades().notna().sum().sort_values(ascending=False, kind="stable").index)


def college_course(name: str, fewest_grades: int = _FEWEST_GRADES) -> Problem:
    """The grade in a course from those in the others that at least so many of its students took."""
    course = name.removeprefix("college ")
    grades = college_grades()
    grades = grades[grades[course].notna()].reset_index(drop=True)
    others = grades.drop(columns=course)
    X = others.loc[:, others.notna().sum() >= fewest_grades]
    return Problem(name, X, grades[course].to_numpy(), _FEWEST_TRIALS)


def split(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one random 80/20 split."""
    order = np.random.default_rng(seed).permutation(len(problem.y))
    cut = int(0.8 * len(order))
    return order[:cut], order[cut:]


def hide(problem: Problem, share: float, by_value: bool, seed: int) -> Problem:
    """The problem with a share of its cells missing: at random, or the likelier the higher their own value.

    By value, the chance of a cell is proportional to its rank in its column, categories in their order.
    """
    rng = np.random.default_rng([seed, int(100 * share)])
    X = problem.X.copy()
    for name in X:
        column = X[name].cat.codes if isinstance(X[name].dtype, pd.CategoricalDtype) else X[name]
        chance = 2.0 * share * (column.rank().fillna(0.0) - 0.5) / len(column) if by_value else share
        X[name] = X[name].mask(rng.random(len(column)) < chance)
    return replace(problem, X=X)
