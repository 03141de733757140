"""csid tune: a cross-validated search for the settings of an estimator, which can be interrupted and resumed."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal
from csid.cli.errors import DataError, Exit, UsageError
from csid.cli.fit import Effort, Estimator, make, model_path, train


def run(
    data: options.Data,
    target: options.Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The model file; DATA with the ending .csid if not given.")
    ] = None,
    estimator: Annotated[Estimator, typer.Option(help="Whose settings are searched for.")] = Estimator.bayesian,
    effort: Annotated[Effort, typer.Option(help="Of the Bayesian estimator, in every trial.")] = Effort.fast,
    trials: Annotated[int, typer.Option(help="Settings to try, those of earlier runs included.", min=1)] = 30,
    folds: Annotated[int, typer.Option(help="Parts of the rows, each predicted from the others.", min=2)] = 5,
    study: Annotated[
        Path | None, typer.Option(help="Where the trials are kept; the model file with the ending .tune if not given.")
    ] = None,
    categorical: options.Categorical = None,
    ordinal: options.Ordinal = None,
    ignore: options.Ignore = None,
    missing: options.Missing = None,
    weight: options.Weight = None,
    group: options.Group = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf8",
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Search for settings that predict best, by cross-validation on DATA, then fit with them on all rows.

    The first trial is the defaults. Every trial is kept as it ends: run the same command again to go on.
    """
    try:
        import optuna
    except ModuleNotFoundError:
        raise UsageError("csid tune needs Optuna: pip install 'csid[tune]'.") from None
    from csid.cli.training import Wanted, read_training

    terminal = Terminal(as_json, quiet)
    path = output or model_path(data)
    wanted = Wanted(data, target, (missing, delimiter, encoding), categorical, ordinal, ignore, weight, group)
    training = read_training(wanted)
    terminal.note_table(f"{data}: {len(training.y):,} rows", training.columns)
    given: tuple[Any, ...] = (estimator, effort, [], training, seed, threads, False)
    about = {
        "estimator": estimator.value,
        "effort": effort.value,
        "folds": folds,
        "rows": len(training.y),
        "seed": seed,
        "schema": training.schema.as_json(),
    }
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    place = study or path.with_suffix(".tune")
    search = _opened(optuna, place, about, seed)
    defaults = _defaults(make(*given), estimator, training)
    if not _finished(search, defaults):
        search.enqueue_trial(defaults)

    def error(trial: Any) -> float:
        settings = _settings(estimator, trial, training)
        value = _cross_validated(optuna, make(*given).set_params(**settings), training, folds, seed, trial)
        terminal.note(f"trial {trial.number}: {value:.5g} {settings}")
        return value

    done = sum(trial.state.is_finished() for trial in search.trials)
    if done < trials or not _finished(search, defaults):
        search.optimize(error, n_trials=max(1, trials - done))
    best = search.best_trial
    settings = _settings(estimator, best, training)
    model = make(*given).set_params(**settings)
    interrupted = train(model, training, terminal)
    model.schema_ = training.schema
    model.save(path)
    first = _finished(search, defaults)[0].value
    document = {
        "model": str(path),
        "study": str(place),
        "trials": len(search.trials),
        "error": best.value,
        "error_of_defaults": first,
        "settings": settings,
    }
    terminal.result(document)
    terminal.say(f"best of {len(search.trials)} trials: error {best.value:.5g}, with the defaults {first:.5g}")
    terminal.table("", [{"setting": name, "value": str(value)} for name, value in settings.items()])
    terminal.say(f"wrote {path}, fitted with these on all {len(training.y):,} rows; the trials are in {place}")
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)


def _opened(optuna: Any, path: Path, about: dict[str, Any], seed: int) -> Any:
    """The study of a file; one of other data or other flags is refused."""
    from optuna.storages.journal import JournalFileBackend

    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    study = optuna.create_study(
        storage=storage,
        study_name="csid",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    known = study.user_attrs.get("about")
    if known is None:
        study.set_user_attr("about", about)
    else:
        for name, value in about.items():
            if known.get(name) != _as_kept(value):
                raise DataError(
                    f"{path} holds trials with another {name}: name another file with --study, or delete this one."
                )
    return study


def _as_kept(value: Any) -> Any:
    """As it comes back from the file of a study."""
    import json

    return json.loads(json.dumps(value))


_LEVELS = ("auto", "16", "32", "64", "128", "255")


def _settings(estimator: Estimator, trial: Any, training: Any) -> dict[str, Any]:
    """What a trial proposes; the defaults are among it."""
    levels = trial.suggest_categorical("levels", _LEVELS)
    settings = {"levels": levels if levels == "auto" else int(levels)}
    if estimator == Estimator.als:
        settings |= {
            "rank": trial.suggest_int("rank", 2, 50, log=True),
            "smoothness": trial.suggest_float("smoothness", 1e-4, 10.0, log=True),
            "ridge": trial.suggest_float("ridge", 1e-7, 1e-2, log=True),
            "smoothness_order": trial.suggest_categorical("smoothness_order", [1, 2]),
        }
        if _has_gaps(training):
            settings["missing"] = trial.suggest_categorical("missing", ["marginalize", "level"])
        return settings
    order = trial.suggest_categorical("smoothness_order", ["auto", "1", "2"])
    return settings | {
        "rank": trial.suggest_int("rank", 4, 64, log=True),
        "smoothness_order": order if order == "auto" else int(order),
        "noise": trial.suggest_categorical("noise", ["normal", "student"]),
    }


def _defaults(model: Any, estimator: Estimator, training: Any) -> dict[str, Any]:
    """What the estimator does by itself, as a trial proposes it."""
    names = ["levels", "rank", "smoothness_order"]
    names += ["smoothness", "ridge"] if estimator == Estimator.als else ["noise"]
    if estimator == Estimator.als and _has_gaps(training):
        names.append("missing")
    parameters = model.get_params()
    return {name: parameters[name] for name in names}


def _has_gaps(training: Any) -> bool:
    return any(column.null_count for column in training.X.columns)


def _finished(search: Any, settings: dict[str, Any]) -> list[Any]:
    """The trials of these settings that came to their end."""
    return [trial for trial in search.trials if trial.value is not None and trial.params == settings]


def _cross_validated(optuna: Any, model: Any, training: Any, folds: int, seed: int, trial: Any) -> float:
    """Root of the mean squared error, of each target in units of its standard deviation."""
    import numpy as np
    from sklearn.model_selection import GroupKFold, KFold

    y = training.y.reshape(len(training.y), -1)
    scale = np.where(y.std(axis=0) > 0.0, y.std(axis=0), 1.0)
    if training.groups is None:
        parts = KFold(folds, shuffle=True, random_state=seed).split(y)
    else:
        parts = GroupKFold(folds, shuffle=True, random_state=seed).split(y, groups=training.groups)
    errors: list[float] = []
    for fold, (rows, held_out) in enumerate(parts):
        part = training.take(rows)
        with warnings.catch_warnings(action="ignore"):
            model.fit(part.X, part.y, sample_weight=part.weights)
        predicted = model.predict(training.X.take(held_out)).reshape(len(held_out), -1)
        errors.append(float(np.mean(((y[held_out] - predicted) / scale) ** 2)))
        trial.report(float(np.sqrt(np.mean(errors))), fold)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.sqrt(np.mean(errors)))
