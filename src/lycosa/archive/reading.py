"""Segments as they are found on disk, for those who check them: what is there of what should be.

Owns what can be wrong with a file as a whole. Nothing behind its committed length is ever read.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

CHUNK = 1 << 17  # bytes that are unpacked or digested at once
WINDOW = 1 << 19  # bytes read from the disk at once

MISSING = "missing"
CUT = "cut"
UNREADABLE = "unreadable"


class Region(NamedTuple):
    """Bytes of a segment."""

    begin: int
    end: int


@dataclass(slots=True)
class Verdict:
    """What was found in one segment."""

    name: str
    committed: int
    state: str = ""  # MISSING, CUT, UNREADABLE or, as a whole, nothing
    size: int = 0
    detail: str = ""  # what the system says
    damaged: list[Region] = field(default_factory=list)  # what is no frame, record or line
    foreign: list[Region] = field(default_factory=list)  # whole, and of no page
    unowned: int = 0  # rows that belong to no page
    example: str = ""  # a URL among them
    good_end: int = 0  # behind the last that was whole
    pages: int = 0  # concerned
    bytes_read: int = 0  # that were whole

    def took(self, begin: int, end: int) -> None:
        """These bytes are whole."""
        self.bytes_read += end - begin
        self.good_end = end

    @property
    def healthy(self) -> bool:
        return not (self.state or self.damaged or self.unowned or self.pages)


def state_of(path: Path, committed: int) -> tuple[str, int, str]:
    """What can be said of a file without reading it: its state, its size, what the system says."""
    try:
        found = path.stat()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        return (MISSING if gone else UNREADABLE), 0, "" if gone else str(error.strerror)
    if not stat.S_ISREG(found.st_mode):
        return MISSING, 0, "something that is no file lies in its place"
    if not os.access(path, os.R_OK):
        return UNREADABLE, found.st_size, "permission denied"
    return (CUT if found.st_size < committed else ""), found.st_size, ""


class SegmentFile:
    """A segment that is open to be checked."""

    def __init__(self, path: Path, committed: int) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.length = committed
        self.available = min(committed, os.fstat(self._fd).st_size)
        self._window, self._begin = b"", 0  # what was read last: most is asked for again

    def read(self, at: int, count: int) -> bytes:
        """Up to so many bytes; fewer at the end."""
        end = min(at + count, self.available)
        if end <= at:
            return b""
        if at < self._begin or end > self._begin + len(self._window):
            size = max(end - at, min(WINDOW, self.available - at))
            self._window, self._begin = os.pread(self._fd, size, at), at
        return self._window[at - self._begin : end - self._begin]

    def why(self, at: int) -> str:
        """Why nothing whole begins there."""
        if at >= self.length:
            return "it points behind the end"
        return "it was cut off" if self.available < self.length else "it is damaged"

    def close(self) -> None:
        os.close(self._fd)
