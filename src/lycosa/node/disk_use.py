"""How much disk a node's directory uses, by kind, and how much is free.

Segments lie in one flat folder a kind and are up to a gigabyte large, so that a look at all of them
is short; where there are many it is taken once a minute only.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from lycosa.archive.segments import SUFFIX
from lycosa.frontier.protocol import DATABASE, HELPERS

EVERY = 60.0  # seconds between two looks at the segments, if there are many
MANY = 200


class DiskUse:
    """Of one data directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kinds: dict[str, int] = {}
        self._looked = float("-inf")
        self._files = 0  # seen at the last look

    def by_kind(self, now: float) -> dict[str, int]:
        """Bytes of each kind, as they were within the last minute."""
        if now - self._looked >= EVERY or self._files < MANY:
            self._looked, self._files = now, 0
            self._kinds = {kind: self._flat(self._root / kind) for kind in SUFFIX}
        database = sum(_size(self._root / (DATABASE + end)) for end in ("", *HELPERS))
        return {**self._kinds, "store": database}

    def _flat(self, folder: Path) -> int:
        total = 0
        with suppress(OSError), os.scandir(folder) as found:
            for each in found:
                self._files += 1
                with suppress(OSError):
                    total += each.stat(follow_symlinks=False).st_size
        return total

    def free(self) -> int:
        """Bytes that this user may still write."""
        try:
            return shutil.disk_usage(self._root).free
        except OSError:
            return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
