"""The choices behind the Bayesian estimator's defaults, one at a time, measured on training rows only.

    python benchmarks/choices.py [--folds 1] [--variants default ...] [task ...]      # resumes; results/choices.csv

Three-fold cross-validation on the training rows of the first split of each task. For each fit: RMSE, and CRPS and
coverage of 90 % predictive intervals, with the calibration factor that the pilot fitted, with a constant factor that
does not depend on the predicted mean, and without calibration.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

import problems
import results
from csid import BayesianCSIDRegressor
from csid.likelihoods.calibration import Calibration
from metrics import QUANTILES, coverage_and_crps, rmse

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "rank 8": {"rank": 8},
    "rank 16": {"rank": 16},
    "rank 48": {"rank": 48},
    "marginalize": {"missing": "marginalize"},
    "level": {"missing": "level"},
    "fast": {"effort": "fast"},
    "best": {"effort": "best"},
    "student_t": {"likelihood": "student_t"},
    "rank 64, 256 levels": {"rank": 64, "levels": 256},
    "rank 64, 256 levels, long": {"rank": 64, "levels": 256, "n_burn": 150, "n_draws": 100},
}
MISSING = ("marginalize", "level")


def measure(task: problems.BenchmarkProblem, fold: int, settings: dict[str, Any]) -> dict[str, float]:
    """Metrics of one fit on the held-out fold, with three ways of calibrating its intervals."""
    rows, _ = problems.split(task, 0)
    train, held_out = list(KFold(3, shuffle=True, random_state=0).split(rows))[fold]
    model = BayesianCSIDRegressor(random_state=fold, **settings).fit(task.X.iloc[rows[train]], task.y[rows[train]])
    X, y = task.X.iloc[rows[held_out]], task.y[rows[held_out]]
    found = {"rmse": rmse(y, model.predict(X))}
    fitted, varying = model.fitted_, model.calibration_
    constant = np.ones_like(varying.log_factors) * varying.log_factors.mean(axis=1, keepdims=True)
    calibrations = {
        "": varying,
        "_constant": Calibration(varying.knots, constant),
        "_uncalibrated": Calibration.identity(1),
    }
    for suffix, calibration in calibrations.items():
        model.fitted_ = replace(fitted, calibration=calibration)
        coverage, crps = coverage_and_crps(y, model.predict_quantiles(X, QUANTILES))
        found |= {f"coverage{suffix}": coverage, f"crps{suffix}": crps}
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
                row = {"task": name, "fold": fold, "variant": variant, **measure(task, fold, VARIANTS[variant])}
                results.append("choices", row | results.provenance())
                print(f"{name:12} fold {fold} {variant:12} RMSE {row['rmse']:.4g} CRPS {row['crps']:.4g}", flush=True)


if __name__ == "__main__":
    main()
