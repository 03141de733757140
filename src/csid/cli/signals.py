"""Signals that end a command: SIGTERM and a closed terminal clean up as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from csid.cli.errors import EndedError, Exit

_ENDINGS = {
    signal.SIGINT: (Exit.INTERRUPTED, "interrupted"),
    signal.SIGTERM: (Exit.TERMINATED, "terminated"),
}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _ENDINGS[signal.SIGHUP] = (Exit.HUNG_UP, "hung up")


class Interrupts:
    """The signals of a command. Each is a `KeyboardInterrupt` where the command is, and noted here."""

    def __init__(self) -> None:
        self._code, self._word = _ENDINGS[signal.SIGINT]

    def error(self, files: str) -> EndedError:
        """The error of the command. files : what became of its files."""
        return EndedError(self._code, f"{self._word}; {files}")

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Handle signals, except those that are ignored (as under nohup), until the block ends."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in _ENDINGS}
        own = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
        for number in own:
            signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            for number in own:
                signal.signal(number, before[number])

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        self._code, self._word = _ENDINGS[signal.Signals(number)]
        raise KeyboardInterrupt
