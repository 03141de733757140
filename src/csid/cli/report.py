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
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Write one HTML page: what MODEL is, how good on DATA, its predictors by importance and what each does."""
    from csid import load
    from csid.cli.evaluate import read_rows
    from csid.cli.frames import schema_of
    from csid.files import written_aside
    from csid.report import page, summary
    from csid.scores import figures

    terminal = Terminal(as_json, quiet)
    fitted: Any = load(model)
    fitted.set_params(n_jobs=threads)
    schema = schema_of(fitted, ())
    found = None
    if data is not None:
        rows = read_rows(schema, data)
        found = figures(fitted, rows.X, rows.y, None, schema.targets, seed)
    path = output or model.with_suffix(".html")
    with written_aside(path) as aside:
        aside.write_text(page(summary(fitted, model.stem, schema.targets, found)), encoding="utf-8")
    terminal.result({"model": str(model), "report": str(path), "bytes": path.stat().st_size})
    terminal.say(f"wrote {path}: open it in a browser")
