"""The table of addresses that all engines of a node share: a file mapped into each of them.

Owns the file and its lock, which is never waited for: an engine that is stopped while it holds it
must not hold up the others. Times are the machine's own since it was started: a file from before is
begun anew. Two addresses may share a slot; the only harm is a pause that was not needed.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from pathlib import Path

from xxhash import xxh3_64_intdigest

from lycosa.archive.segments import disk_errors
from lycosa.clock import clock_name
from lycosa.datadir import ADDRESSES
from lycosa.ownfiles import open_own

_SLOTS = 1 << 17
_HEAD = 64  # bytes: the name of the clock
_PAIR = struct.Struct("dd")


class SharedTable:
    """See `address_turns.Table`. `take` locks the file, `put` lets it go."""

    def __init__(self, root: Path) -> None:
        size = _HEAD + _SLOTS * _PAIR.size
        with disk_errors(root / ADDRESSES):
            self._fd = open_own(root / ADDRESSES, os.O_RDWR | os.O_CREAT)
            fcntl.lockf(self._fd, fcntl.LOCK_EX)  # only here: nobody is being served yet
            os.posix_fallocate(self._fd, 0, size)  # or a full disk would kill who writes to the map
            self._map = mmap.mmap(self._fd, size)
        self._begin(clock_name().encode()[:_HEAD].ljust(_HEAD, b"\0"))
        fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def _begin(self, clock: bytes) -> None:
        if self._map[:_HEAD] != clock:
            self._map[:] = clock + bytes(_SLOTS * _PAIR.size)

    def take(self, address: str) -> tuple[float, float] | None:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        next_turn, busy_until = _PAIR.unpack_from(self._map, _place(address))
        return next_turn, busy_until

    def put(self, address: str, next_turn: float, busy_until: float) -> None:
        _PAIR.pack_into(self._map, _place(address), next_turn, busy_until)
        fcntl.lockf(self._fd, fcntl.LOCK_UN)


def _place(address: str) -> int:
    return _HEAD + xxh3_64_intdigest(address.encode()) % _SLOTS * _PAIR.size
