"""csid tune: a cross-validated search for the parameters of an estimator, which can be interrupted and continued."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import InterruptError, UsageError
from csid.cli.estimators import Effort, Wish, fit, make
from csid.cli.model_path import default_model_path
from csid.cli.output_path import Kind, check_output
from csid.cli.tasks import Estimator, TaskName

if TYPE_CHECKING:
    from optuna import Trial


class Search(NamedTuple):
    """What is searched for, and how long."""

    task: options.Task = TaskName.auto
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
    written: options.ModelOutput,
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
    inputs = (data, execution.display.config)
    path = check_output(written.output or default_model_path(data), Kind.model, inputs, written.force)
    study_path = search.study or path.with_suffix(".tune")
    check_output(study_path, Kind.trials, inputs, option="--study")
    if study_path.resolve() == path.resolve():
        raise UsageError(f"--study {study_path} is also the model file: name another file.")
    training = read_in_memory(TrainingFile(data, target, columns, text, search.task))
    rows, task = training.rows, training.task
    loss = task.loss(rows)
    terminal.note_table(training.title, training.columns)
    terminal.note_all(training.notes)

    def estimator(**parameters: Any) -> Any:
        schema, ordinal, counts = training.schema, columns.ordinal, columns.counts
        made = make(Wish(task, search.estimator, search.effort), schema, execution, ordinal=ordinal, counts=counts)
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
    if columns.counts:
        about["counts"] = True
    study = opened(study_path, about, execution.seed)
    space = SearchSpace(search.estimator, task, has_gaps=any(column.null_count for column in rows.X.columns))
    defaults = space.defaults(estimator())
    if not completed(study, defaults):
        study.enqueue_trial(defaults)

    def error(trial: "Trial") -> float:
        parameters = space.suggest(trial)
        value = cross_validated(estimator(**parameters), rows, loss, search.folds, execution.seed, trial)
        terminal.note(f"trial {trial.number}: {value:.5g} {parameters}")
        return value

    done = sum(trial.state.is_finished() for trial in study.trials)
    if done < search.trials or not completed(study, defaults):
        study.optimize(error, n_trials=max(1, search.trials - done))
    best, default_error = study.best_trial, completed(study, defaults)[0].value
    settings = space.suggest(best)
    model = estimator(**settings)
    interrupted = fit(model, rows, training.schema, terminal)
    if interrupted and path.exists() and not written.keep_partial:
        raise InterruptError(options.NOT_REPLACED.format(path))
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
        f"best of {len(study.trials)} trials: cross-validated {task.tuned} {best.value:.5g}, "
        f"{default_error:.5g} with the defaults"
    )
    terminal.table("", [{"parameter": name, "value": str(value)} for name, value in settings.items()])
    terminal.say(f"wrote {path}: fitted with these parameters to all {len(rows.y):,} rows. Trials: {study_path}")
    if interrupted:
        raise InterruptError(f"{path} holds the draws made until then.")
