"""csid report: a page about a model, for a browser."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from csid.cli import options


class Page(NamedTuple):
    """The page to write."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write. Default: MODEL with the extension .html.")
    ] = None
    force: options.Force = False
    title: Annotated[str | None, typer.Option(help="Title of the page. Default: the name of MODEL.")] = None


def run(
    *,
    model: options.Model,
    data: Annotated[str | None, typer.Argument(help="Rows that the model was not fitted to, for its metrics.")] = None,
    page: Page,
    new_rows: options.NewRows,
    text: options.TextFormat,
    threads: options.Threads = -1,
    display: options.Display,
) -> None:
    """Write an HTML report on MODEL: metrics on DATA, effects of its predictors, and a panel for what-if rows."""
    from csid import load
    from csid.cli.labelled_rows import read_labelled
    from csid.cli.model_schema import known_labels, schema_of
    from csid.cli.output_path import Kind, check_output
    from csid.cli.unseen_notes import note_unseen

    terminal = display.terminal()
    inputs = (model, data, display.config)
    path = check_output(page.output or model.with_suffix(".html"), Kind.page, inputs, page.force)
    estimator = load(model)
    estimator.set_params(n_jobs=threads)
    schema = schema_of(estimator.fitted_, options.missing_values(new_rows.missing), text.cells)
    rows = None
    if data is not None:
        classes = known_labels(estimator.fitted_)
        rows = read_labelled(data, schema, text, absent_as_missing=new_rows.absent_as_missing, classes=classes)
    terminal.note_all([] if rows is None else rows.notes)
    X, y = (None, None) if rows is None else (rows.X, rows.y)
    estimator.report(path, X, y, title=page.title or model.stem, targets=schema.targets)
    unknown = {} if rows is None else note_unseen(terminal, rows.absent, estimator.unseen_values(rows.X))
    terminal.result({"model": str(model), "report": str(path), "bytes": path.stat().st_size, **unknown})
    terminal.say(f"wrote {path}: open it in a browser")
