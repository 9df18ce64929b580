"""The engine's ends of the pipes between it and its supervisor.

Owns what was read and what could not be written yet. Once unblocked it never waits for the
supervisor.
"""

from __future__ import annotations

import os
import select
from typing import Any

import orjson

from lycosa.clock import engine_now
from lycosa.errors import EXIT_ORPHAN

MAX_UNREAD = 1 << 16  # bytes of reports kept for a supervisor that does not read


class Pipe:
    """Words come in on one descriptor, reports go out on another."""

    def __init__(self, read: int = 0, write: int = 1) -> None:
        self._read, self._write = read, write
        self._input = b""
        self._output = b""

    def unblock(self) -> None:
        """From now on reading and writing do not wait."""
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def hear(self) -> list[bytes] | None:
        """The words that have come since the last time; None when the supervisor is gone."""
        try:
            data = os.read(self._read, 4096)
            if not data:
                return None
            self._input += data
        except BlockingIOError:
            pass  # what was put aside may be heard all the same
        *words, self._input = self._input.split(b"\n")
        return words

    def hear_again(self, data: bytes) -> None:
        """What was read already and is to be heard later."""
        self._input += data

    def finish(self, seconds: float) -> None:
        """Wait until everything is out, or the time is up."""
        end = engine_now() + seconds
        while self._output and engine_now() < end:
            if select.select([], [self._write], [], 0.05)[1]:
                self._flush()

    def report(self, report: dict[str, Any]) -> None:
        """What does not fit now goes out with a later report."""
        if len(self._output) < MAX_UNREAD:
            self._output += orjson.dumps(report) + b"\n"
        self._flush()

    def _flush(self) -> None:
        try:
            self._output = self._output[os.write(self._write, self._output) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            os._exit(EXIT_ORPHAN)
