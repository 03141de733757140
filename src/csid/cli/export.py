"""csid export: a model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal
from csid.cli.errors import UsageError


class Format(StrEnum):
    onnx = "onnx"
    python = "python"
    json = "json"


_ENDINGS = {Format.onnx: ".onnx", Format.python: ".py", Format.json: ".json"}


def run(
    model: options.Model,
    to: Annotated[Format, typer.Option(help="ONNX, a Python module that needs nothing else, or JSON.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; MODEL with the ending of the format if not given.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="ONNX: also outputs that hold a new observation with this probability.")
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Write MODEL in a form that other programs predict with."""
    from csid import load
    from csid.export import to_json, to_onnx, to_python
    from csid.files import written_aside

    terminal = Terminal(as_json, quiet)
    if interval is not None and to != Format.onnx:
        raise UsageError(f"--interval is for ONNX; {to.value} holds what intervals of any probability need.")
    fitted: Any = load(model)
    if to == Format.onnx:
        content = to_onnx(fitted, interval=interval).SerializeToString()
    else:
        content = (to_python(fitted) if to == Format.python else to_json(fitted)).encode()
    path = output or model.with_suffix(_ENDINGS[to])
    with written_aside(path) as aside:
        aside.write_bytes(content)
    terminal.result({"model": str(model), "output": str(path), "bytes": len(content)})
    terminal.say(f"wrote {path}: {len(content):,} bytes")
