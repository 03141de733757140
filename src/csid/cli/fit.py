"""csid fit: from a data file to a model file."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import Exit, UsageError
from csid.cli.estimators import Effort, Estimator, fit, make
from csid.cli.model_path import default_model_path


class FitOptions(NamedTuple):
    """What is fitted, and to how many of the rows."""

    estimator: Annotated[
        Estimator,
        typer.Option(help="bayesian: posterior draws, with predictive intervals; als: alternating least squares."),
    ] = Estimator.bayesian
    effort: Annotated[Effort, typer.Option(help="Sampling effort of the Bayesian estimator.")] = Effort.default
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Estimator parameter, such as rank=16. May be repeated.")
    ] = None
    holdout: Annotated[
        float, typer.Option(help="Fraction of the rows to hold out of the fit and evaluate on.", min=0.0, max=0.9)
    ] = 0.0


def run(
    *,
    data: options.Data,
    target: options.Target,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write. Default: DATA with the extension .csid."),
    ] = None,
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
    from csid.cli.file_rows import FileRows
    from csid.cli.fit_summary import summary
    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.memory import is_large
    from csid.cli.metrics import metric_rows
    from csid.cli.training import Training, TrainingFile, read_in_memory, read_out_of_core
    from csid.cli.whole_numbers import note
    from csid.fitted.metrics import metrics

    terminal = execution.display.terminal()
    path = output or default_model_path(data)
    file = TrainingFile(data, target, columns, text)
    streamed = is_large(data) if out_of_core is None else out_of_core
    training: Training[LabelledRows] | Training[FileRows]
    training = read_out_of_core(file) if streamed else read_in_memory(file)
    terminal.note_table(training.title, training.columns)
    for each in training.notes:
        terminal.note(each)
    rows, held_out = training.rows, None
    if model.holdout:
        if isinstance(rows, FileRows):
            raise UsageError(
                f"--holdout {model.holdout} needs the rows in memory: use --in-memory, or keep test rows in another "
                "file and run csid evaluate on it."
            )
        rows, held_out = rows.split(model.holdout, execution.seed)
    estimator = make(
        model.estimator,
        model.effort,
        training.schema,
        execution,
        model.set_ or [],
        columns.ordinal,
        terminal.shows_progress,
    )
    interrupted = fit(estimator, rows, training.schema, terminal)
    estimator.save(path)
    document: dict[str, Any] = {
        "model": str(path),
        "rows": estimator.n_samples_ if isinstance(rows, FileRows) else len(rows.y),
        "predictors": len(training.schema.columns),
    }
    if held_out is not None:
        found = metrics(estimator, held_out.X, held_out.y, held_out.weights, training.schema.targets, execution.seed)
        document["held_out"] = found
        terminal.table(f"Metrics on {len(held_out.y):,} held-out rows", metric_rows(found))
    terminal.result(document | summary(estimator))
    if (decided := note(estimator.fitted_)) is not None:
        terminal.note(decided)
    terminal.say(
        f"wrote {path}: {document['rows']:,} rows, {document['predictors']} predictors. "
        f"Next: csid predict {path} NEW.csv, csid explain {path}"
    )
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
