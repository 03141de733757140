"""csid tune: a cross-validated search for the parameters of an estimator, which can be interrupted and continued."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import Exit, UsageError
from csid.cli.estimators import Effort, Estimator, fit, make
from csid.cli.model_path import default_model_path

if TYPE_CHECKING:
    from optuna import Trial

    from csid import BayesianCSIDRegressor, CSIDRegressor


class Search(NamedTuple):
    """What is searched for, and how long."""

    estimator: Annotated[Estimator, typer.Option(help="Estimator to tune.")] = Estimator.bayesian
    effort: Annotated[Effort, typer.Option(help="Sampling effort of the Bayesian estimator.")] = Effort.fast
    trials: Annotated[int, typer.Option(help="Number of trials, including those of earlier runs.", min=1)] = 30
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.", min=2)] = 5
    study: Annotated[
        Path | None,
        typer.Option(help="File that keeps the trials. Default: the model file with the extension .tune."),
    ] = None


def run(
    *,
    data: options.Data,
    target: options.Target,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write. Default: DATA with the extension .csid."),
    ] = None,
    search: Search,
    columns: options.ColumnOptions,
    text: options.TextFormat,
    execution: options.Execution,
) -> None:
    """Tune parameters by cross-validation on DATA, then fit with the best ones to all rows.

    The first trial uses the defaults. Every trial is saved when it ends: run the same command again to continue.
    """
    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError("csid tune needs Optuna: pip install 'csid[tune]'.") from None
    from csid.cli.training import TrainingFile, read_in_memory
    from csid.cli.tuning.cross_validation import cross_validated
    from csid.cli.tuning.search_space import SearchSpace
    from csid.cli.tuning.study import completed, opened

    terminal = execution.display.terminal()
    path = output or default_model_path(data)
    training = read_in_memory(TrainingFile(data, target, columns, text))
    rows = training.rows
    terminal.note_table(training.title, training.columns)
    for note in training.notes:
        terminal.note(note)

    def estimator(**parameters: Any) -> "CSIDRegressor | BayesianCSIDRegressor":
        made = make(search.estimator, search.effort, training.schema, execution, ordinal=columns.ordinal)
        made.set_params(**parameters)
        return made

    about = {
        "estimator": search.estimator.value,
        "effort": search.effort.value,
        "folds": search.folds,
        "rows": len(rows.y),
        "seed": execution.seed,
        "schema": training.schema.as_json(),
    }
    study_path = search.study or path.with_suffix(".tune")
    study = opened(study_path, about, execution.seed)
    space = SearchSpace(search.estimator, has_gaps=any(column.null_count for column in rows.X.columns))
    defaults = space.defaults(estimator())
    if not completed(study, defaults):
        study.enqueue_trial(defaults)

    def error(trial: "Trial") -> float:
        parameters = space.suggest(trial)
        value = cross_validated(estimator(**parameters), rows, search.folds, execution.seed, trial)
        terminal.note(f"trial {trial.number}: {value:.5g} {parameters}")
        return value

    done = sum(trial.state.is_finished() for trial in study.trials)
    if done < search.trials or not completed(study, defaults):
        study.optimize(error, n_trials=max(1, search.trials - done))
    best, default_error = study.best_trial, completed(study, defaults)[0].value
    settings = space.suggest(best)
    model = estimator(**settings)
    interrupted = fit(model, rows, training.schema, terminal)
    model.save(path)
    document = {
        "model": str(path),
        "study": str(study_path),
        "trials": len(study.trials),
        "error": best.value,
        "error_of_defaults": default_error,
        "settings": settings,
    }
    terminal.result(document)
    terminal.say(
        f"best of {len(study.trials)} trials: cross-validated RMSE {best.value:.5g} standard deviations of the target, "
        f"{default_error:.5g} with the defaults"
    )
    terminal.table("", [{"parameter": name, "value": str(value)} for name, value in settings.items()])
    terminal.say(f"wrote {path}: fitted with these parameters to all {len(rows.y):,} rows. Trials: {study_path}")
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
