"""Where a command writes: results to standard output, as tables or one JSON document; notes to standard error."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from csid.cli.printable import printable, printable_cell, printable_json

_MOST_NOTES = 20


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # the application ends quietly; rich would exit with code 1


class Terminal:
    """The output of a command.

    json : the result is one JSON document, and nothing else is on standard output; quiet : no notes, no progress bars.
    """

    def __init__(self, json: bool, quiet: bool) -> None:
        self.json, self.quiet = json, quiet
        self._out = _Console(highlight=False, soft_wrap=True)
        self._notes = _Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and self._notes.is_terminal

    @property
    def notes(self) -> Console:
        return self._notes

    def note(self, text: str) -> None:
        """Write a message to standard error, as a sentence that begins with a capital."""
        if not self.quiet:
            self._notes.print(printable(text[:1].upper() + text[1:]), markup=False)

    def note_all(self, texts: Sequence[str]) -> None:
        """Write messages to standard error; of very many, only the first."""
        for text in texts[:_MOST_NOTES]:
            self.note(text)
        if len(texts) > _MOST_NOTES:
            self.note(f"… and {len(texts) - _MOST_NOTES:,} more such notes.")

    def note_table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a table to standard error."""
        if not self.quiet:
            self._notes.print(_table(title, rows))

    def result(self, document: Mapping[str, Any]) -> None:
        """Write the result as JSON, if asked for; without --json the caller writes tables and lines."""
        if self.json:
            sys.stdout.write(printable_json(json.dumps(_finite(document), ensure_ascii=False, indent=2)) + "\n")

    def say(self, text: str) -> None:
        """Write a line of the result, unless it is JSON."""
        if not self.json:
            self._out.print(printable(text), markup=False)

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a table of the result, unless it is JSON."""
        if not self.json:
            self._out.print(_table(title, rows))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    shown = Table(title=_shown(title) or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        is_text = all(isinstance(row.get(name), str | None) for row in rows)
        shown.add_column(_shown(name), justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(_shown(cell(row.get(name))) for name in names))
    return shown


def cell(value: Any) -> str:
    """A value in a table, with four significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return str(value)


def _shown(text: str) -> str:
    """A text in a table, where rich would read brackets as markup."""
    return escape(printable_cell(text))


def _finite(value: Any) -> Any:
    """A value as JSON has it: None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Iterable):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
