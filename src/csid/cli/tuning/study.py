"""The file of trials: opened or continued, with a check that it is of the same data and options."""

import json
from pathlib import Path
from typing import Any

import optuna
from optuna.storages.journal import JournalFileBackend

from csid.cli.errors import DataError


def opened(path: Path, about: dict[str, Any], seed: int) -> optuna.Study:
    """The study in a file. about : what its trials have in common; a file of other trials is refused."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(JournalFileBackend(str(path))),
        study_name="csid",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    known = study.user_attrs.get("about")
    if known is None:
        study.set_user_attr("about", about)
        return study
    for name, value in json.loads(json.dumps(about)).items():  # as the file holds it, where tuples are lists
        if known.get(name) != value:
            raise DataError(
                f"{path} holds trials with a different {name}: name another file with --study, or delete this one."
            )
    return study


def completed(study: optuna.Study, parameters: dict[str, Any]) -> list[optuna.trial.FrozenTrial]:
    """The trials of these parameters that were not pruned or interrupted."""
    return [trial for trial in study.trials if trial.value is not None and trial.params == parameters]
