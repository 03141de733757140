"""The problems of the benchmarks: the paper's tasks with one output and several, grade prediction, classification, and
synthetic data.

`csid.datasets` loads the data sets: from the folder `$CSID_DATA`, from `../shared/data` beside the repository if it
exists, or else by download from their public sources into the user's cache. The classification data sets are read from
such a folder only.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

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

    Classes are whole numbers from 0, in the alphabetical order of their labels.

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


class Table(NamedTuple):
    """A file with the column `target`: its categorical columns, and on how many random splits methods are compared."""

    categories: tuple[str, ...] = ()
    splits: int = 5


CLASSES = {
    "adult": Table(
        (
            "workclass",
            "education",
            "marital-status",
            "occupation",
            "relationship",
            "race",
            "sex",
            "native-country",
        ),
        splits=3,
    ),
    "bank_marketing": Table(
        ("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome"), splits=3
    ),
    "german_credit": Table(
        (
            "checking_status",
            "credit_history",
            "purpose",
            "savings_status",
            "employment",
            "personal_status_sex",
            "other_debtors",
            "property",
            "other_installment_plans",
            "housing",
            "job",
            "telephone",
            "foreign_worker",
        )
    ),
    "spambase": Table(),
    "magic": Table(),
    "phoneme": Table(),
    "heart_cleveland": Table(("sex", "cp", "fbs", "restecg", "exang", "slope", "thal")),
    "car": Table(("buying", "maint", "doors", "persons", "lug_boot", "safety")),
    "letter": Table(),
    "satimage": Table(),
    "yeast": Table(),
    "vehicle": Table(),
    "titanic": Table(("pclass", "sex", "embarked")),
    "breast_cancer_wisconsin": Table(),
    "breast_cancer_wisconsin_diagnostic": Table(),
}
"""Classification; three splits above 20,000 rows."""

_COURSES, _FEWEST_GRADES, _GRADE_TRIALS = 10, 20, 15


def data_at_hand(kind: str = "paper") -> bool:
    """Whether the data sets of one kind are in a local folder, so that nothing has to be downloaded."""
    folder = os.environ.get("CSID_DATA")
    return folder is not None and (Path(folder) / kind).is_dir()


@cache
def load(name: str) -> BenchmarkProblem:
    """A problem by name: one of `TASKS`, `JOINT`, `CLASSES` or `grade_tasks()`, or the synthetic one."""
    if name == SYNTHETIC:
        X, y = make_friedman1(1000, noise=1.0, random_state=0)
        return BenchmarkProblem(name, pd.DataFrame(X).add_prefix("x"), y)
    if name.startswith("oulad "):
        return _from_data_set(name, "oulad", name.removeprefix("oulad "), _GRADE_TRIALS)
    if name.startswith("college "):
        return college_course(name)
    if name in CLASSES:
        X, target = read_table("classification", name, CLASSES[name].categories)
        return BenchmarkProblem(name, X, np.unique(target, return_inverse=True)[1])
    if name in JOINT:
        return _from_data_set(name, name, None)
    return _from_data_set(name, *_SINGLE[name])


def _from_data_set(name: str, data_set: str, target: str | None, trials: int = 30) -> BenchmarkProblem:
    loaded = datasets.load(data_set, target=target, library="pandas")
    return BenchmarkProblem(name, loaded.X, loaded.y, trials)


def read_table(kind: str, name: str, categories: Sequence[str]) -> tuple[pd.DataFrame, pd.Series]:
    """The predictors and the target, as texts, of a file in the local folder of data sets."""
    if not data_at_hand(kind):
        raise FileNotFoundError(f"{name} needs a folder of data sets with {kind}/{name}.csv.gz: set CSID_DATA to it.")
    path = Path(os.environ["CSID_DATA"]) / kind / f"{name}.csv.gz"
    texts = dict.fromkeys([*categories, "target"], str)
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])  # "None" is a category
    return frame.drop(columns="target").astype(dict.fromkeys(categories, "category")), frame["target"]


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
