"""The application: its commands, its version, and how it ends on errors."""

import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from csid.cli import datasets, demo, evaluate, explain, export, fit, info, predict, report, tune
from csid.cli.errors import Exit, InterruptError, described
from csid.cli.option_groups import flattened
from csid.cli.printable import printable
from csid.cli.signals import Interrupts

app = typer.Typer(
    help="Canonical system identification: interpretable regression and classification on tables.",
    epilog="Exit codes: 0 success, 1 unexpected error, 2 usage, 3 data, 4 model file, 5 file system, "
    "130 interrupted, 143 terminated.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _ending_well(run: Callable[..., None]) -> Callable[..., None]:
    """A command whose interrupt is an error with a message, and that ends quietly when its reader does."""

    @wraps(run)
    def ending_well(*arguments: Any, **options: Any) -> None:
        interrupts = Interrupts()
        try:
            with interrupts.caught():
                run(*arguments, **options)
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise interrupts.error("existing files are unchanged.") from None
        except InterruptError as error:
            raise interrupts.error(str(error)) from None
        except BrokenPipeError:
            _close_standard_output()
            raise typer.Exit(Exit.PIPE_CLOSED) from None

    return ending_well


def _close_standard_output() -> None:
    """Let the interpreter flush what is left to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


for command in (fit, predict, evaluate, explain, report, info, tune, export, datasets, demo):
    app.command(name=command.__name__.rpartition(".")[2])(_ending_well(flattened(command.run)))


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
        sys.stderr.write(f"csid: {printable(text)}\n")
        sys.exit(code)
