"""Flags that several commands share, and the config file that can stand for any of them."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from csid.cli.errors import UsageError


def _configured(context: typer.Context, path: Path | None) -> Path | None:
    """Take the entries of a TOML file for flags that are not given: those of the command's table, then the others."""
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
            raise UsageError(f"--config {path}: csid {context.info_name} has no flag --{name}.")
    context.default_map = {**(context.default_map or {}), **found}
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file with flags by name, at its top or in a table named after the command.",
        is_eager=True,
        callback=_configured,
        exists=True,
        dir_okay=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress bars.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random: the same seed gives the same model.", min=0)]
Threads = Annotated[int, typer.Option(help="Threads; -1 for one per core.")]

Data = Annotated[
    str,
    typer.Argument(
        help="CSV or TSV (also .gz), Parquet or Arrow file, a pattern of files in quotes, or - for standard input."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file, as csid fit writes it.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Words that stand for a missing cell, as an empty one does, by commas (NA,?); instead of the usual ones."
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="Between the cells of a text file; found out if not given.")]
Encoding = Annotated[str, typer.Option(help="Of a text file.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="A column (or pattern of columns) of categories, though of numbers. May repeat."),
]
Ordinal = Annotated[
    list[str] | None, typer.Option(help="A column of words that have an order: size=S,M,L. May repeat.")
]
Ignore = Annotated[list[str] | None, typer.Option(help="A column (or pattern) that is no predictor. May repeat.")]
Target = Annotated[list[str], typer.Option(help="The column to predict; may repeat.")]
Weight = Annotated[str | None, typer.Option(help="The column with the weights of the rows.")]
Group = Annotated[str | None, typer.Option(help="The column that says which rows belong together.")]


def words(given: list[str] | None) -> list[str]:
    """Flags that repeat, and hold several words by commas."""
    return [word for text in given or [] for word in text.split(",")]


def missing_words(given: list[str] | None) -> list[str]:
    """Words for a missing cell, the empty one among them; none where the flag is not given."""
    return list(dict.fromkeys([*words(given), ""])) if given else []
