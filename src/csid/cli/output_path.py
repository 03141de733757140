"""Where a command may write: never over its input or a special file, over a file of another kind only with --force."""

import os
import re
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from csid.cli.errors import FilesError, UsageError
from csid.files import check_replaceable

_START = 4096
_INDEX_BYTES = 1 << 26
_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)\b", re.IGNORECASE)


class Kind(StrEnum):
    """What a command writes."""

    model = "a model"
    table = "a table"
    page = "an HTML page"
    onnx = "an ONNX model"
    python = "a Python module"
    json = "a JSON document"
    trials = "trials of csid tune"
    other = "a file of another kind"


_EXTENSIONS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".dat", ""), Kind.table),
    **dict.fromkeys((".html", ".htm"), Kind.page),
    ".onnx": Kind.onnx,
    ".py": Kind.python,
    ".json": Kind.json,
}


def check_output(
    output: str | Path,
    kind: Kind,
    inputs: Iterable[str | Path | None],
    force: bool = False,
    option: str = "--output",
) -> Path:
    """The path of an output file, checked before the work begins.

    inputs : DATA, model and configuration files of the same command, which are never replaced.
    force : whether a file of another kind may be replaced; option : that names the output.
    """
    path = Path(output)
    try:
        check_replaceable(path)
    except OSError as error:
        raise FilesError(f"{option} {output}: {error.strerror}.") from None
    for each in inputs:
        if each is not None and _is_input(path, str(each)):
            raise UsageError(
                f"{option} {output} is an input of this command, which is never replaced: name another file."
            )
    if path.exists():
        found = _kind_of(path)
        if not force and found not in (None, kind):
            or_force = ", or replace it with --force" if option == "--output" else ""
            raise UsageError(f"{option} {output} is {found.value}: name another file{or_force}.")
    return path


def _is_input(path: Path, data: str) -> bool:
    """Whether a path is one of the files that DATA names, under whatever name."""
    from csid.cli.tables.sources import sources

    if not path.exists():
        return False
    found = path.stat()
    for source in sources(data):
        try:
            own = os.fstat(sys.stdin.fileno()) if source.path is None else source.path.stat()
        except (OSError, ValueError):  # standard input may be closed, or not be a file
            continue
        if os.path.samestat(own, found):
            return True
    return False


def _kind_of(path: Path) -> Kind | None:
    """The kind of an existing file, by its content, or else by its extension; None for an empty file."""
    with path.open("rb") as file:
        start = file.read(_START)
        if not start:
            return None
        length = int.from_bytes(start[:8], "little")
        if start[8:9] == b"{" and length <= _INDEX_BYTES:  # a safetensors file
            return Kind.model if b'"csid"' in start[8:] + file.read(max(0, length - _START)) else Kind.other
    if start.startswith(b'{"op_code"'):  # a journal of Optuna
        return Kind.trials
    if start.startswith((b"PAR1", b"ARROW1")):
        return Kind.table
    if _PAGE.match(start):
        return Kind.page
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if start.startswith(b"\x1f\x8b"):
        return Kind.table if suffixes[-2:-1] in ([], [".csv"], [".tsv"], [".txt"]) else Kind.other
    extension = path.suffix.lower()
    if b"\0" in start and extension != ".onnx":
        return Kind.other
    return _EXTENSIONS.get(extension, Kind.other)
