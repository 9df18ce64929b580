"""How much memory this process uses. Knows nothing of what for."""

from __future__ import annotations

import os
import resource


class Memory:
    """This process's memory. Its file stays open: there may be no more files when it matters."""

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def rss_mb(self) -> float:
        pages = int(os.pread(self._fd, 256, 0).split()[1])
        return pages * resource.getpagesize() / 1e6
