"""docs/benchmarks.md and the tables of the README, from the result rows.

python benchmarks/page.py
"""

import importlib
import os
from collections.abc import Callable, Iterable

import numpy as np

import paper
import problems
import readme
from methods import METHODS
from sections import drawing
from sections.measured import FEW_SPLITS, SPLITS, by_split, means, rows, within_one_error
from tables import TABLES, skipped

SECTIONS = (
    "single_output",
    "missing",
    "several_outputs",
    "grades",
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
    "csid": "csid with its defaults",
    "csid rows": "csid with a row for each grade, tuned,",
    "csid tuned": "csid in the form that is tuned too",
}
Errors = dict[tuple[str, str], np.ndarray]


def counted(tasks: Iterable[str], holds: Callable[[str], bool], *needed: str, errors: Errors) -> str:
    """On how many tasks something holds, of those where the methods it needs have some splits."""
    tasks = list(tasks)
    splits = {task: min(len(errors.get((task, one), ())) for one in needed) for task in tasks}
    there = [task for task in tasks if splits[task] >= FEW_SPLITS]
    notes = [f"{sum(FEW_SPLITS <= one < SPLITS for one in splits.values())} with fewer than ten splits"]
    notes += [f"{len(tasks) - len(there)} not measured yet"]
    shown = [note for note in notes if not note.startswith("0 ")]
    return f"{sum(map(holds, there))} of {len(there)}" + (f" ({', '.join(shown)})" if shown else "")


def beside_paper(title: str, errors: Errors, figures: paper.Figures, methods: tuple[str, ...]) -> str:
    """Below the paper's CSID, and best or nearly so among the methods measured."""
    mean = means(errors)
    if "csid" not in mean.index:
        return f"- {title}: not measured yet."
    pairs = [(task, method) for task in figures for method in methods]
    there = [pair for pair in pairs if len(errors.get(pair, ())) >= FEW_SPLITS]
    absent = [pair for pair in pairs if pair not in there and not skipped(problems.load(pair[0]), METHODS[pair[1]])]
    so_far = f"; {len(absent)} of {len(pairs)} pairs of task and method are not measured yet" if absent else ""
    below = counted(figures, lambda task: mean.loc["csid", task] < figures[task][paper.CSID][0], "csid", errors=errors)
    near = counted(figures, lambda task: within_one_error(errors, task, "csid", methods), "csid", errors=errors)
    return (
        f"- {title}: csid with its defaults is below the paper's CSID on {below}, and best or within one standard "
        f"error of the best on {near}, among {len(methods)} methods{so_far}."
    )


def grades(errors: Errors) -> str:
    """At least as good as what is used for grades."""
    tasks = problems.grade_tasks()

    def beside(ours: str, other: str) -> str:
        def holds(task: str) -> bool:
            pair = errors[task, ours], errors[task, other]
            common = min(map(len, pair))
            return bool(pair[0][:common].mean() <= pair[1][:common].mean())

        return counted(tasks, holds, ours, other, errors=errors)

    def line(ours: str, words: str) -> str:
        tuned, untuned = beside(ours, "matrix factorisation"), beside(ours, "matrix factorisation untuned")
        return (
            f"- Table 4: {words} is at least as good as biased matrix factorisation on {tuned} where that is tuned, on "
            f"{untuned} where it is not; as GPA on {beside(ours, 'gpa')}."
        )

    return "\n".join(line(*pair) for pair in GRADE_METHODS.items())


def summary() -> str:
    """Targets met and missed."""
    lines = [beside_paper("Table 1", by_split(rows(1)), paper.TABLE1, TABLES[1].methods)]
    for protocol, label in (("train", "hidden in training rows"), ("both", "hidden in test rows too")):
        errors = by_split(rows(2, f"30 % {protocol}"))
        lines.append(beside_paper(f"Table 2, {label}", errors, paper.TABLE2, TABLES[2].methods))
    lines.append(beside_paper("Table 3", by_split(rows(3)), paper.TABLE3, TABLES[3].methods))
    if problems.data_at_hand():
        lines.append(grades(by_split(rows(4))))
    return "\n".join(lines)


def main() -> None:
    parts = [importlib.import_module(f"sections.{name}").section() for name in SECTIONS]
    text = f"""# Benchmarks

Made by `make bench` from the rows in `benchmarks/results`; `make bench-quick` measures a small part in some minutes.
"csid" is `BayesianCSIDRegressor` with its defaults, not tuned to a task; but those defaults were chosen with training
rows of the first split of the twelve tasks in sight (`benchmarks/choices.py`, `priors.py`). Others are tuned once a
task on the same rows, some of which are test rows of the other splits. Means are over ten splits. Seconds and memory
in the rows of the tables are those of long runs on a shared machine; cost is measured apart. Ablations and cost, and
time against rows, predictors and levels, were measured before csid had the priors "lean" and "sparse" (decision 0018).

## What was aimed at

{summary()}

{(chr(10) * 2).join(parts)}
"""
    path = drawing.FOLDER / "benchmarks.md"
    path.write_text(text, encoding="utf-8")
    print(f"page: {path}")
    if "CSID_BENCH_RESULTS" not in os.environ:
        readme.fill()


if __name__ == "__main__":
    main()
