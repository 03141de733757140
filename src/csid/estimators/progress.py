"""Progress bars, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

OnSweep = Callable[[float, float | None], None]
Describe = Callable[[float], str]


def _progress(shown: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[fit]}"),
        console=Console(stderr=True),
        disable=not shown,
    )


@contextmanager
def chain_progress(
    shown: bool, describe: Describe, chains: int, sweeps: int, label: str
) -> Iterator[Callable[[float], None]]:
    """One bar over the sweeps of all chains. Yields a function to call with the mean squared residual of each sweep.

    describe : the residual in words.
    """
    with _progress(shown) as progress:
        task = progress.add_task(
            f"{label}: {chains}", total=chains * sweeps, fit="(compiling on first use, a few seconds)"
        )

        def advance(residual: float) -> None:
            progress.update(task, advance=1, fit=describe(residual))

        yield advance


@contextmanager
def row_progress(shown: bool, rows: int, label: str) -> Iterator[Callable[[int], None]]:
    """One bar over rows. Yields a function to call with the number of rows of each batch."""
    with _progress(shown) as progress:
        task = progress.add_task(label, total=rows, fit="")
        yield lambda count: progress.update(task, advance=count)


@contextmanager
def sweep_progress(shown: bool, describe: Describe, sweeps: int) -> Iterator[Callable[[str], OnSweep]]:
    """Yields a function that opens one labelled bar per run, and returns a function to call after each sweep.

    describe : the error on held-out rows in words.
    """
    progress = _progress(shown)

    def start(description: str) -> OnSweep:
        task = progress.add_task(description, total=sweeps, fit="(compiling on first use, a few seconds)")

        def on_sweep(objective: float, held_out: float | None) -> None:
            text = f"objective {objective:.5g}" + ("" if held_out is None else f", {describe(held_out)}")
            progress.update(task, advance=1, fit=text)

        return on_sweep

    with progress:
        yield start
        for task in progress.tasks:  # runs that stopped early are complete too
            progress.update(task.id, total=task.completed)
