"""Where compiled kernels are kept between processes.

Numba alone cannot be imported from where neither the package's folder nor the user's home can be written, and reuses a
kernel although a function that it inlines has changed in another file. So the folder is named after the sources of all
kernels, and the last resort is a folder for temporary files that only this user can write: it holds machine code.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numba

_PREFIX = "kernels-"
_PACKAGE = Path(__file__).parent


@cache
def cache_folder() -> Path | None:
    """The first of the possible folders that can be written; none if there is none."""
    name = _PREFIX + _key()
    for parent in _parents():
        folder = parent / name
        if not folder.is_dir() and parent == _PACKAGE / "__pycache__":
            _forget_earlier_kernels(parent)
        if _can_be_written(folder):
            return folder
    return _temporary_folder(name)


def _key() -> str:
    """Of the sources and of the compiler: what is compiled from others is kept apart."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(_PACKAGE.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _parents() -> Iterator[Path]:
    if numba.config.CACHE_DIR:  # NUMBA_CACHE_DIR: the user's choice
        yield Path(numba.config.CACHE_DIR)
    yield _PACKAGE / "__pycache__"
    from platformdirs import user_cache_path

    yield user_cache_path("csid", appauthor=False)


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _forget_earlier_kernels(parent: Path) -> None:
    for folder in parent.glob(_PREFIX + "*"):
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_folder(name: str) -> Path | None:
    """Nobody else can have put machine code there."""
    owner = str(os.getuid()) if hasattr(os, "getuid") else "user"
    try:
        private = Path(tempfile.gettempdir()) / f"csid-{owner}"
        private.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    folder = private / name
    known = folder.exists()
    if not _is_private(private) or not _can_be_written(folder):
        return None
    if not known:
        warnings.warn(
            f"Compiled code is kept in {folder}, because neither the folder of the package nor the user's cache can be "
            f"written. To keep it elsewhere, set the environment variable NUMBA_CACHE_DIR to a folder.",
            stacklevel=2,
        )
    return folder


def _is_private(folder: Path) -> bool:
    found = folder.lstat()  # a link is not followed
    if not hasattr(os, "getuid"):  # Windows: the folder for temporary files is the user's own
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
