"""Tables of a hundred rows or fewer: all priors beside those for many rows alone, and beside "alike" alone.

    python benchmarks/few_rows.py [--splits 1]      # resumes; results/few_rows.csv; fills decision 0017

None of them is a task of the tables: college courses after the ten of Table 4, of which predictors are the others that
at least 12 of their students took; a hundred students each of OULAD's assessments that Table 4 does not have, at most
two a module; and a hundred of the first split's training rows of each of the paper's tasks, scored on at most 2,000
others of them.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

import pages
import problems
import results
from csid import BayesianCSIDRegressor, datasets
from csid.portfolio import SETTINGS
from methods.cornac import UNTUNED, BiasedMatrixFactorisation
from methods.grade_forms import MeanOfForms, RowForEachGrade
from methods.grades import GradePointAverage
from problems import Problem
from scores import rmse
from sections.measured import markdown

ROWS, MOST_SCORED = 100, 2_000
COURSES, FEWEST_GRADES, FEWEST_PREDICTORS = slice(10, 20), 12, 7
ALONE = {"prior": [name for name, setting in SETTINGS.items() if not setting.alike]}
METHODS = {
    "csid, defaults": lambda seed: BayesianCSIDRegressor(random_state=seed),
    "csid, priors for many rows": lambda seed: BayesianCSIDRegressor(**ALONE, random_state=seed),
    "csid, prior alike": lambda seed: BayesianCSIDRegressor(prior="alike", random_state=seed),
    "csid, a row for each grade": lambda seed: RowForEachGrade(random_state=seed),
    "csid, mean of this and the defaults": lambda seed: MeanOfForms(RowForEachGrade(random_state=seed)),
    "biased MF (cornac), k = 2": lambda seed: BiasedMatrixFactorisation(**UNTUNED, random_state=seed),
    "GPA": lambda seed: GradePointAverage(),
}
FOR_ANY_TABLE = ("csid, defaults", "csid, priors for many rows", "csid, prior alike")
Split = tuple[np.ndarray, np.ndarray]


def courses() -> Iterator[Problem]:
    for course in problems.college_courses()[COURSES]:
        yield problems.college_course(f"college {course}", FEWEST_GRADES)


def assessments() -> Iterator[Problem]:
    used, of_module = problems.grade_tasks(), Counter()
    for number, one in enumerate(datasets.oulad_assessments()):
        if f"oulad {one.name}" in used or of_module[one.module] == 2:
            continue
        whole = problems.load(f"oulad {one.name}")
        some = np.random.default_rng(number).permutation(len(whole.y))[:ROWS]
        X = whole.X.iloc[some].reset_index(drop=True)
        X = X.loc[:, X.notna().sum() >= FEWEST_GRADES]
        if len(some) == ROWS and X.shape[1] >= FEWEST_PREDICTORS:
            of_module[one.module] += 1
            yield Problem(whole.name, X, whole.y[some])


def cases(split: int) -> Iterator[tuple[str, Problem, Split]]:
    """The kind of a table, the table, its training rows and those to score."""
    for problem in courses():
        yield "college", problem, problems.split(problem, split)
    for problem in assessments():
        yield "OULAD", problem, problems.split(problem, split)
    for task in problems.TASKS:
        problem = problems.load(task)
        rows = np.random.default_rng([split, 10]).permutation(problems.split(problem, 0)[0])
        yield "paper", problem, (rows[:ROWS], rows[ROWS : ROWS + MOST_SCORED])


def report() -> None:
    """The table of the decision's page: geometric means of the RMSE relative to that of the defaults."""
    rows = pd.DataFrame(results.read("few_rows")).astype({"rmse": float})
    table = rows.pivot_table(index=["kind", "task", "split"], columns="method", values="rmse")
    relative = np.log(table.div(table["csid, defaults"], axis=0)).groupby("kind").mean()
    counts = table.groupby("kind").size()
    header = ["RMSE / that of the defaults", *(f"{kind}, {counts[kind]} tables" for kind in relative.index)]
    lines = [
        [method, *("" if np.isnan(value) else f"{np.exp(value):.3f}" for value in relative[method])]
        for method in METHODS
    ]
    pages.fill("docs/decisions/0017-predictors-that-act-alike.md", "few rows", markdown(header, lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1)
    done = {(row["kind"], row["task"], int(row["split"]), row["method"]) for row in results.read("few_rows")}
    for split in range(parser.parse_args().splits):
        for kind, problem, (train, test) in cases(split):
            for name, make in METHODS.items():
                if (kind, problem.name, split, name) in done or (kind == "paper" and name not in FOR_ANY_TABLE):
                    continue
                started = time.perf_counter()
                model = make(split).fit(problem.X.iloc[train], problem.y[train])
                row = {
                    "kind": kind,
                    "task": problem.name,
                    "split": split,
                    "method": name,
                    "rmse": rmse(problem.y[test], model.predict(problem.X.iloc[test])),
                    "fit_seconds": time.perf_counter() - started,
                }
                results.append("few_rows", row | results.provenance())
                print(f"{kind:8} {problem.name:20} {split} {name:28} {row['rmse']:.4g}", flush=True)
    report()


if __name__ == "__main__":
    main()
