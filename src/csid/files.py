"""Writing files so that a failure or an interrupt loses nothing."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file beside `path`, to write to; it takes the place of `path` when the block ends well, else it is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_aside(Path(folder) / "numbers.txt") as aside:
    ...         _ = aside.write_text("1 2 3")
    ...     (Path(folder) / "numbers.txt").read_text()
    '1 2 3'
    """
    final = Path(path).resolve()  # of a link, the file that it leads to
    aside = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        aside.touch(exist_ok=False)
        rights = (final if final.exists() else aside).stat().st_mode & 0o777
        yield aside
        aside.chmod(rights)
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(final)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def folder_written_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder beside `path`, to fill; it takes its place when the block ends well, else it is removed."""
    final = Path(path).resolve()
    aside = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        aside.mkdir()
        yield aside
        if final.exists():
            shutil.rmtree(final)
        aside.replace(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
