"""The application: its commands, its version, and how errors end it."""

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from csid.cli import datasets, demo, evaluate, explain, export, fit, info, predict, report, tune
from csid.cli.errors import Interrupted, described

app = typer.Typer(
    help="A table, a number to predict, and an answer you can read: canonical system identification.",
    epilog="Exit codes: 0 done, 1 unforeseen, 2 usage, 3 data, 4 model file, 5 files, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _watched(run: Callable[..., None]) -> Callable[..., None]:
    """A command that ends with our own words when it is interrupted."""

    @wraps(run)
    def watched(*arguments: Any, **flags: Any) -> None:
        try:
            run(*arguments, **flags)
        except KeyboardInterrupt:
            raise Interrupted from None

    return watched


for command in (fit, predict, evaluate, explain, report, info, tune, export, datasets, demo):
    app.command(name=command.__name__.rpartition(".")[2])(_watched(command.run))


def _version(wanted: bool) -> None:
    if wanted:
        from csid import __version__

        typer.echo(f"csid {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and end.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; an error is one message and an exit code."""
    try:
        app()
    except Exception as error:
        code, text = described(error)
        if "--debug" in sys.argv:
            traceback.print_exc()
        sys.stderr.write(f"csid: {text}\n")
        sys.exit(code)
