"""The rows of the paper's four tables, and of more.

    python benchmarks/tables.py [--table 1 2 3 4] [--cases '30 %'] [--splits 10] [--methods csid ...] [task ...]

Every method sees the same random 80/20 splits, with settings tuned once a problem (tune.py). Rows that are already in
results/table1.csv to table4.csv are not made again. Seconds and memory are those of this run, however busy the machine.

Table 2 hides cells of the predictors; one fit is scored twice: on test rows as they are, and on test rows with cells
hidden as well. Its settings are those of Table 1. Table 3 has several outputs, whose squared errors are summed. In
Table 4 a row is a student, whose other grades every method knows.
"""

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import problems
import results
from methods import METHODS
from methods.method import Method, Settings, categories
from problems import Problem
from scores import mae, quantile_figures, rmse
from tune import tuned

SPLITS, FEW_SPLITS, FEW_ROWS = 10, 3, 5_000


@dataclass(frozen=True)
class Case:
    """Which cells are hidden: a share, at random or by value."""

    share: float = 0.0
    by_value: bool = False
    splits: int = SPLITS
    most_rows: int | None = None

    @property
    def name(self) -> str:
        return f"{100 * self.share:.0f} %{' by value' if self.by_value else ''}"


@dataclass(frozen=True)
class Table:
    problems: Callable[[], tuple[str, ...]]
    methods: tuple[str, ...]
    cases: tuple[Case, ...] = (Case(),)


BASELINES = ("ridge", "svr rbf", "svr polynomial", "tree", "mlp 1", "mlp 3", "mlp 5")
BOOSTERS = ("lightgbm", "xgboost", "catboost", "hist boosting")
TABLES = {
    1: Table(
        lambda: problems.TASKS,
        (
            "ridge",
            "tree",
            *BOOSTERS,
            "catboost uncertainty",
            "csid als paper",
            "csid als tuned",
            "svr rbf",
            "svr polynomial",
            "mlp 1",
            "mlp 3",
            "mlp 5",
            "forest",
            "gaussian process",
            "ebm",
            "csid",
        ),
    ),
    2: Table(
        lambda: problems.TASKS,
        ("ridge", "tree", *BOOSTERS, "svr rbf", "svr polynomial", "mlp 5", "csid rank-one pmf", "csid"),
        (
            Case(0.3, splits=FEW_SPLITS),
            Case(0.1, splits=FEW_SPLITS, most_rows=FEW_ROWS),
            Case(0.5, splits=FEW_SPLITS, most_rows=FEW_ROWS),
            Case(0.3, by_value=True, splits=FEW_SPLITS, most_rows=FEW_ROWS),
        ),
    ),
    3: Table(
        lambda: problems.JOINT,
        ("ridge", "tree", "mlp 1", "mlp 3", "mlp 5", "catboost joint", "csid als paper", "csid", "csid one by one"),
    ),
    4: Table(
        problems.grade_tasks,
        (
            "mean",
            "gpa",
            "matrix factorisation",
            "matrix factorisation untuned",
            "lightgbm",
            "catboost",
            "csid rows",
            "csid tuned",
            "csid",
        ),
    ),
}
QUICK = {  # problems and methods of --quick
    1: (("energy1", "concrete"), ("ridge", "tree", "lightgbm", "csid als paper", "csid")),
    2: (("energy1",), ("ridge", "tree", "lightgbm", "csid")),
    3: (("energy",), ("ridge", "tree", "csid als paper", "csid")),
    4: (("oulad TMA 30720",), ("mean", "gpa", "matrix factorisation", "csid tuned", "csid")),
}
QUICK_WITHOUT_DATA = {number: ((problems.SYNTHETIC,), QUICK[number][1]) for number in (1, 2)}


def measure(
    method: Method, settings: Settings, train: Problem, tests: list[Problem], rows: tuple, seed: int, threads: int
) -> Iterator[dict[str, Any]]:
    """Fit to the training rows of one problem, and score on the test rows of others."""
    X = method.prepare(train.X).iloc[rows[0]]
    y, y_test = train.y[rows[0]], train.y[rows[1]]
    model = method.make(settings, categories(X), seed, threads)
    in_use = results.forget_peak()
    started = time.perf_counter()
    model.fit(X, y)
    fit_seconds = time.perf_counter() - started
    for test in tests:
        X_test = method.prepare(test.X).iloc[rows[1]]
        started = time.perf_counter()
        predicted = np.asarray(model.predict(X_test))
        figures = {
            "rmse": rmse(y_test, predicted),
            "mae": mae(y_test, predicted),
            "crps": np.nan,
            "coverage": np.nan,
            "fit_seconds": fit_seconds,
            "predict_seconds": time.perf_counter() - started,
            "peak_megabytes": results.memory("VmHWM") - in_use,
        }
        if method.quantiles is not None and y_test.ndim == 1:
            figures["coverage"], figures["crps"] = quantile_figures(y_test, method.quantiles(model, X_test))
        yield figures


def skipped(problem: Problem, method: Method) -> bool:
    """Whether a method is left out, since it takes too long with so many rows."""
    return method.most_rows is not None and 0.8 * len(problem.y) > method.most_rows


def run(number: int, case: Case, name: str, problem: Problem, splits: int, threads: int) -> None:
    """The rows of one method on one problem that are not there yet."""
    method = METHODS[name]
    there = {
        (int(row["split"]), row["hidden"])
        for row in results.read(f"table{number}")
        if (row["task"], row["method"]) == (problem.name, name)
    }
    protocols = ("train", "both") if case.share else ("none",)
    hidden = [f"{case.name} {protocol}" if case.share else protocol for protocol in protocols]
    splits = min(splits, method.most_splits)
    todo = [split for split in range(splits) if not all((split, one) in there for one in hidden)]
    if not todo or skipped(problem, method):
        return
    settings = tuned(problem, name, threads)
    for split in todo:
        holed = problems.hide(problem, case.share, case.by_value, split) if case.share else problem
        tests = [problem, holed] if case.share else [problem]
        rows = problems.split(problem, split)
        for one, figures in zip(hidden, measure(method, settings, holed, tests, rows, split, threads), strict=True):
            row = {
                "task": problem.name,
                "split": split,
                "method": name,
                "hidden": one,
                "settings": json.dumps(settings),
                **figures,
                "threads": threads,
                "library": f"{method.library} {version(method.library)}",
                **results.provenance(),
            }
            results.append(f"table{number}", row)
            shown = f"RMSE {row['rmse']:.4g}  fit {row['fit_seconds']:.2f} s"
            print(f"table {number}  {problem.name:16} {split} {name:20} {one:14} {shown}", flush=True)


def compile_first() -> None:
    """So that no row has the seconds of compiling."""
    from csid import BayesianCSIDRegressor, CSIDRegressor

    X = np.random.default_rng(0).uniform(size=(300, 2))
    for kind in (BayesianCSIDRegressor, CSIDRegressor):
        kind(random_state=0).fit(X, X.sum(axis=1)).predict(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*")
    parser.add_argument("--table", type=int, nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS))
    parser.add_argument("--cases", nargs="*", help="of Table 2, by name, such as '30 %%'")
    parser.add_argument("--quick", action="store_true", help="one split of a few problems and methods")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    compile_first()
    if chosen.quick:
        if not problems.data_at_hand():
            print("no folder of data sets (CSID_DATA): the synthetic problem only")
        for number, (tasks, methods) in (QUICK if problems.data_at_hand() else QUICK_WITHOUT_DATA).items():
            for name, task in itertools.product(methods, tasks):
                run(number, TABLES[number].cases[0], name, problems.load(task), 1, chosen.threads)
        return
    for number in chosen.table:
        table = TABLES[number]
        cases = [case for case in table.cases if chosen.cases is None or case.name in chosen.cases]
        for case, name in itertools.product(cases, chosen.methods or table.methods):
            for task in chosen.task or table.problems():
                problem = problems.load(task)
                if case.most_rows is None or len(problem.y) <= case.most_rows:
                    run(number, case, name, problem, min(chosen.splits or SPLITS, case.splits), chosen.threads)


if __name__ == "__main__":
    main()
