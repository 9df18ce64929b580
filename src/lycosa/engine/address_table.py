"""The table of addresses that all engines of a node share: memory mapped into each of them.

Owns the memory, which is the supervisor's and outlives engines, and its lock, which is never
waited for: an engine that is stopped while it holds it must not hold up the others. Two addresses
may share a slot; the only harm is a pause that was not needed. It is no file: a write to a mapped
page of one may wait for the disk, and the loop must not.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct

from xxhash import xxh3_64_intdigest

from lycosa.politeness.address_turns import AddressTable, OwnTable

_SLOTS = 1 << 17
_PAIR = struct.Struct("dd")


def memory(free_from: float) -> int:
    """A descriptor of memory for a table, to be handed on to engines: no address is visited before
    that moment of the engine's clock."""
    fd = os.memfd_create("lycosa-addresses", os.MFD_CLOEXEC)
    os.ftruncate(fd, _SLOTS * _PAIR.size)
    if free_from:
        os.pwrite(fd, _PAIR.pack(free_from, free_from) * _SLOTS, 0)
    return fd


def table_of(engines: int, fd: int, free_from: float) -> AddressTable:
    """The table of an engine: its own if it is alone, which needs no lock."""
    return SharedTable(fd) if engines > 1 else OwnTable(free_from)


class SharedTable:
    """See `address_turns.AddressTable`. `take` locks the table, `put` lets it go."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._map = mmap.mmap(fd, _SLOTS * _PAIR.size)

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

    def prune(self, now: float) -> None:
        """Does nothing: the table has a fixed size."""


def _place(address: str) -> int:
    return xxh3_64_intdigest(address.encode()) % _SLOTS * _PAIR.size
