"""Settings of the boosters for each task: 30 trials, 3-fold, on the training rows of the first split.

    python benchmarks/tune.py [--threads 2] [--boosters lightgbm ...] [task ...]   # resumes; results/tuning.csv

Each fold stops early on its own held-out rows; the mean number of trees goes with the settings. A trial whose first
fold is worse than the median of those before it ends there. Optuna's sampler (TPE) proposes the trials.
"""

import argparse
import json
import warnings
from typing import Any

import numpy as np
import optuna
import pandas as pd
from optuna.trial import TrialState
from sklearn.model_selection import KFold

import results
import tasks
from boosters import BOOSTERS, MOST_TREES, Booster

TRIALS, FOLDS, TRIALS_BEFORE_PRUNING = 30, 3, 5


def tuned(task: str, booster: str) -> dict[str, Any]:
    """The best settings found so far, with the number of trees."""
    rows = [row for row in results.read("tuning") if (row["task"], row["booster"]) == (task, booster)]
    whole = [row for row in rows if row["state"] == TrialState.COMPLETE.name]
    if len(rows) < TRIALS:
        raise SystemExit(f"{booster} has {len(rows)} of {TRIALS} trials on {task}: run benchmarks/tune.py first")
    best = min(whole, key=lambda row: float(row["rmse"]))
    return {**json.loads(best["settings"]), "n_estimators": int(best["trees"])}


def errors_of_trial(
    trial: optuna.Trial, booster: Booster, X: pd.DataFrame, y: np.ndarray, threads: int
) -> tuple[list[float], list[int]]:
    """The RMSE and the trees of each fold; of the first alone when it is not promising."""
    table, categories = booster.table(X)
    settings = {**booster.space(trial), "n_estimators": MOST_TREES}
    errors: list[float] = []
    trees: list[int] = []
    for train, held_out in KFold(FOLDS, shuffle=True, random_state=0).split(table):
        model = booster.make(settings, categories, 0, threads)
        more = table.iloc[held_out]
        trees.append(booster.stopped_fit(model, table.iloc[train], y[train], more, y[held_out]))
        errors.append(float(np.sqrt(np.mean((y[held_out] - model.predict(more)) ** 2))))
        trial.report(errors[-1], len(errors))
        if len(errors) == 1 and trial.should_prune():
            break
    return errors, trees


def tune(name: str, booster: str, threads: int) -> None:
    """The trials that are still to do."""
    task = tasks.load(name)
    train, _ = tasks.split(task, 0)
    X, y = task.X.iloc[train], task.y[train]
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=8),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING),
    )
    space = optuna.create_study().ask()
    BOOSTERS[booster].space(space)
    for row in results.read("tuning"):
        if (row["task"], row["booster"]) == (name, booster):
            study.add_trial(
                optuna.create_trial(
                    state=TrialState[row["state"]],
                    value=float(row["rmse"]),
                    params=json.loads(row["settings"]),
                    distributions=space.distributions,
                    intermediate_values={1: float(row["first_rmse"])},
                )
            )
    while len(study.trials) < TRIALS:
        trial = study.ask()
        errors, trees = errors_of_trial(trial, BOOSTERS[booster], X, y, threads)
        state = TrialState.COMPLETE if len(errors) == FOLDS else TrialState.PRUNED
        study.tell(trial, np.mean(errors) if state == TrialState.COMPLETE else None, state)
        row = {
            "task": name,
            "booster": booster,
            "trial": trial.number,
            "state": state.name,
            "rmse": np.mean(errors),
            "first_rmse": errors[0],
            "trees": round(np.mean(trees)),
            "settings": json.dumps(trial.params),
        }
        results.append("tuning", row)
    print(f"{name:12} {booster:10} RMSE {study.best_value:.4g} {study.best_params}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(tasks.NAMES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--boosters", nargs="*", default=list(BOOSTERS), choices=list(BOOSTERS))
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=UserWarning)
    for name in chosen.task:
        for booster in chosen.boosters:
            tune(name, booster, chosen.threads)


if __name__ == "__main__":
    main()
