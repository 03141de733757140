"""csid report: one page about a model, for a browser."""

from pathlib import Path
from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal


def run(
    model: options.Model,
    data: Annotated[str | None, typer.Argument(help="Rows that the model has not seen, to say how good it is.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; MODEL with the ending .html if not given.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page; the name of MODEL if not given.")] = None,
    missing: options.Missing = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf8",
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Write one HTML page: what MODEL is, how good on DATA, what its predictors do, and a panel to try rows in."""
    from csid import load
    from csid.cli.evaluate import read_rows
    from csid.cli.frames import schema_of

    terminal = Terminal(as_json, quiet)
    fitted: Any = load(model)
    fitted.set_params(n_jobs=threads)
    schema = schema_of(fitted, options.missing_words(missing))
    X, y = None, None
    if data is not None:
        rows = read_rows(schema, data, None, None, delimiter, encoding)
        X, y = rows.X, rows.y if len(schema.targets) > 1 else rows.y[:, 0]
        if rows.without_target:
            terminal.note(f"{rows.without_target:,} rows without a target are left out.")
    path = output or model.with_suffix(".html")
    fitted.report(path, X, y, title=title or model.stem, targets=schema.targets)
    terminal.result({"model": str(model), "report": str(path), "bytes": path.stat().st_size})
    terminal.say(f"wrote {path}: open it in a browser")
