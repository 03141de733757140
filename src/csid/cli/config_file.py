"""`--config`: a TOML file that gives values for options not set on the command line."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from csid.cli.errors import UsageError


def apply_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the entries of a TOML file the defaults of a command; its own table wins over the top level."""
    if path is None or context.resilient_parsing:
        return path
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise UsageError(f"--config {path}: {error}.") from None
    own = content.get(str(context.info_name), {})
    common = {name: value for name, value in content.items() if not isinstance(value, dict)}
    legal = {
        flag.lstrip("-"): str(parameter.name)
        for parameter in context.command.params
        for flag in parameter.opts
        if parameter.name != "config"
    }
    found: dict[str, Any] = {}
    for name, value in {**common, **own}.items():
        if name in legal:
            found[legal[name]] = value
        elif name in own:
            raise UsageError(f"--config {path}: csid {context.info_name} has no option --{name}.")
    context.default_map = {**(context.default_map or {}), **found}
    return path
