"""Errors of commands: the exit code and the message of each."""

import errno
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `csid`."""

    OK = 0
    FAILED = 1
    """An unexpected error; --debug shows its traceback."""
    USAGE = 2
    """An invalid option, argument or config file."""
    DATA = 3
    """The data cannot be read, or cannot be used as asked."""
    MODEL = 4
    """The model file cannot be read."""
    FILES = 5
    """A file does not exist, its permissions are missing, or the disk is full."""
    HUNG_UP = 129
    """The terminal was closed (SIGHUP)."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE_CLOSED = 141
    """The program that reads the output has closed it, as `| head` does."""
    TERMINATED = 143
    """SIGTERM."""


class CommandError(Exception):
    """Ends a command with a message."""

    code = Exit.FAILED


class UsageError(CommandError):
    code = Exit.USAGE


class DataError(CommandError):
    code = Exit.DATA


class InterruptError(Exception):
    """Raised by a command that was interrupted. The message says what became of its files."""


class EndedError(CommandError):
    """A command was ended by a signal."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.code = code


class FilesError(CommandError):
    code = Exit.FILES


def described(error: Exception) -> tuple[Exit, str]:
    """The exit code of an error, and the message for the user."""
    from csid.model_file import ModelFileError

    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, ModelFileError):
        return Exit.MODEL, str(error)
    if isinstance(error, MemoryError):
        return Exit.DATA, "not enough memory: fit with --out-of-core, or use fewer rows or columns."
    if isinstance(error, OSError):
        return Exit.FILES, _file_message(error)
    if isinstance(error, ImportError | NotImplementedError):
        return Exit.USAGE, str(error)
    if isinstance(error, ValueError | TypeError | ArithmeticError):
        return Exit.DATA, str(error)
    return (
        Exit.FAILED,
        f"unexpected error: {type(error).__name__}: {error}. Run csid --debug COMMAND … to see the traceback.",
    )


def _file_message(error: OSError) -> str:
    place = f" ({error.filename})" if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"no space left on the disk{place}; no partial file was left."
    return f"{error.strerror}{place}" if error.strerror else str(error)
