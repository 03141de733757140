"""csid report: a page about a model, for a browser."""

from pathlib import Path
from typing import Annotated

import typer

from csid.cli import options


def run(
    *,
    model: options.Model,
    data: Annotated[str | None, typer.Argument(help="Rows that the model was not fitted to, for its metrics.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write. Default: MODEL with the extension .html.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page. Default: the name of MODEL.")] = None,
    cells: options.NewRows,
    text: options.TextFormat,
    threads: options.Threads = -1,
    display: options.Display,
) -> None:
    """Write an HTML report on MODEL: metrics on DATA, effects of its predictors, and a panel for what-if rows."""
    from csid import load
    from csid.cli.labelled_rows import read_labelled
    from csid.cli.model_schema import schema_of
    from csid.cli.unseen_notes import note_unseen

    terminal = display.terminal()
    estimator = load(model)
    estimator.set_params(n_jobs=threads)
    schema = schema_of(estimator.fitted_, options.missing_values(cells.missing))
    rows = None if data is None else read_labelled(data, schema, text, absent_as_missing=cells.absent_as_missing)
    if rows is not None and rows.note:
        terminal.note(rows.note)
    X, y = (None, None) if rows is None else (rows.X, rows.y)
    path = output or model.with_suffix(".html")
    estimator.report(path, X, y, title=title or model.stem, targets=schema.targets)
    unknown = {} if rows is None else note_unseen(terminal, rows.absent, estimator.unseen_values(rows.X))
    terminal.result({"model": str(model), "report": str(path), "bytes": path.stat().st_size, **unknown})
    terminal.say(f"wrote {path}: open it in a browser")
