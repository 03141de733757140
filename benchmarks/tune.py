"""Tune the settings of a method on a problem, once, by cross-validation on the training rows of the first split.

A grid is searched completely. Otherwise Optuna's TPE sampler proposes 30 trials (15 for grades), and a trial whose
first fold is worse than the median of the earlier trials is pruned. Methods that train in rounds (trees, sweeps) use
early stopping on the held-out rows of each fold; the mean number of rounds becomes part of the settings. The loss is
the RMSE for numbers, and the log loss for classes, whose folds are stratified. Every trial is a row of
results/tuning.csv; existing trials are not repeated.
"""

import json
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState

import problems
import results
from methods import METHODS
from methods.method import Grid, Method, Settings, Space, categories
from problems import BenchmarkProblem

TRIALS_BEFORE_PRUNING = 5
optuna.logging.set_verbosity(optuna.logging.WARNING)


def tuned(problem: BenchmarkProblem, name: str, threads: int) -> Settings:
    """The best settings, with the number of rounds, after running all missing trials."""
    method = METHODS[name]
    if method.search is None:
        return method.settings
    if isinstance(method.search, Grid):
        fixed = {} if method.settings_of is None else tuned(problem, method.settings_of, threads)
        _search_grid(problem, name, method.search, fixed, threads)
    else:
        _search_space(problem, name, method.search, threads)
    complete = [row for row in _rows(problem, name) if row["state"] == TrialState.COMPLETE.name]
    best = min(complete, key=lambda row: float(row["loss"]))
    rounds = {} if method.stopped_fit is None else {method.rounds: int(best["rounds"])}
    return {**method.settings, **json.loads(best["settings"]), **rounds}


def _rows(problem: BenchmarkProblem, name: str) -> list[dict[str, str]]:
    return [row for row in results.read("tuning") if (row["task"], row["method"]) == (problem.name, name)]


def _search_grid(problem: BenchmarkProblem, name: str, grid: Grid, fixed: Settings, threads: int) -> None:
    """Run the combinations after the last stored one; rows are stored in the order of the grid."""
    for number, chosen in list(enumerate(grid.settings()))[len(_rows(problem, name)) :]:
        settings = {**fixed, **chosen}
        _record(problem, name, number, settings, *_losses(problem, METHODS[name], settings, threads, None))


def _search_space(problem: BenchmarkProblem, name: str, space: Space, threads: int) -> None:
    """Give the stored trials to a new study, and continue it."""
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
                value=float(row["loss"]),
                params=json.loads(row["settings"]),
                distributions=any_trial.distributions,
                intermediate_values={1: float(row["first_loss"])},
            )
        )
    while len(study.trials) < problem.trials:
        trial = study.ask()
        losses, rounds = _losses(problem, METHODS[name], space.suggest(trial), threads, trial)
        complete = len(losses) == space.folds
        study.tell(trial, *((np.mean(losses),) if complete else (None, TrialState.PRUNED)))
        _record(problem, name, trial.number, trial.params, losses, rounds, complete)


def _losses(
    problem: BenchmarkProblem, method: Method, settings: Settings, threads: int, trial: optuna.Trial | None
) -> tuple[list[float], list[int]]:
    """Loss and rounds of each fold; of the first fold only if the trial is pruned."""
    rows = problems.split(problem, 0)[0][: method.tuning_rows]
    X, y = method.prepare(problem.X).iloc[rows], problem.y[rows]
    losses: list[float] = []
    rounds: list[int] = []
    folds = method.targets.folds(method.search.folds, shuffle=True, random_state=0)
    for train, held_out in folds.split(rows, y):
        limit = {} if method.stopped_fit is None else {method.rounds: method.most_rounds}
        model = method.make({**method.settings, **settings, **limit}, categories(X), 0, threads)
        if method.stopped_fit is None:
            model.fit(X.iloc[train], y[train])
        else:
            rounds.append(method.stopped_fit(model, X.iloc[train], y[train], X.iloc[held_out], y[held_out]))
        losses.append(method.targets.loss(y[held_out], method.targets.predict(model, X.iloc[held_out])))
        if trial is not None:
            trial.report(losses[-1], len(losses))
            if len(losses) == 1 and trial.should_prune():
                break
    return losses, rounds


def _record(
    problem: BenchmarkProblem,
    name: str,
    number: int,
    settings: Any,
    losses: list[float],
    rounds: list[int],
    complete: bool = True,
) -> None:
    row = {
        "task": problem.name,
        "method": name,
        "trial": number,
        "state": (TrialState.COMPLETE if complete else TrialState.PRUNED).name,
        "loss": np.mean(losses),
        "first_loss": losses[0],
        "rounds": round(np.mean(rounds)) if rounds else "",
        "settings": json.dumps(settings),
    }
    results.append("tuning", row)
