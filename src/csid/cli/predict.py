"""csid predict: predictions for the rows of a file, read and written part by part."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import UsageError

if TYPE_CHECKING:
    from csid import BayesianCSIDRegressor, CSIDRegressor


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


class OutputColumns(NamedTuple):
    """Which columns are written beside the predictions."""

    interval: Annotated[
        float | None,
        typer.Option(help="Also write the bounds of predictive intervals of this probability.", min=0.0, max=1.0),
    ] = None
    std: Annotated[
        bool, typer.Option("--std", help="Also write the standard deviation of the predictive distribution.")
    ] = False
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns of DATA to copy, separated by commas; 'all' copies all of them.")
    ] = None


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
    schema = schema_of(estimator.fitted_, options.missing_values(new_rows.missing), text.cells)
    kept = options.split_by_commas(wanted.keep)
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
        task = bar.add_task("", total=None)
        for part in parts(data, reading):
            columns = {name: part[name] for name in part.column_names if kept == ["all"] or name in kept}
            X = predictors(part, schema, odd, unseen.n_rows)
            odd.refuse_unreadable()
            columns |= _predicted(estimator, X, schema.targets, wanted)
            write(pa.table(columns))
            unseen.update(X, part.num_rows)
            absent -= set(part.column_names)
            bar.update(task, completed=unseen.n_rows)
    terminal.note_all(odd.notes())
    unknown = note_unseen(terminal, [name for name in names if name in absent], unseen.found())
    rows = unseen.n_rows
    terminal.result({"model": str(model), "data": data, "output": output, "rows": rows, **unknown})
    if output != "-":
        terminal.say(f"wrote {output}: {rows:,} predictions")


def _predicted(
    model: "CSIDRegressor | BayesianCSIDRegressor", X: Any, targets: tuple[str, ...], wanted: OutputColumns
) -> dict[str, Any]:
    """The columns `prediction`, `std`, `lower` and `upper`; of several targets, with their names appended."""
    import numpy as np

    from csid import BayesianCSIDRegressor

    values: dict[str, Any]
    if X.num_rows == 0:
        names = ["prediction", *(["std"] if wanted.std else [])]
        names += ["lower", "upper"] if wanted.interval is not None else []
        values = dict.fromkeys(names, np.empty((0, len(targets))))
    else:
        values = {"prediction": model.predict(X)}
        if isinstance(model, BayesianCSIDRegressor):
            if wanted.std:
                values["std"] = model.predict(X, return_std=True)[1]
            if wanted.interval is not None:
                values["lower"], values["upper"] = model.predict_interval(X, wanted.interval)
    columns = {}
    for name, array in values.items():
        for j, target in enumerate(targets):
            column = array.reshape(len(array), len(targets))[:, j]
            columns[name if len(targets) == 1 else f"{name}_{target}"] = np.ascontiguousarray(column)
    return columns
