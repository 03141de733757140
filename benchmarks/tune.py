"""Settings of a method for a problem, found once, by cross-validation on the training rows of the first split.

A grid is tried as a whole. Otherwise Optuna's sampler (TPE) proposes 30 trials, 15 for grades, and one whose first fold
is worse than the median of those before it ends there. Methods that grow by rounds (trees, sweeps) stop early on the
held-out rows of each fold; the mean number of rounds, in the column `trees`, goes with the settings. Trials are rows of
results/tuning.csv, and those already there are not made again.
"""

import json
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
from sklearn.model_selection import KFold

import problems
import results
from methods import METHODS
from methods.method import Grid, Method, Settings, Space, categories
from problems import Problem
from scores import rmse

TRIALS_BEFORE_PRUNING = 5
optuna.logging.set_verbosity(optuna.logging.WARNING)


def tuned(problem: Problem, name: str, threads: int) -> Settings:
    """The best settings, with the number of rounds; trials that are still to do are made first."""
    method = METHODS[name]
    if method.search is None:
        return method.settings
    if isinstance(method.search, Grid):
        given = {} if method.settings_of is None else tuned(problem, method.settings_of, threads)
        _try_all(problem, name, method.search, given, threads)
    else:
        _try_some(problem, name, method.search, threads)
    whole = [row for row in _rows(problem, name) if row["state"] == TrialState.COMPLETE.name]
    best = min(whole, key=lambda row: float(row["rmse"]))
    rounds = {} if method.stopped_fit is None else {method.rounds: int(best["trees"])}
    return {**json.loads(best["settings"]), **rounds}


def _rows(problem: Problem, name: str) -> list[dict[str, str]]:
    return [row for row in results.read("tuning") if (row["task"], row["booster"]) == (problem.name, name)]


def _try_all(problem: Problem, name: str, grid: Grid, given: Settings, threads: int) -> None:
    for number, chosen in list(enumerate(grid.settings()))[len(_rows(problem, name)) :]:
        settings = {**given, **chosen}
        _record(problem, name, number, settings, *_errors(problem, METHODS[name], settings, threads, None))


def _try_some(problem: Problem, name: str, space: Space, threads: int) -> None:
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=8),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING),
    )
    any_trial = optuna.create_study().ask()
    space.suggest(any_trial)
    for row in _rows(problem, name):
        study.add_trial(
            optuna.create_trial(
                state=TrialState[row["state"]],
                value=float(row["rmse"]),
                params=json.loads(row["settings"]),
                distributions=any_trial.distributions,
                intermediate_values={1: float(row["first_rmse"])},
            )
        )
    while len(study.trials) < problem.trials:
        trial = study.ask()
        errors, rounds = _errors(problem, METHODS[name], space.suggest(trial), threads, trial)
        whole = len(errors) == space.folds
        study.tell(trial, *((np.mean(errors),) if whole else (None, TrialState.PRUNED)))
        _record(problem, name, trial.number, trial.params, errors, rounds, whole)


def _errors(
    problem: Problem, method: Method, settings: Settings, threads: int, trial: optuna.Trial | None
) -> tuple[list[float], list[int]]:
    """The RMSE and the rounds of each fold; of the first alone when the trial is not promising."""
    rows = problems.split(problem, 0)[0][: method.tuning_rows]
    X, y = method.prepare(problem.X).iloc[rows], problem.y[rows]
    errors: list[float] = []
    rounds: list[int] = []
    for train, held_out in KFold(method.search.folds, shuffle=True, random_state=0).split(rows):
        growing = {} if method.stopped_fit is None else {method.rounds: method.most_rounds}
        model = method.make({**settings, **growing}, categories(X), 0, threads)
        if method.stopped_fit is None:
            model.fit(X.iloc[train], y[train])
        else:
            rounds.append(method.stopped_fit(model, X.iloc[train], y[train], X.iloc[held_out], y[held_out]))
        errors.append(rmse(y[held_out], model.predict(X.iloc[held_out])))
        if trial is not None:
            trial.report(errors[-1], len(errors))
            if len(errors) == 1 and trial.should_prune():
                break
    return errors, rounds


def _record(
    problem: Problem, name: str, number: int, settings: Any, errors: list[float], rounds: list[int], whole: bool = True
) -> None:
    row = {
        "task": problem.name,
        "booster": name,
        "trial": number,
        "state": (TrialState.COMPLETE if whole else TrialState.PRUNED).name,
        "rmse": np.mean(errors),
        "first_rmse": errors[0],
        "trees": round(np.mean(rounds)) if rounds else "",
        "settings": json.dumps(settings),
    }
    results.append("tuning", row)
