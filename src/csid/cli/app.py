"""The application: its commands, its version, and how it ends on errors."""

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from csid.cli import datasets, demo, evaluate, explain, export, fit, info, predict, report, tune
from csid.cli.errors import InterruptError, described
from csid.cli.option_groups import flattened

app = typer.Typer(
    help="Canonical system identification: interpretable regression on tables.",
    epilog="Exit codes: 0 success, 1 unexpected error, 2 usage, 3 data, 4 model file, 5 file system, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _interruptible(run: Callable[..., None]) -> Callable[..., None]:
    """A command whose interrupt (Ctrl-C) is an error with a message."""

    @wraps(run)
    def interruptible(*arguments: Any, **options: Any) -> None:
        try:
            run(*arguments, **options)
        except KeyboardInterrupt:
            raise InterruptError from None

    return interruptible


for command in (fit, predict, evaluate, explain, report, info, tune, export, datasets, demo):
    app.command(name=command.__name__.rpartition(".")[2])(_interruptible(flattened(command.run)))


def _version(wanted: bool) -> None:
    if wanted:
        from csid import __version__

        typer.echo(f"csid {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; an error becomes a message and an exit code."""
    try:
        app()
    except Exception as error:
        code, text = described(error)
        if "--debug" in sys.argv:
            traceback.print_exc()
        sys.stderr.write(f"csid: {text}\n")
        sys.exit(code)
