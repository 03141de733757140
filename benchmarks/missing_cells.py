"""Predictive intervals of rows with missing cells: their coverage, beside that of the same rows without gaps.

    python benchmarks/missing_cells.py [--splits 1] [--effort default] [task ...]   # resumes; results/missing_cells.csv

30 % of the cells are hidden, in training and test rows or in test rows only. The test rows are predicted twice: with
hidden cells, and complete.
"""

import argparse
import time

import numpy as np
import pandas as pd

import problems
import results
from csid import BayesianCSIDRegressor
from metrics import rmse

HIDDEN_FRACTION, COVERAGE = 0.3, 0.9


def measure(name: str, where: str, seed: int, effort: str) -> dict[str, float]:
    """Coverage of 90 % intervals and RMSE of one fit. where : "training and test" or "test"."""
    task = problems.load(name)
    incomplete = problems.hide(task, HIDDEN_FRACTION, False, seed).X
    train, test = problems.split(task, seed)
    X = incomplete if where == "training and test" else task.X
    started = time.perf_counter()
    model = BayesianCSIDRegressor(effort=effort, random_state=seed).fit(X.iloc[train], task.y[train])
    row = {"fit_seconds": time.perf_counter() - started}
    for kind, table in (("complete", task.X), ("incomplete", incomplete)):
        rows = table.iloc[test]
        lower, upper = model.predict_interval(rows, COVERAGE)
        row[f"rmse_{kind}"] = rmse(task.y[test], model.predict(rows))
        row[f"coverage_{kind}"] = float(np.mean((lower <= task.y[test]) & (task.y[test] <= upper)))
        row[f"width_{kind}"] = float(np.mean(upper - lower) / task.y[train].std())
    return row


def summary() -> str:
    """A table of means over the splits: coverage and RMSE of complete rows and of rows with gaps, per task."""
    rows = pd.DataFrame(results.read("missing_cells"))
    kinds = ["coverage_complete", "coverage_incomplete", "rmse_complete", "rmse_incomplete"]
    means = rows.astype(dict.fromkeys(kinds, float)).groupby(["where", "effort", "task"], sort=False)[kinds].mean()
    return means.round(3).to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=problems.TASKS)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--effort", default="default")
    parser.add_argument("--where", nargs="*", default=["training and test", "test"])
    chosen = parser.parse_args()
    done = {(row["task"], row["where"], int(row["split"]), row["effort"]) for row in results.read("missing_cells")}
    for seed in range(chosen.splits):
        for name in chosen.task:
            for where in chosen.where:
                if (name, where, seed, chosen.effort) not in done:
                    row = {"task": name, "where": where, "split": seed, "effort": chosen.effort}
                    row |= measure(name, where, seed, chosen.effort) | results.provenance()
                    results.append("missing_cells", row)
                    print({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})
    print(summary())


if __name__ == "__main__":
    main()
