"""Tables with at most a hundred rows: all priors, without the shared-slope priors, and `shared_slope` alone.

    python benchmarks/few_rows.py [--splits 1]      # resumes; results/few_rows.csv; updates decision 0017

No table here is a task of Tables 1 to 4. The college courses are those after the ten of Table 4; their predictors are
the other courses that at least 12 of their students took. The OULAD assessments are those not in Table 4, at most two
per module, with a hundred students each. The paper's tasks are fitted to a hundred of the first split's training
rows, and scored on at most 2,000 other training rows.
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
from csid.priors import CATALOGUE
from methods.cornac import UNTUNED, BiasedMatrixFactorisation
from methods.grade_layouts import LongFormatCSID, MeanOfLayouts
from methods.grades import GradePointAverage
from metrics import rmse
from problems import BenchmarkProblem
from sections.measured import markdown

ROWS, MOST_SCORED = 100, 2_000
COURSES, FEWEST_GRADES, FEWEST_PREDICTORS = slice(10, 20), 12, 7
OTHER_PRIORS = [name for name in CATALOGUE if name not in ("shared_slope", "loose_shared_slope")]
METHODS = {
    "csid, defaults": lambda seed: BayesianCSIDRegressor(random_state=seed),
    "csid, without the shared-slope priors": lambda seed: BayesianCSIDRegressor(prior=OTHER_PRIORS, random_state=seed),
    "csid, shared_slope alone": lambda seed: BayesianCSIDRegressor(prior="shared_slope", random_state=seed),
    "csid, long format": lambda seed: LongFormatCSID(random_state=seed),
    "csid, mean of long and wide format": lambda seed: MeanOfLayouts(LongFormatCSID(random_state=seed)),
    "biased MF (cornac), rank 2": lambda seed: BiasedMatrixFactorisation(**UNTUNED, random_state=seed),
    "GPA": lambda seed: GradePointAverage(),
}
FOR_ANY_TABLE = ("csid, defaults", "csid, without the shared-slope priors", "csid, shared_slope alone")
Split = tuple[np.ndarray, np.ndarray]


def courses() -> Iterator[BenchmarkProblem]:
    for course in problems.college_courses()[COURSES]:
        yield problems.college_course(f"college {course}", FEWEST_GRADES)


def assessments() -> Iterator[BenchmarkProblem]:
    used, per_module = problems.grade_tasks(), Counter()
    for number, assessment in enumerate(datasets.oulad_assessments()):
        if f"oulad {assessment.name}" in used or per_module[assessment.module] == 2:
            continue
        full = problems.load(f"oulad {assessment.name}")
        students = np.random.default_rng(number).permutation(len(full.y))[:ROWS]
        X = full.X.iloc[students].reset_index(drop=True)
        X = X.loc[:, X.notna().sum() >= FEWEST_GRADES]
        if len(students) == ROWS and X.shape[1] >= FEWEST_PREDICTORS:
            per_module[assessment.module] += 1
            yield BenchmarkProblem(full.name, X, full.y[students])


def cases(split: int) -> Iterator[tuple[str, BenchmarkProblem, Split]]:
    """The kind of a table, the table, its training rows and its test rows."""
    for problem in courses():
        yield "college", problem, problems.split(problem, split)
    for problem in assessments():
        yield "OULAD", problem, problems.split(problem, split)
    for task in problems.TASKS:
        problem = problems.load(task)
        rows = np.random.default_rng([split, 10]).permutation(problems.split(problem, 0)[0])
        yield "paper", problem, (rows[:ROWS], rows[ROWS : ROWS + MOST_SCORED])


def update_decision() -> None:
    """Write the table of decision 0017: geometric means of the RMSE relative to the defaults."""
    rows = pd.DataFrame(results.read("few_rows")).astype({"rmse": float})
    table = rows.pivot_table(index=["kind", "task", "split"], columns="method", values="rmse")
    relative = np.log(table.div(table["csid, defaults"], axis=0)).groupby("kind").mean()
    counts = table.groupby("kind").size()
    header = ["RMSE relative to the defaults", *(f"{kind}, {counts[kind]} tables" for kind in relative.index)]
    lines = [
        [method, *("" if np.isnan(value) else f"{np.exp(value):.3f}" for value in relative[method])]
        for method in METHODS
    ]
    pages.fill("docs/decisions/0017-shared-slopes.md", "few rows", markdown(header, lines))


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
    update_decision()


if __name__ == "__main__":
    main()
