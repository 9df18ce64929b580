"""Which engines are dead? All rules that decide it, and what follows.

1. Whoever holds the lock of a data directory knows that every engine that an earlier run started
   there is dead: engines inherit the lock, and end when the pipe to their supervisor closes
   (`datadir.lock` waits for those of a supervisor that was killed). A start takes over what they
   held (`rescue.take_over_earlier`).
2. An engine whose process has ended is dead. So is an engine of this node that is registered in the
   store while no process of this node has its id: it ended before it could tell its id. That is
   known only while every running process has told its own (`without_process`).
3. An engine of this node whose lease has expired while its process exists was stopped for too long
   and must not wake up: it is killed (`by_lease`), and is dead by rule 2 when it has ended.
4. An engine of another node is dead when its lease has expired; nothing else is known of it. The
   frontier calls no lease expired before this node has itself been in touch with the store for one
   lease time (`frontier.states.Contact`): others may have been cut off as well, and not be dead.
5. An engine that has said nothing for SILENT_SECONDS hangs and is killed (`hangs`), unless a signal
   has stopped it: somebody may be looking at it, and rule 3 still holds.
6. An engine that dies within QUICK_SECONDS of its start, without a page to blame, is no accident:
   QUICK_DEATHS of them in a row end the run (`QuickDeaths`).

Pure: what processes do is seen by `engines`, what leases do by the frontier. What is done for the
dead is in `rescue`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

SILENT_SECONDS = 60.0  # engines report every second
QUICK_SECONDS = 10.0
QUICK_DEATHS = 5


class Expired(NamedTuple):
    """Engines whose lease has expired, by what must be done."""

    asleep: set[int]  # of this node, the process exists: to be killed
    gone: set[int]  # of this node, without a process: to be taken over with their files
    elsewhere: set[int]  # of other nodes: to be taken over by the store alone


def without_process(living: Collection[int], running: Collection[int]) -> set[int]:
    """Engines of this node that are registered (`living`) and have no process. `running`: the ids
    of all its processes, 0 for one that has not told it."""
    return set(living) - set(running) if all(running) else set()


def by_lease(
    expired: Collection[int], living: Collection[int], running: Collection[int]
) -> Expired:
    """Sort engines whose lease has expired; `living` and `running` as above."""
    late = set(expired)
    return Expired(
        asleep=late & set(running),
        gone=late & without_process(living, running),
        elsewhere=late - set(running) - set(living),
    )


def hangs(now: float, heard: float, stopped: Callable[[], bool]) -> bool:
    """`heard`: when the engine reported last; `stopped`: whether a signal has stopped it, which is
    asked only of a silent engine."""
    return now - heard > SILENT_SECONDS and not stopped()


class QuickDeaths:
    """Counts engines that die as soon as they start."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def note(self, lived: float, page_noted: bool) -> None:
        """An engine died after so many seconds; `page_noted`: while it was parsing a page."""
        quick = lived < QUICK_SECONDS and not page_noted
        self._in_a_row = self._in_a_row + 1 if quick else 0

    def too_many(self) -> bool:
        return self._in_a_row >= QUICK_DEATHS
