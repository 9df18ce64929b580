"""How many connections a dashboard has, and how long one may keep it waiting.

uvicorn waits for ever for the first request of a connection. Here one that has not asked within
some seconds is closed, and where there are too many, those that ask nothing make room for others.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 200  # connections at once
ASK_SECONDS = 10.0  # in which a request has come, with its body


class BoundedConnection(H11Protocol):
    """A connection of a browser or a program."""

    _asks: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        if self._asks is None and self._waits():
            self._expect()
        super().data_received(data)
        if self._asks is not None and not self._waits():
            self._asks.cancel()
            self._asks = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._asks is not None:
            self._asks.cancel()
            self._asks = None
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._asks = self.loop.call_later(ASK_SECONDS, self._give_up)

    def _waits(self) -> bool:
        """Whether there is no whole request to be answered."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _give_up(self) -> None:
        self._asks = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection that has waited longest without asking, else this one."""
        others = cast("set[Any]", self.connections)
        silent = [each for each in others if each._asks is not None and each is not self]
        oldest = min(silent, key=lambda each: float(each._asks.when()), default=self)
        oldest._give_up()
        others.discard(oldest)
