"""Atomic writes: a failure or an interrupt leaves the old file as it was."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise an `OSError` if no file can be written at `path`, or what it would replace is not a regular file."""
    final = Path(path).resolve()
    try:
        found = Path(path).stat()  # of what a symbolic link leads to, also if it has no path of its own (/dev/stdout)
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISREG(found.st_mode):
            kind = _SPECIAL.get(stat.S_IFMT(found.st_mode), "a special file")
            raise OSError(errno.EINVAL, f"{kind}, which a file cannot replace", str(path))
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", str(path))
    if not final.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {final.parent}", str(path))
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"the folder {final.parent} cannot be written to", str(path))


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
    check_replaceable(path)
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
