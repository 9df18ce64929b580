"""The frontier: the durable store of domains, queued URLs, seen fingerprints and pages.

Owns the protocol that every store implements, and the values that go through it. All verbs take
lists, are synchronous, and are called from one store thread per engine. All times are
milliseconds of the store's clock. It knows nothing of HTTP, robots.txt or scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lycosa import ownfiles
from lycosa.called import called, pip_install
from lycosa.errors import Damaged, StoreError, StoreGone, UserError
from lycosa.frontier.states import DomainState
from lycosa.frontier.values import LeftOut as LeftOut
from lycosa.frontier.values import Link as Link
from lycosa.frontier.values import ServerFacts as ServerFacts
from lycosa.outcomes import Drop
from lycosa.records import Flag, Lease, Origin, PageRow, QueuedUrl, SharedRobots

if TYPE_CHECKING:
    from lycosa.archive.segments import SegmentKind
    from lycosa.frontier.reader import Reader

DATABASE = "crawl.sqlite"
NOT_SEEDED = Drop.NOT_SEEDED
ANSWER_MS = 3_600_000  # for which the answer of an errand is kept for others
MOVED = "moved"  # a file that says to which server the crawl went
HELPERS = ("-wal", "-shm", "-journal")  # ends of the names of SQLite's own files beside it
EXCLUDED = Drop.EXCLUDED  # the reason for which an exclusion drops a URL


@dataclass(slots=True)
class Deferral:
    """A queued URL that waits: it moves to the waiting lane of its domain's queue."""

    domain_id: int
    url: QueuedUrl  # as it was handed out
    until_ms: int
    attempts: int


@dataclass(slots=True)
class Purge:
    """All queued URLs of one origin fail for good (`outcome`), or are dropped and counted."""

    domain_id: int
    origin: str  # '' for the whole domain
    outcome: str
    forget: bool = False  # a cap or an exclusion: deleted and counted, not recorded
    errands: bool = False  # those too: nobody may send us there


@dataclass(slots=True)
class Release:
    """A domain given back; the store decides whether it is ready or idle."""

    domain_id: int
    polite_ms: int  # no visit before
    failures: int = 0
    pages: int = 0
    queued: int = 0


@dataclass(slots=True)
class Batch:
    """Everything that happened in an engine since its last commit."""

    number: int = 0
    pages: list[PageRow] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    deferred: list[Deferral] = field(default_factory=list)
    origins: list[tuple[int, Origin]] = field(default_factory=list)
    delays: list[tuple[int, int]] = field(default_factory=list)  # (domain_id, delay_ms) learnt
    purges: list[Purge] = field(default_factory=list)
    dropped: list[tuple[int, QueuedUrl, str]] = field(default_factory=list)  # by reason, '': done
    errands: list[Link] = field(default_factory=list)  # to be made for origins that wait
    answers: list[SharedRobots] = field(default_factory=list)  # of errands that were made
    slots: list[tuple[str, int]] = field(default_factory=list)  # addresses given back, from when
    released: list[Release] = field(default_factory=list)
    records: list[tuple[bytes, ...]] = field(default_factory=list)  # for the WARC, of no page
    segments: list[tuple[str, int, int, bool]] = field(default_factory=list)  # kind, id, length
    stats: dict[str, Any] = field(default_factory=dict)

    def empty(self) -> bool:
        """Whether committing it would change nothing but the lease and the counters."""
        return not (
            self.pages
            or self.links
            or self.deferred
            or self.origins
            or self.delays
            or self.purges
            or self.dropped
            or self.errands
            or self.answers
            or self.slots
            or self.released
            or self.records
        )


@dataclass(slots=True)
class Committed:
    """What an engine must know after a commit."""

    now_ms: int
    total_pages: int  # of the whole crawl, engines of all nodes
    stop: bool  # somebody asked the crawl to stop
    rules_version: int  # changes when engines must hear of new rules (`rules_changed`)
    engines: int = 0  # of all nodes that work on the crawl; 0: of one node, which knows
    least_held: int | None = None  # by an engine that would like more domains; None: nobody
    added: dict[int, int] = field(default_factory=dict)  # new URLs by domain
    drops: dict[str, int] = field(default_factory=dict)  # refused by the store, by reason
    purged: dict[str, int] = field(default_factory=dict)  # failed for good in bulk, by outcome
    refused: list[SharedRobots] = field(default_factory=list)  # errands out of scope


@dataclass(frozen=True, slots=True)
class StoreRules:
    """The part of the settings that the store itself applies when URLs come in."""

    delay_ms: int = 70_000
    lease_ms: int = 180_000
    max_queued_per_domain: int = 10_000
    max_pages_per_domain: int = 0  # 0: no limit
    seeded_only: bool = False
    run_urls: int = 8  # handed out with a lease or refill, per domain
    run_bytes: int = 4096  # of URLs per domain; at least one URL is handed out
    robots_bytes: int = 32 << 20  # of robots rules handed out by one lease call
    left_out: int = 1_000_000  # URLs taken out by exclusions that are kept, the newest

    def refuses(self, state: DomainState | None, own: int, seed: bool) -> str:
        """Why a domain takes no more URLs; its holder has applied the caps itself."""
        if seed:
            return ""
        if state is None:
            return NOT_SEEDED if self.seeded_only else ""
        if own and state.lease_owner == own:
            return ""
        if self.seeded_only and not state.seeded:
            return NOT_SEEDED
        if 0 < self.max_pages_per_domain <= state.pages:
            return Drop.PAGE_CAP
        return Drop.QUEUE_CAP if state.queued >= self.max_queued_per_domain else ""

    @staticmethod
    def kept(links: list[Link], refused: str) -> list[Link]:
        """Those that are queued though their domain takes no more: caps are for pages. An errand
        stands for an origin that waits elsewhere, so there are not more of them than of these."""
        if not refused:
            return links
        return [] if refused == NOT_SEEDED else errands_of(links)


def errands_of(links: list[Link]) -> list[Link]:
    """Those that are robots.txt files of other domains."""
    return [link for link in links if link[5] & Flag.ERRAND]


def refusals(links: list[Link], now: int) -> list[SharedRobots]:
    """What the origins hear that sent us to a domain that is none of the seeds'."""
    return [SharedRobots(ident, fp, url, now, 0) for ident, fp, url, _, _, _ in errands_of(links)]


class Frontier(Protocol):
    """What engines and supervisors ask of the store."""

    rules: StoreRules
    server_clock: bool  # its time is not ours: engines measure the difference at every commit

    @property
    def server(self) -> str:
        """Which server it is on; another value says that the last commits may be lost."""

    def now_ms(self) -> int: ...

    # -- engines ------------------------------------------------------------------------------

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        """A new engine; its number is never used again.

        `node` names its data directory for ever, `directory` says to people where that is.
        """

    def lease(self, owner: int, limit: int) -> list[Lease]:
        """Up to `limit` ready domains, the longest waiting first, now held by `owner`."""

    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        """The next URLs of domains that the caller holds and has none left of."""

    def claim(self, owner: int, addresses: list[str], hold_ms: int) -> dict[str, int]:
        """Those of the addresses at which no errand is under way or was a moment ago: they are the
        caller's until the moment told, or until a batch gives them back."""

    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of (domain_id, fp) that are done already."""

    def commit(self, owner: int, batch: Batch) -> Committed:
        """Apply a batch once: raises Fenced if `owner` was declared dead."""

    def watch(self) -> Committed:
        """What a commit tells, without one: an engine with nothing to say writes nothing."""

    def exclusions(self) -> list[str]:
        """The domains, suffixes and patterns that are never fetched."""

    def retire(self, owner: int) -> None:
        """An engine that leaves in order: holds nothing, wants nothing."""

    # -- supervisors --------------------------------------------------------------------------

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
        """An engine died while it parsed this URL: twice, and it is poison (S3); returns whether
        the URL is queued."""

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

    def setting(self, key: str) -> str | None: ...

    def put_settings(self, settings: Mapping[str, Any]) -> None: ...

    def put_exclusions(self, lines: Iterable[str]) -> None: ...

    def newest_ms(self) -> int:
        """The newest moment the store knows of."""

    def load_in_bulk(self) -> None:
        """This connection is about to load much at once."""

    def close(self) -> None: ...


def is_server(store: str) -> bool:
    """Whether a store is a server that many nodes share."""
    return bool(store) and store != "sqlite"


def open_frontier(
    store: str,
    data_dir: Path,
    rules: StoreRules,
    now_ms: Callable[[], int],
    *,
    create: bool = False,
    name: str = "lycosa",
    turns: int | None = None,
) -> Frontier:
    """Open a crawl to work on it. `now_ms` is the time where the store has no clock of its own;
    `name` is what the server's administrator sees; by `turns` the engines of a node take turns
    where only one of them can write (see `sqlite.store`)."""
    if is_server(store):
        _need_psycopg()
        from lycosa.frontier.postgres.frontier import PostgresFrontier

        return PostgresFrontier(store, rules, create=create, name=name)
    from lycosa.frontier.sqlite.frontier import SqliteFrontier

    return SqliteFrontier(data_dir / DATABASE, rules, now_ms, create=create, turns=turns)


def open_reader(data_dir: Path, store: str = "") -> Reader:
    """Open a crawl to look at it; raises UserError if there is none."""
    from lycosa.frontier.reader import Reader

    if is_server(store):
        _need_psycopg()
        from lycosa.frontier.postgres.source import PostgresSource

        try:
            return Reader(PostgresSource(store))
        except StoreGone as error:
            raise UserError(f"{error} Check the host and port in --store.") from None
    from lycosa.frontier.sqlite.source import SqliteSource

    path = data_dir / DATABASE
    if not path.exists():
        refuse_moved(data_dir)
        raise UserError(
            f"There is no crawl in {data_dir}: name its directory with --data-dir, "
            f"or start one with '{called('crawl')}'."
        )
    return Reader(SqliteSource(path))


def note_moved(data_dir: Path, where: str) -> None:
    """The crawl in a directory goes on on a server; `where` must hold no password."""
    ownfiles.write_durably(data_dir / MOVED, f"{where}\n".encode())


def refuse_moved(data_dir: Path) -> None:
    """Say where the crawl is that was moved from a directory to a server; raises UserError."""
    try:
        where = (data_dir / MOVED).read_text().strip()
    except OSError:
        return
    raise UserError(
        f"The crawl in {data_dir} was moved to a server: name it with --store '{where}' (and its"
        " password, if it has one)."
    )


def check_file(data_dir: Path, seconds: float) -> None:
    """Raise Damaged if the crawl in a directory is on SQLite and its file is damaged."""
    if not (data_dir / DATABASE).exists():
        return
    from lycosa.frontier.sqlite.connection import check_sound, connect_to_read, damaged

    try:
        check_sound(connect_to_read(data_dir / DATABASE), seconds)
    except (StoreGone, Damaged):
        raise
    except (StoreError, ValueError) as error:  # damage that keeps it from being opened
        raise damaged(str(error).rstrip(".")) from error


def check_server(store: str, flag: str = "--store") -> ServerFacts:
    """Refuse a server that can't be used, before anything is written; `flag` named it."""
    _need_psycopg()
    from lycosa.frontier.postgres.check import facts

    try:
        return facts(store)
    except StoreGone as error:
        raise UserError(f"{error} Check the host and port in {flag}.") from None


def _need_psycopg() -> None:
    from importlib.util import find_spec

    if find_spec("psycopg") is None:
        raise UserError(
            f"A store on PostgreSQL needs another package: {pip_install('psycopg[binary]')}"
        )
