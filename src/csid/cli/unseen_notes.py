"""Notes of predict, evaluate and report on absent columns and on values that the model does not know."""

from collections.abc import Sequence
from typing import Any

from csid.cli.console import Terminal
from csid.fitted.unseen import UnseenValues


def note_unseen(terminal: Terminal, absent: Sequence[str], found: Sequence[UnseenValues]) -> dict[str, Any]:
    """Note absent predictors and unseen values. Returns the entries of the JSON document.

    absent : predictors that the file does not have.
    """
    terminal.note_all([f"column {name!r}: not in the file, and missing in every row." for name in absent])
    terminal.note_all([f"{each}." for each in sorted(found, key=lambda each: -each.rows)])
    if any(each.similar for each in found):
        terminal.note("Fit with --normalise-text to merge texts that differ only in case or blanks.")
    return {"absent": list(absent), "unseen": [each.as_json() for each in found]}
