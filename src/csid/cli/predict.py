"""csid predict: predictions for the rows of a file, a part at a time."""

from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal
from csid.cli.errors import UsageError


def run(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="CSV, TSV (also .gz), Parquet or Arrow file by its ending; - for CSV on standard output.",
        ),
    ] = "-",
    interval: Annotated[
        float | None,
        typer.Option(help="Also bounds that hold a new observation with this probability.", min=0.0, max=1.0),
    ] = None,
    std: Annotated[bool, typer.Option("--std", help="Also the standard deviation of a new observation.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns of DATA to pass through, by commas; 'all' for all of them.")
    ] = None,
    absent_as_missing: Annotated[
        bool, typer.Option("--absent-as-missing", help="A predictor that DATA lack is missing in every row.")
    ] = False,
    missing: options.Missing = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf8",
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Predict the rows of DATA with MODEL. Memory does not grow with the number of rows."""
    import pyarrow as pa
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from csid import load
    from csid.cli.frames import arrow_types, predictors, schema_of
    from csid.cli.tables import Reading, parts, writer

    terminal = Terminal(as_json, quiet)
    if as_json and output == "-":
        raise UsageError("--json and predictions both want standard output: name a file with --output.")
    if interval is not None and not 0.0 < interval < 1.0:
        raise UsageError(f"--interval {interval}: give a probability between 0 and 1, such as 0.9.")
    fitted: Any = load(model)
    fitted.set_params(n_jobs=threads)
    if (interval is not None or std) and not hasattr(fitted, "posterior_"):
        raise UsageError(
            f"{model} was fitted by least squares, and has no intervals: fit it with --estimator bayesian."
        )
    schema = schema_of(fitted, options.missing_words(missing))
    kept = options.words(keep)
    types = arrow_types(schema)
    absent = frozenset(types) if absent_as_missing else frozenset()
    reading = Reading(
        schema.missing, delimiter, encoding, types, absent, also=("*",) if kept == ["all"] else tuple(kept)
    )
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
        console=terminal.notes,
        disable=not terminal.shows_bars,
    )
    rows = 0
    with bar, writer(output) as write:
        task = bar.add_task("", total=None)
        for part in parts(data, reading):
            names = [name for name in part.column_names if kept == ["all"] or name in kept]
            columns = {name: part[name] for name in names}
            columns |= predicted(fitted, predictors(part, schema), schema.targets, interval, std)
            write(pa.table(columns))
            rows += part.num_rows
            bar.update(task, completed=rows)
    terminal.result({"model": str(model), "data": data, "output": output, "rows": rows})
    if output != "-":
        terminal.say(f"wrote {output}: {rows:,} predictions")


def predicted(model: Any, X: Any, targets: tuple[str, ...], interval: float | None, std: bool) -> dict[str, Any]:
    """The columns that are asked for: `prediction`, `lower`, `upper`, `std`; of several targets, with their names."""
    import numpy as np

    if X.num_rows == 0:
        names = ["prediction", *(["std"] if std else []), *(["lower", "upper"] if interval is not None else [])]
        values = dict.fromkeys(names, np.empty((0, len(targets))))
    else:
        values = {"prediction": model.predict(X)}
        if std:
            values["std"] = model.predict(X, return_std=True)[1]
        if interval is not None:
            values["lower"], values["upper"] = model.predict_interval(X, interval)
    columns = {}
    for name, array in values.items():
        for j, target in enumerate(targets):
            column = array.reshape(len(array), len(targets))[:, j]
            columns[name if len(targets) == 1 else f"{name}_{target}"] = np.ascontiguousarray(column)
    return columns
