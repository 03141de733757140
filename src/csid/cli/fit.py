"""csid fit: from a data file to a model file."""

from typing import Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import InterruptError, UsageError
from csid.cli.estimators import Effort, Wish, fit, make
from csid.cli.model_path import default_model_path
from csid.cli.output_path import Kind, check_output
from csid.cli.tasks import Estimator, TaskName


class FitOptions(NamedTuple):
    """What is fitted, and to how many of the rows."""

    task: options.Task = TaskName.auto
    estimator: Annotated[
        Estimator,
        typer.Option(help="bayesian: posterior draws, with predictive intervals; als: alternating least squares."),
    ] = Estimator.bayesian
    effort: Annotated[Effort, typer.Option(help="Sampling effort of the Bayesian estimator.")] = Effort.default
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Estimator parameter, such as rank=16. May be repeated.")
    ] = None
    holdout: Annotated[
        float,
        typer.Option(
            help="Fraction of the rows to evaluate a first fit on; the model is then fitted to all.", min=0.0, max=0.9
        ),
    ] = 0.0


def run(
    *,
    data: options.Data,
    target: options.Target,
    written: options.ModelOutput,
    model: FitOptions,
    columns: options.ColumnOptions,
    out_of_core: Annotated[
        bool | None,
        typer.Option(
            "--out-of-core/--in-memory",
            help="Stream rows and keep encoded ones on disk, or keep all in memory. Default: by file size.",
        ),
    ] = None,
    text: options.TextFormat,
    execution: options.Execution,
) -> None:
    """Fit a model to DATA and save it. Column types are inferred, and shown before the fit."""
    from sklearn.base import clone

    from csid.cli.file_rows import FileRows
    from csid.cli.fit_summary import accuracy_lines, summary
    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.memory import is_large
    from csid.cli.metrics import metric_rows
    from csid.cli.training import Training, TrainingFile, read_in_memory, read_out_of_core
    from csid.cli.whole_numbers import note

    terminal = execution.display.terminal()
    inputs = (data, execution.display.config)
    path = check_output(written.output or default_model_path(data), Kind.model, inputs, written.force)
    file = TrainingFile(data, target, columns, text, model.task)
    streamed = is_large(data) if out_of_core is None else out_of_core
    training: Training[LabelledRows] | Training[FileRows]
    training = read_out_of_core(file) if streamed else read_in_memory(file)
    terminal.note_table(training.title, training.columns)
    terminal.note_all(training.notes)
    rows, schema, task = training.rows, training.schema, training.task
    estimator = make(
        Wish(task, model.estimator, model.effort),
        schema,
        execution,
        model.set_ or [],
        columns.ordinal,
        terminal.shows_progress,
        columns.counts,
    )
    document: dict[str, Any] = {"model": str(path), "task": task.name.value, "predictors": len(schema.columns)}
    document["notes"] = [*training.notes]
    if model.holdout:
        if isinstance(rows, FileRows):
            raise UsageError(
                f"--holdout {model.holdout} needs the rows in memory: use --in-memory, or keep test rows in another "
                "file and run csid evaluate on it."
            )
        trained, held_out = rows.split(model.holdout, execution.seed, by_class=task.labelled)
        trial = clone(estimator)
        if fit(trial, trained, schema):
            raise InterruptError("existing files are unchanged.")
        found = task.metrics(trial, held_out, schema, execution.seed)
        document["held_out"] = found
        title = f"Metrics on {len(held_out.y):,} held-out rows, of a fit to the other {len(trained.y):,}"
        terminal.table(title, metric_rows(found))
        for each in task.more_tables(found):
            terminal.table(*each)
    interrupted = fit(estimator, rows, schema, terminal)
    if interrupted and path.exists() and not written.keep_partial:
        raise InterruptError(options.NOT_REPLACED.format(path))
    odd = rows.odd.notes() if isinstance(rows, FileRows) else []
    terminal.note_all(odd)
    document["notes"] += odd
    estimator.save(path)
    document["rows"] = estimator.n_samples_ if isinstance(rows, FileRows) else len(rows.y)
    document |= summary(estimator, schema.targets)
    terminal.result(document)
    if (decided := note(estimator.fitted_)) is not None:
        terminal.note(decided)
    for line in accuracy_lines(document, task):
        terminal.say(line)
    terminal.say(
        f"wrote {path}: {document['rows']:,} rows, {document['predictors']} predictors. "
        f"Next: csid predict {path} NEW.csv, csid explain {path}"
    )
    if interrupted:
        raise InterruptError(f"{path} holds the draws made until then.")
