"""Segments as the checks find them on disk.

Owns what can be wrong with a file as a whole. Nothing here reads beyond its committed length.
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
    state: str = ""  # MISSING, CUT, UNREADABLE, or '' for a file that is all there
    size: int = 0
    detail: str = ""  # what the system says
    damaged: list[Region] = field(default_factory=list)  # no frame, record or line
    foreign: list[Region] = field(default_factory=list)  # undamaged, and of no page
    unowned: int = 0  # rows that belong to no page
    example: str = ""  # a URL among them
    good_end: int = 0  # of the last frame, record or line that was undamaged
    pages: int = 0  # that lost something
    bytes_read: int = 0  # that were undamaged

    def took(self, begin: int, end: int) -> None:
        """Note that these bytes are undamaged."""
        self.bytes_read += end - begin
        self.good_end = end

    @property
    def healthy(self) -> bool:
        return not (self.state or self.damaged or self.unowned or self.pages)


def state_of(path: Path, committed: int) -> tuple[str, int, str]:
    """A file's state, its size and what the system says of it, without reading it."""
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
        self._window, self._begin = b"", 0  # what was read last: callers ask for most of it again

    def read(self, at: int, count: int) -> bytes:
        """Up to `count` bytes; fewer at the end."""
        end = min(at + count, self.available)
        if end <= at:
            return b""
        if at < self._begin or end > self._begin + len(self._window):
            size = max(end - at, min(WINDOW, self.available - at))
            self._window, self._begin = os.pread(self._fd, size, at), at
        return self._window[at - self._begin : end - self._begin]

    def why(self, at: int) -> str:
        """Why no frame or record begins there."""
        if at >= self.length:
            return "it points behind the end"
        return "it was cut off" if self.available < self.length else "it is damaged"

    def close(self) -> None:
        os.close(self._fd)
