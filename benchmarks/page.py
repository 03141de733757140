"""Generate docs/benchmarks.md and the tables of the README from the result rows.

python benchmarks/page.py
"""

import importlib
import os
from collections.abc import Callable, Iterable

import numpy as np

import paper
import problems
import readme
from measuring import skipped
from methods import METHODS
from sections import classes, drawing
from sections.measured import FEW_SPLITS, SPLITS, by_split, means, rows, within_one_error
from tables import TABLES

SECTIONS = (
    "single_output",
    "missing",
    "several_outputs",
    "grades",
    "classes",
    "recovery",
    "ablations",
    "scale",
    "stochastic",
    "out_of_core",
    "cluster",
    "shapley",
    "report",
    "cost",
)
GRADE_METHODS = {
    "csid": "csid with defaults",
    "csid rows": "csid on the long format, tuned,",
    "csid tuned": "csid with tuned layout",
}
Errors = dict[tuple[str, str], np.ndarray]


def count_of_tasks(tasks: Iterable[str], holds: Callable[[str], bool], *needed: str, errors: Errors) -> str:
    """On how many tasks a condition holds, of those where the methods it needs are measured."""
    tasks = list(tasks)
    splits = {task: min(len(errors.get((task, method), ())) for method in needed) for task in tasks}
    measured = [task for task in tasks if splits[task] >= FEW_SPLITS]
    notes = [f"{sum(FEW_SPLITS <= count < SPLITS for count in splits.values())} with fewer than ten splits"]
    notes += [f"{len(tasks) - len(measured)} not measured yet"]
    shown = [note for note in notes if not note.startswith("0 ")]
    return f"{sum(map(holds, measured))} of {len(measured)} tasks" + (f" ({', '.join(shown)})" if shown else "")


def compared_with_paper(
    title: str, errors: Errors, results_of_paper: paper.PaperResults, methods: tuple[str, ...]
) -> str:
    """On how many tasks csid is better than the paper's CSID, and best or close to the best of the measured methods."""
    mean = means(errors)
    if "csid" not in mean.index:
        return f"- {title}: not measured yet."
    pairs = [(task, method) for task in results_of_paper for method in methods]
    measured = [pair for pair in pairs if len(errors.get(pair, ())) >= FEW_SPLITS]
    absent = [pair for pair in pairs if pair not in measured and not skipped(problems.load(pair[0]), METHODS[pair[1]])]
    so_far = f"; {len(absent)} of {len(pairs)} pairs of task and method are not measured yet" if absent else ""
    tasks = list(results_of_paper)
    better = count_of_tasks(
        tasks, lambda task: mean.loc["csid", task] < results_of_paper[task][paper.CSID][0], "csid", errors=errors
    )
    close = count_of_tasks(tasks, lambda task: within_one_error(errors, task, "csid", methods), "csid", errors=errors)
    return (
        f"- {title}: csid with defaults has a lower RMSE than the paper's CSID on {better}, and is best or within one "
        f"standard error of the best of {len(methods)} methods on {close}{so_far}."
    )


def grades(errors: Errors) -> str:
    """On how many tasks csid is at least as good as the usual methods for grades."""
    tasks = problems.grade_tasks()

    def compared(ours: str, other: str) -> str:
        def holds(task: str) -> bool:
            pair = errors[task, ours], errors[task, other]
            common = min(map(len, pair))
            return bool(pair[0][:common].mean() <= pair[1][:common].mean())

        return count_of_tasks(tasks, holds, ours, other, errors=errors)

    def line(ours: str, description: str) -> str:
        tuned, untuned = (compared(ours, f"matrix factorisation{suffix}") for suffix in ("", " untuned"))
        return (
            f"- Table 4: {description} is at least as good as tuned biased matrix factorisation on {tuned}, as untuned "
            f"biased matrix factorisation on {untuned}, and as GPA on {compared(ours, 'gpa')}."
        )

    return "\n".join(line(*pair) for pair in GRADE_METHODS.items())


def summary() -> str:
    """Which goals are met."""
    lines = [compared_with_paper("Table 1", by_split(rows(1)), paper.TABLE1, TABLES[1].methods)]
    for protocol, label in (
        ("train", "cells hidden in training rows"),
        ("both", "cells hidden in training and test rows"),
    ):
        errors = by_split(rows(2, f"30 % {protocol}"))
        lines.append(compared_with_paper(f"Table 2, {label}", errors, paper.TABLE2, TABLES[2].methods))
    lines.append(compared_with_paper("Table 3", by_split(rows(3)), paper.TABLE3, TABLES[3].methods))
    if problems.data_at_hand():
        lines.append(grades(by_split(rows(4))))
    lines.append(classes.goals())
    return "\n".join(lines)


def main() -> None:
    parts = [importlib.import_module(f"sections.{name}").section() for name in SECTIONS]
    text = f"""# Benchmarks

`make bench` generates this page from the rows in `benchmarks/results`; `make bench-quick` measures a small part in a
few minutes.

"csid" is `BayesianCSIDRegressor` with default parameters, not tuned per task. However, the defaults were chosen on
training rows of the first split of the twelve tasks (`benchmarks/choices.py`, `priors.py`). The other methods are
tuned once per task on the same rows, some of which are test rows of the other splits. Means are over ten splits. Fit
times and memory stored with the rows of Tables 1 to 4 come from long runs on a shared machine, so [fit and prediction
time](#fit-and-prediction-time) was measured separately. The ablations, the fit and prediction times, and the scaling
with rows, predictors and levels were measured before csid had the priors `mildly_sparse` and `sparse` ([decision
0018](decisions/0018-irrelevant-predictors.md)).

## Goals

{summary()}

{(chr(10) * 2).join(parts)}
"""
    path = drawing.FOLDER / "benchmarks.md"
    path.write_text(text, encoding="utf-8")
    print(f"page: {path}")
    if "CSID_BENCH_RESULTS" not in os.environ:
        readme.fill_readme()


if __name__ == "__main__":
    main()
