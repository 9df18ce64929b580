"""The live figures for everybody who looks: server-sent events.

One task reads for all viewers, and only while there is one. A viewer that reads slowly misses
figures; it is never sent old ones, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson

from lycosa.errors import LycosaError, UserError

EVERY_SECONDS = 2.0  # between two looks; what did not change is not sent
ALIVE_SECONDS = 20.0  # after which a word is sent all the same: a proxy would hang up
VIEWERS = 50
TROUBLE = "The crawl can't be read now: look at the log of the dashboard."


class Viewers:
    """Everybody who looks. `look` reads the figures."""

    def __init__(self, look: Callable[[], Awaitable[object]], every: float = EVERY_SECONDS) -> None:
        self._look = look
        self._every = every
        self._count = 0
        self._newest = b""
        self._version = 0
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._ended = False

    @property
    def count(self) -> int:
        return self._count

    def full(self) -> bool:
        return self._count >= VIEWERS

    async def events(self) -> AsyncIterator[bytes]:
        """What one viewer is sent."""
        self._count += 1
        seen = -1
        try:
            if self._task is None:
                self._version += 1
                self._newest = await self._read()
                self._task = asyncio.create_task(self._watch())
            yield b"retry: 3000\n\n"
            while True:
                if seen != self._version:
                    seen = self._version
                    yield self._newest
                elif self._ended:
                    return
                elif not await self._change(seen):
                    yield b": still here\n\n"
        finally:
            self._count -= 1
            if not self._count and self._task is not None:
                self._task.cancel()
                self._task = None

    async def end(self) -> None:
        """Send everybody how it ended, and nothing more."""
        if self._count:
            self._newest = await self._read()
            self._version += 1
        self._ended = True
        async with self._changed:
            self._changed.notify_all()

    async def _change(self, seen: int) -> bool:
        async with self._changed:
            wanted = self._changed.wait_for(lambda: self._version != seen or self._ended)
            try:
                await asyncio.wait_for(wanted, ALIVE_SECONDS)
            except TimeoutError:
                return False
        return True

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            found = await self._read()
            if found != self._newest:
                self._newest = found
                self._version += 1
                async with self._changed:
                    self._changed.notify_all()

    async def _read(self) -> bytes:
        try:
            return _event(b"now", await self._look())
        except UserError as error:
            return _event(b"trouble", {"error": str(error)})
        except (LycosaError, OSError):
            return _event(b"trouble", {"error": TROUBLE})


def _event(name: bytes, value: object) -> bytes:
    return b"event: " + name + b"\ndata: " + orjson.dumps(value) + b"\n\n"
