"""Measure the paper's four tables, with more methods than the paper has.

    python benchmarks/tables.py [--table 1 2 3 4] [--cases '30 %'] [--splits 10] [--methods csid ...] [task ...]

All methods get the same random 80/20 splits, with settings tuned once per problem (tune.py). Rows that are already in
results/table1.csv to table4.csv are skipped. Seconds and memory are those of this run, also if the machine was busy.

Table 2 hides cells of the predictors. Each fit is scored twice: on complete test rows, and on test rows with hidden
cells. It uses the settings of Table 1. Table 3 has several outputs, whose squared errors are summed. In Table 4 a row
is a student, and the predictors are the other grades of that student.
"""

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

import problems
import results
from measuring import skipped
from methods import METHODS
from methods.method import Method, Settings, categories
from metrics import coverage_and_crps, mae, rmse
from problems import BenchmarkProblem
from tune import tuned

SPLITS, FEW_SPLITS, FEW_ROWS = 10, 3, 5_000


@dataclass(frozen=True)
class Case:
    """Which cells are hidden: a fraction of them, at random or by value; and how much of it is measured."""

    fraction: float = 0.0
    by_value: bool = False
    splits: int = SPLITS
    most_rows: int | None = None

    @property
    def name(self) -> str:
        return f"{100 * self.fraction:.0f} %{' by value' if self.by_value else ''}"


@dataclass(frozen=True)
class PaperTable:
    """The problems, methods and cases of one table."""

    problems: Callable[[], tuple[str, ...]]
    methods: tuple[str, ...]
    cases: tuple[Case, ...] = (Case(),)


BASELINES = ("ridge", "svr rbf", "svr polynomial", "tree", "mlp 1", "mlp 3", "mlp 5")
BOOSTERS = ("lightgbm", "xgboost", "catboost", "hist boosting")
TABLES = {
    1: PaperTable(
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
    2: PaperTable(
        lambda: problems.TASKS,
        ("ridge", "tree", *BOOSTERS, "svr rbf", "svr polynomial", "mlp 5", "csid rank-one pmf", "csid"),
        (
            Case(0.3, splits=FEW_SPLITS),
            Case(0.1, splits=FEW_SPLITS, most_rows=FEW_ROWS),
            Case(0.5, splits=FEW_SPLITS, most_rows=FEW_ROWS),
            Case(0.3, by_value=True, splits=FEW_SPLITS, most_rows=FEW_ROWS),
        ),
    ),
    3: PaperTable(
        lambda: problems.JOINT,
        ("ridge", "tree", "mlp 1", "mlp 3", "mlp 5", "catboost joint", "csid als paper", "csid", "csid one by one"),
    ),
    4: PaperTable(
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
QUICK = {  # problems and methods with --quick
    1: (("energy1", "concrete"), ("ridge", "tree", "lightgbm", "csid als paper", "csid")),
    2: (("energy1",), ("ridge", "tree", "lightgbm", "csid")),
    3: (("energy",), ("ridge", "tree", "csid als paper", "csid")),
    4: (("oulad TMA 30720",), ("mean", "gpa", "matrix factorisation", "csid tuned", "csid")),
}
QUICK_WITHOUT_DATA = {number: ((problems.SYNTHETIC,), QUICK[number][1]) for number in (1, 2)}


class Run(NamedTuple):
    """One fit of a method, with its settings, on one split."""

    method: Method
    settings: Settings
    seed: int
    threads: int


def measure(run: Run, train: BenchmarkProblem, tests: list[BenchmarkProblem]) -> Iterator[dict[str, Any]]:
    """Fit to the training rows of one problem, and compute the metrics on the test rows of others."""
    method = run.method
    train_rows, test_rows = problems.split(train, run.seed)
    X = method.prepare(train.X).iloc[train_rows]
    y, y_test = train.y[train_rows], train.y[test_rows]
    model = method.make(run.settings, categories(X), run.seed, run.threads)
    memory_before = results.reset_peak_memory()
    started = time.perf_counter()
    model.fit(X, y)
    fit_seconds = time.perf_counter() - started
    for test in tests:
        X_test = method.prepare(test.X).iloc[test_rows]
        started = time.perf_counter()
        predicted = np.asarray(model.predict(X_test))
        metrics = {
            "rmse": rmse(y_test, predicted),
            "mae": mae(y_test, predicted),
            "crps": np.nan,
            "coverage": np.nan,
            "fit_seconds": fit_seconds,
            "predict_seconds": time.perf_counter() - started,
            "peak_megabytes": results.memory_megabytes("VmHWM") - memory_before,
        }
        if method.quantiles is not None and y_test.ndim == 1:
            metrics["coverage"], metrics["crps"] = coverage_and_crps(y_test, method.quantiles(model, X_test))
        yield metrics


def measure_missing(number: int, case: Case, name: str, problem: BenchmarkProblem, splits: int, threads: int) -> None:
    """Measure the rows of one method on one problem that are not stored yet."""
    method = METHODS[name]
    stored = {
        (int(row["split"]), row["hidden"])
        for row in results.read(f"table{number}")
        if (row["task"], row["method"]) == (problem.name, name)
    }
    hidden = [f"{case.name} train", f"{case.name} both"] if case.fraction else ["none"]
    splits = min(splits, method.most_splits)
    todo = [split for split in range(splits) if not all((split, protocol) in stored for protocol in hidden)]
    if not todo or skipped(problem, method):
        return
    settings = tuned(problem, name, threads)
    for split in todo:
        train = problems.hide(problem, case.fraction, case.by_value, split) if case.fraction else problem
        tests = [problem, train] if case.fraction else [problem]
        found = measure(Run(method, settings, split, threads), train, tests)
        for protocol, metrics in zip(hidden, found, strict=True):
            row = {
                "task": problem.name,
                "split": split,
                "method": name,
                "hidden": protocol,
                "settings": json.dumps(settings),
                **metrics,
                "threads": threads,
                "library": f"{method.library} {version(method.library)}",
                **results.provenance(),
            }
            results.append(f"table{number}", row)
            shown = f"RMSE {row['rmse']:.4g}  fit {row['fit_seconds']:.2f} s"
            print(f"table {number}  {problem.name:16} {split} {name:20} {protocol:14} {shown}", flush=True)


def compile_first() -> None:
    """Compile all kernels, so that compilation is not part of any measured time."""
    from csid import BayesianCSIDRegressor, CSIDRegressor

    X = np.random.default_rng(0).uniform(size=(300, 2))
    for estimator in (BayesianCSIDRegressor, CSIDRegressor):
        estimator(random_state=0).fit(X, X.sum(axis=1)).predict(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*")
    parser.add_argument("--table", type=int, nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS))
    parser.add_argument("--cases", nargs="*", help="cases of Table 2 by name, for example '30 %%'")
    parser.add_argument("--quick", action="store_true", help="one split of a few problems and methods")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    compile_first()
    if chosen.quick:
        if not problems.data_at_hand():
            print("CSID_DATA is not set: measuring the synthetic problem only")
        for number, (tasks, methods) in (QUICK if problems.data_at_hand() else QUICK_WITHOUT_DATA).items():
            for name, task in itertools.product(methods, tasks):
                measure_missing(number, TABLES[number].cases[0], name, problems.load(task), 1, chosen.threads)
        return
    for number in chosen.table:
        table = TABLES[number]
        cases = [case for case in table.cases if chosen.cases is None or case.name in chosen.cases]
        for case, name in itertools.product(cases, chosen.methods or table.methods):
            for task in chosen.task or table.problems():
                problem = problems.load(task)
                if case.most_rows is None or len(problem.y) <= case.most_rows:
                    splits = min(chosen.splits or SPLITS, case.splits)
                    measure_missing(number, case, name, problem, splits, chosen.threads)


if __name__ == "__main__":
    main()
