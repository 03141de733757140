"""JSON lines: an object a row. An array of objects is read as well."""

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from csid.cli.errors import DataError

Row = dict[str, Any]


def looks_like_json(text: io.BufferedReader) -> bool:
    start = text.peek(64).lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] == b"{")


def json_rows(text: io.BufferedReader, label: str, chunk: int | None) -> Iterator[list[Row]]:
    """The rows, some at a time; chunk : None gives all at once."""
    rows = _rows(text, label)
    while found := list(islice(rows, chunk)):
        yield found


def _rows(text: io.BufferedReader, label: str) -> Iterator[Row]:
    if text.peek(64).lstrip()[:1] == b"[":
        yield from _array(text, label)
        return
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f'{label}: line {number} is not JSON ({error}); expected one object a line, such as {{"a": 1}}.'
            ) from None
        if not isinstance(row, dict):
            raise DataError(f'{label}: line {number} is not a JSON object, such as {{"a": 1}}.')
        yield row


def _array(text: io.BufferedReader, label: str) -> Iterator[Row]:
    try:
        rows = json.loads(text.read())
    except ValueError as error:
        raise DataError(f"{label} is not JSON: {error}.") from None
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f'{label}: element {number} of the array is not an object, such as {{"a": 1}}.')
        yield row
