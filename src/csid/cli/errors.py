"""What can go wrong, the exit code of each, and how it is said."""

import errno
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `csid`."""

    OK = 0
    FAILED = 1
    """Something that csid did not foresee: with --debug it shows where."""
    USAGE = 2
    """A flag, an argument or a config file that makes no sense."""
    DATA = 3
    """The data cannot be read, or do not fit what is wanted of them."""
    MODEL = 4
    """The model file cannot be read."""
    FILES = 5
    """A file that is not there, may not be read or written, or a full disk."""
    INTERRUPTED = 130
    """Ctrl-C."""


class CommandError(Exception):
    """Ends a command with a message."""

    code = Exit.FAILED


class UsageError(CommandError):
    code = Exit.USAGE


class DataError(CommandError):
    code = Exit.DATA


class Interrupted(CommandError):
    code = Exit.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted; files that were there before are as they were.")


def described(error: Exception) -> tuple[Exit, str]:
    """The exit code of an error, and what to tell the user."""
    from csid.model_file import ModelFileError

    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, ModelFileError):
        return Exit.MODEL, str(error)
    if isinstance(error, MemoryError):
        return Exit.DATA, "the data do not fit into memory: fit fewer rows or columns."
    if isinstance(error, OSError):
        return Exit.FILES, _of_files(error)
    if isinstance(error, ImportError):
        return Exit.USAGE, str(error)
    if isinstance(error, ValueError | TypeError | ArithmeticError):
        return Exit.DATA, str(error)
    return Exit.FAILED, f"{type(error).__name__}: {error}. This should not happen; --debug shows where it did."


def _of_files(error: OSError) -> str:
    place = f" ({error.filename})" if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"no space is left on the disk{place}; nothing was left half-written."
    if error.errno == errno.EPIPE:
        return "what reads the output has gone."
    return f"{error.strerror}{place}" if error.strerror else str(error)
