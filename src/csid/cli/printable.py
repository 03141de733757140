"""Texts from files as a terminal may show them: names and cells could hold sequences that control it."""

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_DIRECTION = "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_UNPRINTABLE = re.compile(f"[{_CONTROL}{_DIRECTION}]")
_UNPRINTABLE_IN_CELL = re.compile(f"[\t\n{_CONTROL}{_DIRECTION}]")


def printable(text: str) -> str:
    r"""A message, with control characters and marks of writing direction as escapes such as \x1b.

    >>> printable("name\x1b[2J\nnext line")
    'name\\x1b[2J\nnext line'
    """
    return _UNPRINTABLE.sub(_escape, text)


def printable_cell(text: str) -> str:
    """The same for a text of one line, where tabs and line breaks are escapes too."""
    return _UNPRINTABLE_IN_CELL.sub(_escape, text)


def printable_json(document: str) -> str:
    """The same document, with escapes that JSON knows."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
