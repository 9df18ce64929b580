"""Poison: a page that kills the engine that parses it, and how it is found out (S3).

An engine marks the page that it is parsing in memory that survives its death. The supervisor reads
the mark when the engine is gone, and counts the death at the queued URL (`node/rescue`). A URL
with MOST_DEATHS is not fetched again: its outcome is `poison`. The memory is the supervisor's. It
is no mapped file: a write to a page of one may wait for the disk, and the loop must not. Knows
nothing of parsing.
"""

from __future__ import annotations

import mmap
import os
import struct

from lycosa.records import Flag

MOST_DEATHS = 2  # of engines that parse one page
_MARK = struct.Struct("<qqq")  # domain, order in its queue, fingerprint


def deaths(flags: int) -> int:
    """How many engines died while they parsed the URL with these flags."""
    return flags // Flag.KILL


def memory(engines: int) -> int:
    """A descriptor of memory for the marks of so many engines, to be handed on to them."""
    fd = os.memfd_create("lycosa-marks", os.MFD_CLOEXEC)
    os.ftruncate(fd, engines * _MARK.size)
    return fd


class Mark:
    """The mark of one engine."""

    def __init__(self, fd: int, engine: int) -> None:
        self._map = mmap.mmap(fd, 0)
        self._at = engine * _MARK.size

    def set(self, domain_id: int, order: int, fp: int) -> None:
        """This page is being parsed; zeros for none."""
        _MARK.pack_into(self._map, self._at, domain_id, order, fp)

    def read(self) -> tuple[int, int, int] | None:
        """(domain_id, order, fp) of the page that the engine was parsing, None for none."""
        domain_id, order, fp = _MARK.unpack_from(self._map, self._at)
        return (domain_id, order, fp) if domain_id else None

    def clear(self) -> None:
        """Before an engine starts: no page is being parsed, and what the last engine left behind
        is not blamed on it."""
        self.set(0, 0, 0)
