"""csid datasets: list the public data sets, describe one, or write one to a file."""

from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal


def run(
    name: Annotated[str | None, typer.Argument(help="Name of a data set; without it, all are listed.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write its predictors and targets to this file, ready for csid fit."),
    ] = None,
    force: options.Force = False,
    target: Annotated[str | None, typer.Option(help="Select one of several targets.")] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """List the data sets, describe NAME, or write it to a file. Data sets are downloaded once, then cached."""
    from csid import datasets
    from csid.cli.output_path import Kind, check_output

    terminal = Terminal(as_json, quiet)
    if output is not None:
        check_output(output, Kind.table, (config,), force)
    if name is None:
        known = [datasets.describe(each) for each in datasets.names()]
        lines = [{"name": each.name, "target": ", ".join(each.target), "title": each.title} for each in known]
        terminal.result({"datasets": lines})
        terminal.table("", lines)
        return
    described = datasets.describe(name)
    document: dict[str, Any] = {
        "name": described.name,
        "title": described.title,
        "task": described.task,
        "target": list(described.target),
        "categorical": list(described.categorical),
        "groups": described.groups,
        "licence": described.licence,
        "citation": described.citation,
        "page": described.page,
    }
    if output is None:
        terminal.result(document)
        terminal.say(str(described))
        return
    if quiet:
        _silence_downloads()
    dataset = datasets.load(name, target=target, library="pyarrow")
    _write(dataset, output)
    terminal.result(document | {"output": output, "rows": len(dataset.y)})
    flags = "".join(f" --target {each!r}" for each in dataset.target)
    flags += "".join(f" --categorical {each!r}" for each in dataset.categorical)
    terminal.say(f"wrote {output}: {len(dataset.y):,} rows. Next: csid fit {output}{flags}")


def _silence_downloads() -> None:
    """pooch logs to standard error what it downloads."""
    import pooch

    pooch.get_logger().setLevel("WARNING")


def _write(dataset: Any, output: str) -> None:
    import pyarrow as pa

    from csid.cli.tables import writer

    columns = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(dataset.X.column_names, dataset.X.columns, strict=True)
    }
    y = dataset.y.reshape(len(dataset.y), -1)
    columns |= {name: pa.array(y[:, j]) for j, name in enumerate(dataset.target)}
    with writer(output) as write:
        write(pa.table(columns))
