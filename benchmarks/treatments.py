"""Treatments of missing cells by the sampler, each on its own, on training rows only.

    python benchmarks/treatments.py [--folds 1] [task ...]      # resumes; results/treatments.csv; fills decision 0012

The training rows of the first split of each task, at most 8,000 of them, are cut in five; 30 % of the cells are hidden,
and a fifth is scored by a model of the rest: as it is, and with its own cells hidden. Fits are of `effort="fast"`.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
import pandas as pd

import pages
import problems
import results
from csid import BayesianCSIDRegressor
from csid.coding import Coding
from scores import rmse

AVERAGED = Coding("auto", "linear", "marginalize", merge=True)
TREATMENTS = {
    "averaged, rank one": (AVERAGED, False),
    "a level": (replace(AVERAGED, missing="level"), False),
    "drawn, heed 1": (AVERAGED, True),
    "drawn, heed 0.25": (replace(AVERAGED, heed=0.25), True),
    "drawn, heed 0": (replace(AVERAGED, heed=0.0), True),
}
SHARE, MOST_ROWS = 0.3, 8_000


def fitted(treatment: str, X, y, fold: int) -> BayesianCSIDRegressor:
    """A model with this treatment, whatever a pilot would say."""
    coding, joint = TREATMENTS[treatment]
    model = BayesianCSIDRegressor(effort="fast", random_state=fold)

    def codings(table, rng) -> list[Coding]:
        pmf = model._fit_pmf(table.X, np.arange(len(table)), table.weights, rng) if joint else None
        return [replace(coding, pmf=pmf)]

    model._codings = codings
    return model.fit(X, y)


def report() -> None:
    """The table of the decision's page: mean RMSE over the folds, on rows as they are and with cells hidden."""
    rows = pd.DataFrame(results.read("treatments")).astype({"rmse": float, "rmse hidden": float})
    tasks = rows["task"].unique()
    lines = [["treatment", *tasks], ["---"] * (len(tasks) + 1)]
    for treatment in TREATMENTS:
        means = rows[rows["treatment"] == treatment].groupby("task")[["rmse", "rmse hidden"]].mean()
        pairs = [means.loc[task] if task in means.index else [np.nan, np.nan] for task in tasks]
        lines.append([treatment, *(f"{whole:.3g}, {hidden:.3g}" for whole, hidden in pairs)])
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    pages.fill("docs/decisions/0012-joint-pmf.md", "treatments", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=["energy1", "energy2", "concrete", "abalone", "ccpp"])
    parser.add_argument("--folds", type=int, default=1)
    chosen = parser.parse_args()
    done = {(row["task"], int(row["fold"]), row["treatment"]) for row in results.read("treatments")}
    for fold in range(chosen.folds):
        for name in chosen.task:
            task = problems.load(name)
            holed = problems.hide(task, SHARE, False, fold)
            rows = np.random.default_rng([fold, 1]).permutation(problems.split(task, 0)[0])[:MOST_ROWS]
            held_out, train = np.split(rows, [len(rows) // 5])
            for treatment in TREATMENTS:
                if (name, fold, treatment) in done:
                    continue
                started = time.perf_counter()
                model = fitted(treatment, holed.X.iloc[train], task.y[train], fold)
                row = {
                    "task": name,
                    "fold": fold,
                    "treatment": treatment,
                    "fit_seconds": time.perf_counter() - started,
                    "rmse": rmse(task.y[held_out], model.predict(task.X.iloc[held_out])),
                    "rmse hidden": rmse(task.y[held_out], model.predict(holed.X.iloc[held_out])),
                }
                results.append("treatments", row | results.provenance())
                print(f"{name:12} fold {fold} {treatment:20} {row['rmse']:.4g} {row['rmse hidden']:.4g}", flush=True)
    report()


if __name__ == "__main__":
    main()
