"""Options that several commands share: each is declared once, alone or in a group (see `option_groups`)."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from csid.cli.config_file import apply_config
from csid.cli.console import Terminal

Data = Annotated[
    str,
    typer.Argument(
        help="CSV or TSV (also .gz), Parquet or Arrow file, a pattern of files in quotes, a folder of Parquet files, "
        "or - for standard input."
    ),
]
Model = Annotated[Path, typer.Argument(help="Model file written by csid fit.")]
Target = Annotated[list[str], typer.Option(help="Column to predict. May be repeated.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Values to read as missing, separated by commas (NA,?), instead of the default list. "
        "Empty cells are always missing."
    ),
]
Weight = Annotated[str | None, typer.Option(help="Column of sample weights.")]
Group = Annotated[
    str | None,
    typer.Option(help="Column of group labels: splits keep groups whole, csid evaluate reports metrics per group."),
]
Threads = Annotated[int, typer.Option(help="Number of threads; -1 uses all cores.")]
Seed = Annotated[int, typer.Option(help="Random seed: the same seed gives the same model.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes and no progress bars.")]
Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file of options by name, at the top level or in a table named after the command.",
        is_eager=True,
        callback=apply_config,
        exists=True,
        dir_okay=False,
    ),
]


class ColumnOptions(NamedTuple):
    """What the columns of a training file are."""

    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column (or pattern of columns) to treat as categorical. May be repeated."),
    ] = None
    ordinal: Annotated[
        list[str] | None,
        typer.Option(
            help="Text column with ordered values: size=S,M,L. Column of few whole numbers to keep as numbers: floor. "
            "May be repeated."
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Column (or pattern of columns) not to use as a predictor. May be repeated."),
    ] = None
    missing: Missing = None
    weight: Weight = None
    group: Group = None


class TextFormat(NamedTuple):
    """How text files are written."""

    delimiter: Annotated[str | None, typer.Option(help="Column delimiter of a text file. Detected if not given.")] = (
        None
    )
    encoding: Annotated[str, typer.Option(help="Encoding of a text file.")] = "utf8"


class Display(NamedTuple):
    """What a command shows, and its --config."""

    json: Json = False
    quiet: Quiet = False
    config: Config = None

    def terminal(self) -> Terminal:
        return Terminal(self.json, self.quiet)


class Execution(NamedTuple):
    """How a command that computes runs, and what it shows."""

    seed: Seed = 0
    threads: Threads = -1
    display: Display = Display()


def split_by_commas(given: list[str] | None) -> list[str]:
    """The values of an option that may be repeated, and takes several values separated by commas."""
    return [value for text in given or [] for value in text.split(",")]


def missing_values(given: list[str] | None) -> list[str]:
    """The values of --missing, with the empty cell; none if it is not given."""
    return list(dict.fromkeys([*split_by_commas(given), ""])) if given else []
