"""Atomic writes: a failure or an interrupt leaves the old file as it was."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write to a temporary file that replaces `path` when the block succeeds, and is removed when it fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder) / "numbers.txt") as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     (Path(folder) / "numbers.txt").read_text()
    '1 2 3'
    """
    final = Path(path).resolve()  # a symbolic link stays; its target is replaced
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
        permissions = (final if final.exists() else temporary).stat().st_mode & 0o777
        yield temporary
        temporary.chmod(permissions)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Fill a temporary folder that replaces `path` when the block succeeds, and is removed when it fails."""
    final = Path(path).resolve()
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        temporary.mkdir()
        yield temporary
        if final.exists():
            shutil.rmtree(final)
        temporary.replace(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
