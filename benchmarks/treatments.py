"""The sampler's treatments of missing cells, each on its own, on training rows only.

    python benchmarks/treatments.py [--folds 1] [task ...]      # resumes; results/treatments.csv; updates decision 0012

At most 8,000 training rows of the first split of each task are cut into five folds, and 30 % of the cells are hidden.
One fold is scored by a model fitted to the rest: with its cells complete, and with cells hidden. Fits use
`effort="fast"`.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

import pages
import problems
import results
from csid import BayesianCSIDRegressor
from csid.inference.sampling import SamplingOptions
from metrics import rmse


def imputing(likelihood_power: float) -> type[BayesianCSIDRegressor]:
    """An estimator that draws missing cells with this likelihood power, instead of the one that a pilot prefers."""

    class ImputingRegressor(BayesianCSIDRegressor):
        def _options(self) -> SamplingOptions:
            return replace(super()._options(), missing="marginalize", likelihood_powers=(likelihood_power,))

    return ImputingRegressor


TREATMENTS: dict[str, Callable[..., BayesianCSIDRegressor]] = {
    "marginalized, rank-one PMF": partial(BayesianCSIDRegressor, missing="marginalize", pmf_rank=1),
    "missing as a level": partial(BayesianCSIDRegressor, missing="level"),
    "imputed, likelihood power 1": imputing(1.0),
    "imputed, likelihood power 0.25": imputing(0.25),
    "imputed, likelihood power 0": imputing(0.0),
}
HIDDEN_FRACTION, MOST_ROWS = 0.3, 8_000


def update_decision() -> None:
    """Write the table of decision 0012: mean RMSE over the folds, on complete rows and on rows with hidden cells."""
    rows = pd.DataFrame(results.read("treatments")).astype({"rmse": float, "rmse_hidden": float})
    tasks = rows["task"].unique()
    lines = [["treatment", *tasks], ["---"] * (len(tasks) + 1)]
    for treatment in TREATMENTS:
        means = rows[rows["treatment"] == treatment].groupby("task")[["rmse", "rmse_hidden"]].mean()
        pairs = [means.loc[task] if task in means.index else [np.nan, np.nan] for task in tasks]
        lines.append([treatment, *(f"{complete:.3g}, {hidden:.3g}" for complete, hidden in pairs)])
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
            incomplete = problems.hide(task, HIDDEN_FRACTION, False, fold)
            rows = np.random.default_rng([fold, 1]).permutation(problems.split(task, 0)[0])[:MOST_ROWS]
            held_out, train = np.split(rows, [len(rows) // 5])
            for treatment, make in TREATMENTS.items():
                if (name, fold, treatment) in done:
                    continue
                started = time.perf_counter()
                model = make(effort="fast", random_state=fold).fit(incomplete.X.iloc[train], task.y[train])
                row = {
                    "task": name,
                    "fold": fold,
                    "treatment": treatment,
                    "fit_seconds": time.perf_counter() - started,
                    "rmse": rmse(task.y[held_out], model.predict(task.X.iloc[held_out])),
                    "rmse_hidden": rmse(task.y[held_out], model.predict(incomplete.X.iloc[held_out])),
                }
                results.append("treatments", row | results.provenance())
                print(f"{name:12} fold {fold} {treatment:20} {row['rmse']:.4g} {row['rmse_hidden']:.4g}", flush=True)
    update_decision()


if __name__ == "__main__":
    main()
