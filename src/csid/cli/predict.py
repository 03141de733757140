"""csid predict: predictions for the rows of a file, read and written part by part."""

from typing import Annotated, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import UsageError
from csid.cli.output_columns import OutputColumns
from csid.cli.tasks import task_of


class TableOutput(NamedTuple):
    """Which file the predictions are written to."""

    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="CSV, TSV (also .gz), Parquet or Arrow file, by its extension; - for CSV on standard output.",
        ),
    ] = "-"
    force: options.Force = False


def run(
    *,
    model: options.Model,
    data: options.Data,
    written: TableOutput,
    wanted: OutputColumns,
    new_rows: options.NewRows,
    text: options.TextFormat,
    threads: options.Threads = -1,
    display: options.Display,
) -> None:
    """Predict the rows of DATA with MODEL. Memory does not grow with the number of rows."""
    import pyarrow as pa
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from csid import load
    from csid.cli.cells import OddCells
    from csid.cli.columns import predictors
    from csid.cli.model_schema import schema_of
    from csid.cli.output_path import Kind, check_output
    from csid.cli.tables import Reading, parts, writer
    from csid.cli.unseen_notes import note_unseen
    from csid.fitted.unseen import UnseenCounter

    terminal = display.terminal()
    interval, output = wanted.interval, written.output
    if output != "-":
        check_output(output, Kind.table, (model, data, display.config), written.force)
    if display.json and output == "-":
        raise UsageError("--json and the predictions would both go to standard output: name a file with --output.")
    if interval is not None and not 0.0 < interval < 1.0:
        raise UsageError(f"--interval {interval}: give a probability between 0 and 1, such as 0.9.")
    estimator = load(model)
    estimator.set_params(n_jobs=threads)
    if (interval is not None or wanted.std) and estimator.fitted_.posterior is None:
        raise UsageError(
            f"{model} was fitted by least squares and has no predictive distribution. "
            "For intervals, fit with --estimator bayesian."
        )
    task = task_of(estimator.fitted_)
    task.check_wanted(wanted)
    schema = schema_of(estimator.fitted_, options.missing_values(new_rows.missing), text.cells)
    kept = wanted.kept
    names = [column.name for column in schema.columns]
    odd = OddCells(text.cells.strict)
    reading = Reading(
        schema.missing,
        text.delimiter,
        text.encoding,
        text.sheet,
        columns=names,
        optional=frozenset(names) if new_rows.absent_as_missing else frozenset(),
        also=("*",) if kept == ["all"] else tuple(kept),
    )
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
        console=terminal.notes,
        disable=not terminal.shows_progress,
    )
    unseen, absent = UnseenCounter(estimator.encoding_), set(names)
    with bar, writer(output) as write:
        rows_done = bar.add_task("", total=None)
        for part in parts(data, reading):
            columns = {name: part[name] for name in part.column_names if kept == ["all"] or name in kept}
            X = predictors(part, schema, odd, unseen.n_rows)
            odd.refuse_unreadable()
            columns |= task.predicted(estimator, X, schema.targets, wanted, tuple(columns))
            write(pa.table(columns))
            unseen.update(X, part.num_rows)
            absent -= set(part.column_names)
            bar.update(rows_done, completed=unseen.n_rows)
    terminal.note_all(odd.notes())
    unknown = note_unseen(terminal, [name for name in names if name in absent], unseen.found())
    rows = unseen.n_rows
    terminal.result({"model": str(model), "data": data, "output": output, "rows": rows, **unknown})
    if output != "-":
        terminal.say(f"wrote {output}: {rows:,} predictions")
