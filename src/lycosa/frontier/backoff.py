"""Waiting for a store that can't be reached: tries with longer and longer pauses, one warning.

Owns how long to wait and what is logged; knows nothing of what is asked of the store.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from lycosa.clock import engine_now
from lycosa.errors import StoreGone
from lycosa.log import get_logger

LONGEST = 15.0  # seconds between two tries
SHORTEST = 0.5

T = TypeVar("T")
log = get_logger("store")


class Patience:
    """How long a caller waits before its next try; the warning is logged once."""

    def __init__(
        self, lease_time: float, note: str = "What was fetched is kept; trying again."
    ) -> None:
        self._note = note
        # All engines must be back before a supervisor, in touch for one lease time, may rescue.
        self._longest = min(LONGEST, lease_time / 6)
        self._wait = 0.0

    def after(self, error: BaseException) -> float:
        """Seconds until the next try."""
        if not self._wait:
            log.warning(f"{error} {self._note}")
        self._wait = min(self._longest, self._wait * 2 or SHORTEST)
        return self._wait * random.uniform(0.7, 1.0)

    def over(self) -> None:
        if self._wait:
            log.info("the store is back")
        self._wait = 0.0


class Away:
    """Questions to a store that may be away: `otherwise` is the answer until it is back."""

    def __init__(self) -> None:
        self._wait = self._until = 0.0

    @property
    def now(self) -> bool:
        """Whether the last question found it away."""
        return self._wait > 0

    def ask(self, question: Callable[[], T], otherwise: T) -> T:
        if engine_now() < self._until:
            return otherwise
        try:
            answer = question()
        except StoreGone as error:
            if not self._wait:
                log.warning(f"{error} The crawl goes on when it is back.")
            self._wait = min(LONGEST, self._wait * 2 or SHORTEST)
            self._until = engine_now() + self._wait
            return otherwise
        if self._wait:
            log.info("the store is back")
            self._wait = 0.0
        return answer
