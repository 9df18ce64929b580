"""libcurl in the engine's epoll: requests spread over as many multi handles as it takes.

Owns the multi handles, their sockets in the poller and their timers. When a request leaves a
connection open, libcurl walks through all connections of its multi handle, and it compares a new
request with all of those to the same address: 240 us a page with 5,000 in one handle. So each is
meant for a few hundred. Knows nothing of what is asked for, nor of limits in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from lycosa.fetch import libcurl
from lycosa.fetch.poller import READ, TROUBLE, WRITE, Poller

SHARE = 256  # requests in flight meant for one multi handle
_SPARE = 2  # connections for each of them: some are idle between robots.txt and page
_NEVER = math.inf


class Multis:
    """Requests in flight. The loop polls until `due` at the latest, then calls `turn`."""

    def __init__(
        self,
        poller: Poller,
        now: Callable[[], float],
        capacity: int,
        on_mishap: Callable[[], None],
    ) -> None:
        self._poller = poller
        self._now = now
        self._on_mishap = on_mishap  # told of an error of our own, or of libcurl with a socket
        self._count = -(-capacity // SHARE)
        # All connections count, busy ones too: with fewer, none would ever be used again.
        self._connections = max(16, _SPARE * capacity // self._count)
        self._ended: list[_Part] = []  # in which requests have come to their end
        self._parts = self._open()

    def _open(self) -> list[_Part]:
        return [_Part(self, self._connections) for _ in range(self._count)]

    @property
    def due(self) -> float:
        """When libcurl wants to act by itself."""
        return min([part.due for part in self._parts])

    def add(self, easy: libcurl.Easy, host: str) -> None:
        """Start its request. Those to one host share their connections. Raises CurlError."""
        self._parts[hash(host) % self._count].multi.add(easy)

    def turn(self, now: float) -> None:
        """Let libcurl do what is due."""
        for part in self._parts:
            if part.due <= now:
                part.due = _NEVER
                part.act(libcurl.TIMEOUT, 0)

    def complete(self) -> list[tuple[object, int]]:
        """Take out what ended since the last look: its owner, and libcurl's Code."""
        if not self._ended:
            return []
        parts, self._ended = self._ended, []
        return [each for part in parts for each in part.multi.complete()]

    def reset(self) -> None:
        """Close all connections, idle ones too; requests under way are cut off."""
        self.close()
        self._parts = self._open()

    def close(self) -> None:
        """Close all connections for good."""
        self._ended.clear()
        for part in self._parts:
            part.multi.close()


class _Part:
    """One multi handle with its sockets and its timer."""

    __slots__ = ("_multis", "due", "multi")

    def __init__(self, multis: Multis, connections: int) -> None:
        self._multis = multis
        self.due = _NEVER
        self.multi = libcurl.Multi(self._on_socket, self._on_timer, connections)

    def act(self, fd: int, what: int) -> None:
        if not self.multi.act(fd, what):
            self._multis._on_mishap()
        if self.multi.has_ended:
            self._multis._ended.append(self)

    def _on_ready(self, fd: int, events: int) -> None:
        what = libcurl.SELECT_IN if events & READ else 0
        if events & WRITE:
            what |= libcurl.SELECT_OUT
        if events & TROUBLE:
            what |= libcurl.SELECT_ERROR
        self.act(fd, what)

    # Called by libcurl: neither may raise.

    def _on_socket(self, fd: int, what: int) -> None:
        poller = self._multis._poller
        try:
            if what == libcurl.POLL_REMOVE:
                poller.forget(fd)
            else:
                poller.watch(fd, what != libcurl.POLL_OUT, what != libcurl.POLL_IN, self._on_ready)
        except Exception:
            self._multis._on_mishap()  # the transfer ends when it reaches its limit in time

    def _on_timer(self, milliseconds: int) -> None:
        self.due = _NEVER if milliseconds < 0 else self._multis._now() + milliseconds / 1000
