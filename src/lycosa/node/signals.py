"""Signals that ask a run to stop, counted while it lasts."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """A context: within it a signal is counted instead of ending the process, and makes `fd`
    readable, so that whoever waits for other things wakes up at once."""

    def __init__(self) -> None:
        self.count = 0
        self.fd = self._write = -1
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        self.fd, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._previous = {each: signal.signal(each, self._note) for each in STOP_SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        for each, handler in self._previous.items():
            signal.signal(each, handler)
        os.close(self.fd)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1

    def drain(self) -> None:
        """Empty the pipe: what it holds has been counted."""
        os.read(self.fd, 512)
