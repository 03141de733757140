"""Predictive intervals of rows with missing cells: their coverage, beside that of the same rows without gaps.

    python benchmarks/missing_cells.py [--splits 1] [--effort default] [task ...]   # resumes; results/missing_cells.csv

30 % of the cells are hidden, in training and test rows or in test rows only. The test rows are predicted twice: with
hidden cells, and complete. Rows of the variant "before" are of the code before decision 0027, with the same splits and
hidden cells, from results/table2.csv of that time. Updates the table of that decision.
"""

import argparse
import time

import numpy as np
import pandas as pd

import pages
import problems
import results
from csid import BayesianCSIDRegressor
from metrics import rmse

HIDDEN_FRACTION, COVERAGE = 0.3, 0.9
BOTH, TEST = "training and test", "test"


def measure(name: str, where: str, seed: int, effort: str) -> dict[str, float]:
    """Coverage of 90 % intervals and RMSE of one fit. where : the rows with hidden cells."""
    task = problems.load(name)
    incomplete = problems.hide(task, HIDDEN_FRACTION, False, seed).X
    train, test = problems.split(task, seed)
    X = incomplete if where == BOTH else task.X
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


def update_decision() -> None:
    """Write the table of decision 0027: means over the splits of fits with the default effort."""
    rows = pd.DataFrame(results.read("missing_cells"))
    kinds = ["rmse_complete", "coverage_complete", "rmse_incomplete", "coverage_incomplete"]
    rows = rows[rows["effort"] == "default"].astype(dict.fromkeys(kinds, float))
    means = rows.groupby(["variant", "where", "task"])[kinds].mean()
    cases = [("before", BOTH), ("now", BOTH), ("now", TEST)]
    lines = [
        ["", *(f"{variant}: gaps in {where} rows" for variant, where in cases for _ in range(2))],
        ["---"] * 7,
        ["task", *["complete rows", "rows with gaps"] * 3],
    ]
    for task in [task for task in problems.TASKS if (*cases[1], task) in means.index]:
        cells = [task]
        for case in cases:
            found = means.loc[(*case, task)] if (*case, task) in means.index else pd.Series(np.nan, kinds)
            pairs = [found[kinds[:2]], found[kinds[2:]]]
            cells += [f"{error:.4g}, {coverage:.1%}" for error, coverage in pairs]
        lines.append(cells)
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    pages.fill("docs/decisions/0027-rows-with-gaps.md", "missing cells", table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=problems.TASKS)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--effort", default="default")
    parser.add_argument("--where", nargs="*", default=[BOTH, TEST], choices=[BOTH, TEST])
    chosen = parser.parse_args()
    found = [row for row in results.read("missing_cells") if row["variant"] == "now"]
    done = {(row["task"], row["where"], int(row["split"]), row["effort"]) for row in found}
    for seed in range(chosen.splits):
        for name in chosen.task:
            for where in chosen.where:
                if (name, where, seed, chosen.effort) not in done:
                    row = {"task": name, "where": where, "split": seed, "effort": chosen.effort, "variant": "now"}
                    row |= measure(name, where, seed, chosen.effort) | results.provenance()
                    results.append("missing_cells", row)
                    print({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})
    update_decision()


if __name__ == "__main__":
    main()
