"""Whether there is room on the disk of a node (--min-free-disk).

`DiskRoom` decides, by a number of free bytes; `free_bytes` asks the system for it. Who pauses, and
what is said then, is in `supervisor`.
"""

from __future__ import annotations

import os
from pathlib import Path

MORE = 1.1  # times the least that must be free before a node goes on: else it would flutter


def free_bytes(path: Path) -> int | None:
    """What a user may still write to the disk of a directory; None if the system does not tell."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


class DiskRoom:
    """Whether a disk is `low`: from the moment at which less than `least` bytes are free, until
    there is a tenth more than that."""

    def __init__(self, least: int) -> None:
        self.least = least  # 0: nobody minds
        self.low = False

    def look(self, free: int | None) -> bool:
        """Take in how much is free; returns whether `low` has changed."""
        if free is None:
            return False
        before = self.low
        self.low = free < (self.least * MORE if before else self.least)
        return self.low != before
