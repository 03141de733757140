"""Measure methods on random splits of a problem, by the metrics of their kind of target.

Rows that are already stored are skipped, unless they have no times.
"""

import json
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_limits

import problems
import results
from methods import METHODS
from methods.method import Method, categories
from problems import BenchmarkProblem
from tune import tuned


def skipped(problem: BenchmarkProblem, method: Method) -> bool:
    """Whether a method is left out, because it takes too long with so many training rows."""
    return method.most_rows is not None and 0.8 * len(problem.y) > method.most_rows


def measure_missing(
    file: str, problem: BenchmarkProblem, name: str, splits: int, threads: int, timed: bool = True
) -> Iterator[dict[str, Any]]:
    """Measure and store the rows of one method on one problem that are missing. Untimed rows have no seconds."""
    method = METHODS[name]
    stored = {
        int(row["split"])
        for row in results.read(file)
        if (row["task"], row["method"]) == (problem.name, name) and (row["fit_seconds"] or not timed)
    }
    if skipped(problem, method):
        return
    for split in range(min(splits, method.most_splits)):
        if split not in stored:
            row = measured(problem, name, split, threads)
            untimed = {} if timed else {"fit_seconds": "", "predict_seconds": ""}
            results.append(file, row | untimed)
            yield row


def measured(problem: BenchmarkProblem, name: str, split: int, threads: int) -> dict[str, Any]:
    """Fit to the training rows of a split, and compute metrics and seconds on its test rows."""
    method = METHODS[name]
    settings = tuned(problem, name, threads)
    train, test = problems.split(problem, split)
    X = method.prepare(problem.X)
    model = method.make(settings, categories(X), split, threads)
    with threadpool_limits(threads):
        started = time.perf_counter()
        model.fit(X.iloc[train], problem.y[train])
        fitted = time.perf_counter()
        predictions = method.targets.predict(model, X.iloc[test])
        predicted = time.perf_counter()
    return {
        "task": problem.name,
        "split": split,
        "method": name,
        "settings": json.dumps(settings),
        **{column: metric(problem.y[test], predictions) for column, metric in method.targets.metrics.items()},
        "fit_seconds": fitted - started,
        "predict_seconds": predicted - fitted,
        "threads": threads,
        "library": f"{method.library} {version(method.library)}",
        **results.provenance(),
    }
