"""The face of the frontier: what other rooms import is here, and what every store can do.

Owns the verbs: `EngineFrontier` has those of engines, `SupervisorFrontier` those of supervisors and
of commands that write; a store has both. Verbs that are called often take lists, all of them are
synchronous, and an engine calls them from one thread. All times are milliseconds of the store's
clock. Knows nothing of HTTP, robots.txt or scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lycosa.frontier.open import (
    DATABASE,
    HELPERS,
    check_file,
    check_server,
    is_server,
    note_moved,
    open_frontier,
    open_reader,
    refuse_moved,
)
from lycosa.frontier.rules import ANSWER_MS, EXCLUDED, StoreRules
from lycosa.frontier.values import (
    Batch,
    Change,
    Committed,
    Deferral,
    LeftOut,
    Link,
    LinkBlock,
    PagePlace,
    Place,
    Purge,
    Release,
    ServerFacts,
)
from lycosa.records import Lease, QueuedUrl

if TYPE_CHECKING:
    from lycosa.archive.segments import SegmentKind

__all__ = [
    "ANSWER_MS",
    "DATABASE",
    "EXCLUDED",
    "HELPERS",
    "Batch",
    "Change",
    "Committed",
    "Deferral",
    "EngineFrontier",
    "Frontier",
    "LeftOut",
    "Link",
    "LinkBlock",
    "PagePlace",
    "Place",
    "Purge",
    "Release",
    "ServerFacts",
    "StoreConnection",
    "StoreRules",
    "SupervisorFrontier",
    "check_file",
    "check_server",
    "is_server",
    "note_moved",
    "open_frontier",
    "open_reader",
    "refuse_moved",
]


class StoreConnection(Protocol):
    """What everybody asks of an open store."""

    rules: StoreRules
    server_clock: bool  # its time is not ours: engines measure the difference at every commit

    @property
    def server(self) -> str:
        """Which server it is on; another value says that the last commits may be lost."""

    def now_ms(self) -> int:
        """The store's time."""

    def setting(self, key: str) -> str | None:
        """What is kept of the whole crawl under a key; None: nothing."""

    def obey(self, rules: StoreRules) -> None:
        """From now on this connection applies these rules."""

    def close(self) -> None: ...


class EngineFrontier(StoreConnection, Protocol):
    """What engines ask of the store."""

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        """A new engine; its number is never used again.

        `node` names its data directory for ever, `directory` says to people where that is.
        """

    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        """Up to `limit` ready domains, the longest waiting first, now held by `engine_id`."""

    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        """The next URLs of domains that the caller holds and has none left of."""

    def claim(self, engine_id: int, addresses: list[str], hold_ms: int) -> dict[str, int]:
        """Reserve addresses for errands, each for one engine at a time. Returns those that are now
        the caller's, each with the moment until which, unless a batch gives it back earlier."""

    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of (domain_id, fp) that are done already."""

    def commit(self, engine_id: int, batch: Batch) -> Committed:
        """Apply a batch once: raises Fenced if `engine_id` was declared dead."""

    def watch(self) -> Committed:
        """What a commit tells, without writing: for an engine that has nothing to commit."""

    def postpone(self, until: Sequence[tuple[int, int]]) -> None:
        """Domains that were given back, by id, may be visited only from these moments on, or later
        if that was said before."""

    def exclusions(self) -> list[str]:
        """The domains, suffixes and patterns that are never fetched."""

    def retire(self, engine_id: int) -> None:
        """An engine ends in order: it is declared dead, unless it still holds a domain."""


class SupervisorFrontier(StoreConnection, Protocol):
    """What supervisors ask of the store, and commands that change a crawl."""

    def add(
        self,
        links: Iterable[Link],
        *,
        seeds_done: Mapping[str, Any] | None = None,
        rank: int | None = None,
    ) -> int:
        """Queue URLs from outside a crawl; returns how many were new. With a rank they are seeds:
        first come, first visited, before any domain that was found by a link."""

    def requeue(
        self, keys: Sequence[tuple[int, int]], *, text_lost: bool = False
    ) -> dict[str, int]:
        """Pages that are done, by (domain_id, fp), become queued URLs again, each once and all in
        one transaction; what is not done is left alone. Returns how many, by outcome.

        A page whose text is kept stays as it is, or its text would be there twice: `text_lost`
        says that the text of all of them is gone.
        """

    def restore(self, rows: Sequence[LeftOut]) -> int:
        """Queue URLs again that exclusions took out; returns how many were not queued or done."""

    def lose(self, text: Sequence[tuple[int, int]], warc: Sequence[tuple[int, int]]) -> int:
        """Note that the text, or the WARC records, of pages are gone for good: of the former the
        outcome changes to TEXT_LOST. Returns how many lost their text."""

    def shorten(self, kind: str, number: int, length: int) -> None:
        """Less of a segment is left than was committed, and nothing is expected of the rest."""

    def expired(self) -> list[int]:
        """Engines whose lease ended and that nobody declared dead; none as long as the caller
        itself has not been in touch with the store for one lease time (`Contact`)."""

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> int:
        """Take the domains of dead engines back; returns how many domains.

        `known_dead`: engines whose process is known to be gone. All others are dead when they are
        `expired`. `delays`: what the dead learnt but never committed, ms by domain name.
        """

    def living(self, node: str = "") -> list[int]:
        """Engines that nobody declared dead, of one node or of all."""

    def everyone(self, node: str = "") -> list[int]:
        """Every engine that ever worked on this crawl, of one node or of all."""

    def others(self, node: str) -> int:
        """How many engines of other nodes are at work, or nodes about to start theirs."""

    def note_crash(self, domain_id: int, order: int, fp: int) -> bool:
        """Count that an engine died while it parsed this URL; two deaths make it poison (S3).
        Returns whether the URL is queued."""

    def finished(self) -> bool:
        """Nothing is queued that may still be fetched, no domain is held, no seed is loading."""

    def totals(self) -> tuple[int, bool]:
        """Pages of the whole crawl, and whether somebody asked it to stop."""

    def backlog(self) -> tuple[int, int]:
        """URLs queued, and domains known."""

    def active_domains(self, limit: int) -> int:
        """Domains with something left to fetch, counted no further than `limit`."""

    def committed_segments(self) -> dict[tuple[SegmentKind, int], int]:
        """How much of each segment is committed."""

    def put_settings(self, settings: Mapping[str, Any]) -> None: ...

    def steer(self, change: Callable[[Callable[[str], str | None], int], Change]) -> None:
        """Change settings of a crawl that may be running, and let every engine hear of it: one
        transaction. `change` gets a look at what is stored, and the store's time; it may be called
        again. With a longer delay the domains that wait do so for as much longer; with a shorter
        one none waits for longer than that, unless its site asked for it or is busy."""

    def put_exclusions(self, lines: Iterable[str]) -> None: ...

    def put_history(self, node: str, seconds: int, at_ms: int, line: str, before_ms: int) -> None:
        """A line of figures that a node leaves, and speaks for so many seconds; those of the same
        kind before a moment are forgotten."""

    def newest_ms(self) -> int:
        """The newest moment the store knows of."""

    def load_in_bulk(self) -> None:
        """This connection is about to load much at once."""


class Frontier(EngineFrontier, SupervisorFrontier, Protocol):
    """A store with all its verbs: what `open_frontier` opens."""
