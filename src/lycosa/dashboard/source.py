"""One crawl as the dashboard reads it: opened when somebody asks, closed when nobody does.

All questions run one after the other in one thread beside the loop, so that a slow store makes
answers late and nothing else. Too many at once are refused. A question never sees a path or the
address of the store go out: `clean` takes them out of what is said.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from lycosa.called import called
from lycosa.errors import LycosaError, UserError
from lycosa.reading.crawl import Crawl
from lycosa.reading.opening import open_crawl
from lycosa.terminal import redact

WAITING = 32  # questions at once
IDLE_SECONDS = 60.0  # after which the crawl is closed
Replied = TypeVar("Replied")


class Busy(UserError):
    """Too many questions at once."""


class CantOpen(UserError):
    """The crawl is not there, or its store does not answer."""


class CrawlSource:
    """The crawl of a dashboard."""

    def __init__(self, paths: list[Path], store: str) -> None:
        self.paths = paths
        self.store = store
        self._crawl: Crawl | None = None
        self._thread = ThreadPoolExecutor(1, "questions")
        self._waiting = 0
        self._closing: asyncio.TimerHandle | None = None

    async def ask(self, question: Callable[[Crawl], Replied]) -> Replied:
        """The answer of the crawl to a question; raises LycosaError, with a sentence that may be
        shown if it is a UserError."""
        if self._waiting >= WAITING:
            raise Busy("The dashboard has too much to do: try again in a moment.")
        loop = asyncio.get_running_loop()
        if self._closing is not None:
            self._closing.cancel()
        self._waiting += 1
        try:
            return await loop.run_in_executor(self._thread, self._answer, question)
        finally:
            self._waiting -= 1
            self._closing = loop.call_later(
                IDLE_SECONDS, loop.run_in_executor, self._thread, self._close
            )

    async def do(self, work: Callable[[], Replied]) -> Replied:
        """Run what changes the crawl in the same thread."""
        return await self.ask(lambda _: work())

    def answer_now(self, question: Callable[[Crawl], Replied]) -> Replied:
        """The same for a caller that has no loop."""
        return self._answer(question)

    def _answer(self, question: Callable[[Crawl], Replied]) -> Replied:
        try:
            return question(self._opened())
        except CantOpen:
            raise
        except UserError as error:
            raise type(error)(self.clean(str(error))) from error
        except LycosaError:
            self._close()  # a connection that broke is made anew
            raise

    def _opened(self) -> Crawl:
        if self._crawl is None:
            self._crawl = self.opening(lambda: open_crawl(self.paths, store=self.store))
        return self._crawl

    def opening(self, way: Callable[[], Replied]) -> Replied:
        """What is opened; why it can't be is for the log, since it names places."""
        try:
            return way()
        except UserError as error:
            print(f"lycosa: dashboard: {redact(str(error))}", file=sys.stderr, flush=True)
            hint = called("status")
            raise CantOpen(f"The crawl can't be opened: '{hint}' says why.") from error

    def _close(self) -> None:
        if self._crawl is not None:
            self._crawl.close()
            self._crawl = None

    def close(self) -> None:
        """Let go of the crawl."""
        if self._closing is not None:
            self._closing.cancel()
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def clean(self, text: str) -> str:
        """A sentence without paths and addresses of this machine."""
        for path in self.paths:
            for name in {str(path.absolute()), os.path.realpath(path), str(path)}:
                if len(name) > 1:
                    text = text.replace(name, "the data directory")
        if "://" in self.store:
            parts = urlsplit(self.store)
            for name in (self.store, redact(self.store), parts.netloc, parts.hostname or ""):
                text = text.replace(name, "the store") if name else text
        return redact(text)
