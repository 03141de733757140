"""What the choices behind the Bayesian estimator's defaults are worth, one at a time, on training rows only.

    python benchmarks/choices.py [--folds 1] [--variants default ...] [task ...]      # resumes; results/choices.csv

The training rows of the first split of each task are cut into three folds; a fold is scored by models of the other two.
For each fit: RMSE, and CRPS and coverage of 90 % intervals with the spread that the pilot found, with one that does not
depend on the mean, and with that of the draws alone.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

import problems
import results
from csid import BayesianCSIDRegressor
from csid.spread import Spread
from scores import QUANTILES, quantile_figures, rmse

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "rank 8": {"rank": 8},
    "rank 16": {"rank": 16},
    "rank 48": {"rank": 48},
    "marginalize": {"missing": "marginalize"},
    "level": {"missing": "level"},
    "fast": {"effort": "fast"},
    "best": {"effort": "best"},
    "student": {"noise": "student"},
    "rank 64, 256 levels": {"rank": 64, "levels": 256},
    "rank 64, 256 levels, long": {"rank": 64, "levels": 256, "n_burn": 150, "n_draws": 100},
}
MISSING = ("marginalize", "level")


def figures(task: problems.Problem, fold: int, settings: dict[str, Any]) -> dict[str, float]:
    rows, _ = problems.split(task, 0)
    train, held_out = list(KFold(3, shuffle=True, random_state=0).split(rows))[fold]
    model = BayesianCSIDRegressor(random_state=fold, **settings).fit(task.X.iloc[rows[train]], task.y[rows[train]])
    X, y = task.X.iloc[rows[held_out]], task.y[rows[held_out]]
    found = {"rmse": rmse(y, model.predict(X))}
    varying = model.spread_
    level = np.repeat(varying.logs.mean(axis=1, keepdims=True), varying.logs.shape[1], axis=1)
    spreads = {"": varying, " flat": Spread(varying.knots, level), " none": Spread.none(1)}
    for name, spread in spreads.items():
        model.spread_ = spread
        coverage, crps = quantile_figures(y, model.predict_quantiles(X, QUANTILES))
        found |= {f"coverage{name}": coverage, f"crps{name}": crps}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(problems.TASKS))
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    chosen = parser.parse_args()
    done = {(row["task"], int(row["fold"]), row["variant"]) for row in results.read("choices")}
    for fold in range(chosen.folds):
        for name in chosen.task:
            task = problems.load(name)
            for variant in chosen.variants:
                if variant in MISSING and not task.X.isna().any(axis=None):
                    continue
                if (name, fold, variant) in done:
                    continue
                row = {"task": name, "fold": fold, "variant": variant, **figures(task, fold, VARIANTS[variant])}
                results.append("choices", row | results.provenance())
                print(f"{name:12} fold {fold} {variant:12} RMSE {row['rmse']:.4g} CRPS {row['crps']:.4g}", flush=True)


if __name__ == "__main__":
    main()
