"""csid export: a model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from csid.cli import options
from csid.cli.errors import UsageError


class Format(StrEnum):
    onnx = "onnx"
    python = "python"
    json = "json"


_EXTENSIONS = {Format.onnx: ".onnx", Format.python: ".py", Format.json: ".json"}


def run(
    *,
    model: options.Model,
    to: Annotated[Format, typer.Option(help="ONNX, a Python module without dependencies, or JSON.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Default: MODEL with the extension of the format."),
    ] = None,
    force: options.Force = False,
    interval: Annotated[
        float | None,
        typer.Option(help="ONNX only: also output the bounds of predictive intervals of this probability."),
    ] = None,
    display: options.Display,
) -> None:
    """Export MODEL in a form that other programs predict with."""
    from csid import load
    from csid.cli.output_path import Kind, check_output
    from csid.export import to_json, to_onnx, to_python
    from csid.files import atomic_file

    terminal = display.terminal()
    if interval is not None and to != Format.onnx:
        raise UsageError(f"--interval is only for ONNX: a {to.value} export computes intervals of any probability.")
    path = output or model.with_suffix(_EXTENSIONS[to])
    check_output(path, Kind[to.value], (model, display.config), force)
    estimator = load(model)
    if to == Format.onnx:
        content = to_onnx(estimator, interval=interval).SerializeToString()
    else:
        content = (to_python(estimator) if to == Format.python else to_json(estimator)).encode()
    schema = estimator.schema_
    if to == Format.onnx and schema is not None and schema.normalise_text:
        terminal.note(
            "The model merges texts that differ in case or blanks. ONNX does not: give it texts in lower case."
        )
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    terminal.result({"model": str(model), "output": str(path), "bytes": len(content)})
    terminal.say(f"wrote {path}: {len(content):,} bytes")
