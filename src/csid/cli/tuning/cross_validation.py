"""The cross-validated loss of an estimator, stopped early when it is worse than that of earlier trials."""

import warnings
from typing import Any

import optuna

from csid.cli.labelled_rows import LabelledRows
from csid.cli.tuning.losses import Loss


def cross_validated(model: Any, rows: LabelledRows, loss: Loss, folds: int, seed: int, trial: optuna.Trial) -> float:
    """The loss over all folds; groups stay whole."""
    losses: list[float] = []
    with warnings.catch_warnings(action="ignore"):  # also of classes with fewer rows than folds
        for fold, (train, held_out) in enumerate(loss.splits(folds, seed)):
            part = rows.take(train)
            model.fit(part.X, part.y, sample_weight=part.weights)
            losses.append(loss.of(model, held_out))
            trial.report(loss.total(losses), fold)
            if trial.should_prune():
                raise optuna.TrialPruned
    return loss.total(losses)
