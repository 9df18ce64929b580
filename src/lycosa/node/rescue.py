"""What happens to what a dead engine held: its domains, its files, the page that it died of.

Its domains become ready again after one delay, its files are cut back to what was committed, its
ledger is made whole, and delays that only its ledger knows of are kept. All of it is idempotent:
who is killed in the middle does it again. Which engines are dead is decided in `deaths`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from lycosa.archive import ledger
from lycosa.archive.segments import CutReport, cut_back, segment_name
from lycosa.engine.poison import Mark
from lycosa.errors import EXIT_FENCED
from lycosa.frontier.backoff import Away
from lycosa.frontier.protocol import Frontier
from lycosa.log import get_logger
from lycosa.node import deaths
from lycosa.node.engine_process import EngineProcess
from lycosa.node.engines import Engines
from lycosa.node.presence import Presence

# Bytes of a ledger before its committed length that are read too: a line may be on disk with one
# commit while what it tells of goes to the store with the next.
TAIL_MARGIN = 1 << 20

log = get_logger("node")


class Rescued(NamedTuple):
    """What was done after the death of an engine."""

    page_noted: bool = False  # it died while it was parsing a page
    domains: int = 0  # that were taken over


class Rescue:
    """Takes over what engines held that die during a run. While the store is away, it remembers
    for which of them that is still to be done."""

    def __init__(self, presence: Presence, engines: Engines, away: Away) -> None:
        self._presence = presence
        self._engines = engines
        self._away = away
        self._waiting: set[int] = set()  # dead engines of this node

    def after_death(self, engine: EngineProcess, code: int) -> Rescued:
        """Take over what an engine of this node held, which died with this exit code."""
        if engine.id:
            self._waiting.add(engine.id)
        return self._away.ask(lambda: self._after_death(engine, code), Rescued())

    def _after_death(self, engine: EngineProcess, code: int) -> Rescued:
        presence, mark = self._presence, self._engines.mark(engine)
        # A fenced engine ended by itself, whatever it was parsing.
        noted = code != EXIT_FENCED and note_crash(presence.frontier, mark)
        self._waiting |= deaths.without_process(presence.living_engines(), self._engines.ids())
        return Rescued(noted, self._take_over_waiting())

    def check(self) -> None:
        """Do what a store that was away has delayed, then look for leases that have expired."""
        self._take_over_waiting()
        frontier = self._presence.frontier
        late = frontier.expired()
        if not late:
            return
        living, running = self._presence.living_engines(), self._engines.ids()
        expired = deaths.by_lease(late, living, running)
        self._engines.kill(expired.asleep, "an engine slept through its lease and is replaced")
        take_over(self._presence, expired.gone)
        if expired.elsewhere:
            frontier.rescue()

    def _take_over_waiting(self) -> int:
        domains = take_over(self._presence, self._waiting)
        self._waiting.clear()
        return domains


def take_over(presence: Presence, dead: Collection[int]) -> int:
    """Take over what engines of this directory held that died during this run. Returns the number
    of domains, which wait one delay from now, or longer where a dead engine had learnt of it."""
    if not dead:
        return 0
    delays, report = _mend_files(presence, dead)
    _tell_short(report)
    killed = _not_declared(presence.frontier, dead)
    return presence.frontier.rescue(killed, delays)


def take_over_earlier(presence: Presence) -> int:
    """Take over what engines of earlier runs held; the caller has the lock of the directory. What
    their files lost since is told by `losses`."""
    earlier = presence.every_engine()
    if not earlier:
        return 0
    delays, _ = _mend_files(presence, earlier)
    killed = _not_declared(presence.frontier, earlier)
    # Of engines that all left in order, everything that they had learnt is in the store.
    return presence.frontier.rescue(killed, delays if killed else {})


def _mend_files(presence: Presence, dead: Collection[int]) -> tuple[dict[str, int], CutReport]:
    """Cut segments back to what was committed and end ledgers with a whole line. Returns the delays
    that only the ledgers know of, in ms by domain, and what the segments have lost."""
    root = presence.root
    committed = _committed_lengths(presence.frontier)
    delays = _learnt(root, committed, dead)
    ledger.mend_ledgers(root, dead)
    return delays, cut_back(root, committed, dead)


def _committed_lengths(frontier: Frontier) -> dict[str, int]:
    """The committed length of every segment by its name."""
    return {
        segment_name(kind, number): length
        for (kind, number), length in frontier.committed_segments().items()
    }


def _learnt(root: Path, committed: dict[str, int], dead: Collection[int]) -> dict[str, int]:
    """Longer delays that dead engines knew of, in ms by domain."""
    tails = ledger.tail(root, committed, dead, TAIL_MARGIN)
    return {name: info.delay_ms for name, info in tails.items() if info.delay_ms}


def _not_declared(frontier: Frontier, dead: Collection[int]) -> list[int]:
    """Those of the dead whose death the store does not know of."""
    living = set(frontier.living())
    return [engine for engine in dead if engine in living]


def _tell_short(report: CutReport) -> None:
    lost = [*report.short, *report.missing]
    if lost:
        log.warning(
            "the disk lost committed data: these segments are shorter than they were",
            segments=", ".join(lost),
        )


def note_crash(frontier: Frontier, mark: Mark) -> bool:
    """Note in the store which page an engine was parsing when it died; returns whether that page is
    queued. A page that is noted twice is not fetched again (S3)."""
    found = mark.read()
    noted = found is not None and frontier.note_crash(*found)
    mark.clear()  # or the page would be noted again when the next engine dies
    return noted
