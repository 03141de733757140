"""Options that several commands share: each is declared once, alone or in a group (see `option_groups`)."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from csid.cli.config_file import apply_config
from csid.cli.console import Terminal
from csid.cli.tasks.task import TaskName

Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV or JSON lines (also .gz or .zip), Excel, Parquet or Arrow file, a pattern of files in quotes, a "
        "folder of Parquet files, or - for standard input."
    ),
]
Model = Annotated[Path, typer.Argument(help="Model file written by csid fit.")]
Target = Annotated[list[str], typer.Option(help="Column to predict. May be repeated.")]
Task = Annotated[
    TaskName,
    typer.Option(
        help="regression: targets are numbers; classification: the target holds classes; auto: the target decides."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Values to read as missing, separated by commas (NA,?), instead of the default list. "
        "Empty cells are always missing."
    ),
]
Weight = Annotated[
    str | None, typer.Option(help="Column of sample weights, of any scale: how much a row counts compared with others.")
]
Counts = Annotated[
    bool,
    typer.Option("--counts", help="The weights are counts: whole numbers, how often a row was observed."),
]
Group = Annotated[
    str | None,
    typer.Option(help="Column of group labels: splits keep groups whole, csid evaluate reports metrics per group."),
]
NOT_REPLACED = "{} is unchanged. With --keep-partial, the draws made until an interrupt replace it."
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file of another kind.")]
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
    counts: Counts = False
    group: Group = None
    normalise_text: Annotated[
        bool,
        typer.Option("--normalise-text", help="Merge texts that differ only in case or blanks; new rows likewise."),
    ] = False


class NewRows(NamedTuple):
    """How cells of rows that a model was not fitted to are read."""

    missing: Missing = None
    absent_as_missing: Annotated[
        bool, typer.Option("--absent-as-missing", help="Treat a predictor that DATA lacks as missing in every row.")
    ] = False


class ModelOutput(NamedTuple):
    """Which model file is written, and when it replaces another file."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write. Default: DATA with the extension .csid."),
    ] = None
    force: Force = False
    keep_partial: Annotated[
        bool,
        typer.Option(
            "--keep-partial", help="After an interrupt, replace an existing model by the draws made until then."
        ),
    ] = False


class DecimalMark(StrEnum):
    """The mark between whole numbers and decimals."""

    point = "."
    comma = ","


class CellOptions(NamedTuple):
    """How cells of text are read."""

    decimal: Annotated[
        DecimalMark | None, typer.Option(help="Decimal mark of numbers. Detected by csid fit, and kept with the model.")
    ] = None
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first",
            help="Whether 02/11/2023 is in November or in February. Detected by csid fit, and kept with the model.",
        ),
    ] = None
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse cells that are not of the type of their column, instead of taking them as missing."
        ),
    ] = False


class TextFormat(NamedTuple):
    """How files of text, and workbooks, are read."""

    delimiter: Annotated[str | None, typer.Option(help="Column delimiter of a text file. Detected if not given.")] = (
        None
    )
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a text file, such as latin1. Default: UTF-8, or UTF-16 if detected.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook. Default: the first that has cells.")] = None
    cells: CellOptions = CellOptions()


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
