"""What a person looks through: the top of all domains, the head of a queue, one domain in numbers.

Owns the bounds: every statement reads the head of an index, or at most so many rows that it takes
well below 100 ms, however large the crawl is. What lies beyond a bound is not looked at, and the
answer says so. The statements are in `survey.sql`, by the same names in both dialects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.queues import Queues
from lycosa.frontier.states import DEPTH_SHIFT, WAITING, waits_until

if TYPE_CHECKING:
    from lycosa.frontier.reader import Source

DOMAINS_LOOKED_AT = 50_000  # rows of the table of domains that one list is made of
PAGES_LOOKED_AT = 20_000  # rows of the table of pages: they are larger
DOMAIN_PAGES = 4_000  # pages of one domain: each is found by its key, somewhere in the table
HIGHEST = (
    1 << 63
) - 1  # fingerprint; they are spread evenly, from the lowest one, which is below 0
READY_LOOKED_AT = 20_000  # rows of the line of domains that wait for a visit, from its front

# Which statement makes a list of domains, by what it is sorted by.
OF_DOMAINS = {"pages": "most_pages", "queued": "most_queued", "delay": "longest_delay"}
OF_PAGES = {"failing": "most_failing", "slowest": "slowest"}
SORTS = (*OF_DOMAINS, *OF_PAGES)


class QueueRow(NamedTuple):
    """A queued URL with its place."""

    domain_id: int
    order: int
    fp: int
    url: str
    depth: int
    attempts: int
    flags: int

    @property
    def waits_until_ms(self) -> int:
        """It is not tried before; 0: it does not wait."""
        return waits_until(self.order)

    @property
    def found_ms(self) -> int:
        """When it was found; 0 for one that waits, whose place does not tell."""
        return 0 if self.order >= WAITING else self.order & ((1 << DEPTH_SHIFT) - 1)


class Survey:
    """The questions of people who look around, with a bound on each."""

    def __init__(self, source: Source, sql: Mapping[str, str], queues: Queues) -> None:
        self._source = source
        self._sql = sql
        self._queues = queues

    def _rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        return self._source.rows(self._sql[query], values)

    # -- lists of domains ---------------------------------------------------------------------

    def known_domains(self) -> int:
        """How many domains the crawl knows, by what engines counted."""
        return int(self._rows("known_domains")[0]["domains"] or 0)

    def top_domains(
        self, sort: str, limit: int, most: int = DOMAINS_LOOKED_AT
    ) -> list[tuple[str, int]]:
        """Domains with the most pages, queued URLs or the longest delay (ms) of their own: of at
        most so many that are looked at."""
        rows = self._rows(OF_DOMAINS[sort], most=most, limit=limit)
        return [(row["name"], row["value"]) for row in rows]

    def top_lately(
        self, sort: str, newest: int, limit: int, most: int = PAGES_LOOKED_AT
    ) -> list[tuple[int, float]]:
        """Ids of domains with the most failures, or with the longest requests (ms, on average):
        among the URLs that were done last, `newest` being the id of the very last."""
        rows = self._rows(OF_PAGES[sort], after=max(0, newest - most), limit=limit)
        return [(row["domain_id"], float(row["value"])) for row in rows]

    def domains_of(
        self, ids: Sequence[int], most: int = READY_LOOKED_AT
    ) -> dict[int, dict[str, Any]]:
        """Some domains, by id, each with the engine that holds it (0: none) and `ready_at`, the
        moment of its next visit. `behind` is 0 if that moment is known. Else the domain stands
        behind so many others in line, and its moment is no earlier than `ready_at`, which is that
        of the last of them: the line can't be searched by id, and is looked through from its front,
        no further than `most`. Its counts are then those of its row, which may be old."""
        rows = self._rows("domains_of", ids=self._source.numbers(list(ids)))
        in_line = [r["id"] for r in rows if not (r["idle"] or r["engine_id"] or r["wait_at"])]
        found, edge = self._places(in_line, most) if in_line else ({}, {})
        for row in rows:
            ready, row["behind"] = row["wait_at"], 0
            if (place := found.get(row["id"])) is not None:
                ready = place["ready_at"]
                row["pages"] += place["more_pages"]
                row["queued"] += place["more_queued"]
            elif row["id"] in in_line and edge["looked_at"] >= most:
                ready, row["behind"] = edge["ready_at"], edge["looked_at"]
            row["ready_at"] = max(ready, row["polite_at"], row["not_before"])
            row["queued"] = max(0, row["queued"])
        return {row["id"]: row for row in rows}

    def _places(
        self, ids: list[int], most: int
    ) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
        """Those of these domains that are near the front of the line, and where the look ended."""
        rows = self._rows("ready_places", ids=self._source.numbers(ids), most=most)
        return {row["id"]: row for row in rows}, self._rows("ready_edge", most=most)[0]

    def counts(self, ident: int, done: int, most: int = DOMAIN_PAGES) -> list[dict[str, Any]]:
        """The pages of a domain by outcome, language and label. Of a domain with more pages than
        `most`, about so many by chance: those with the least fingerprints. `done`: how many URLs of
        it are done."""
        share = min(1.0, most / max(1, done))
        highest = min(int((2 * share - 1) * HIGHEST), HIGHEST)
        return self._rows("domain_counts", id=ident, most=most, highest=highest)

    def recorded_ms(self, number: int) -> int:
        """When the page with this number was done, or the next one that there is; a moment that
        never comes if there is none."""
        rows = self._rows("recorded_ms", id=number)
        return rows[0]["fetched_ms"] if rows else 1 << 62

    # -- the queue ----------------------------------------------------------------------------

    def queue_head(self, ident: int, limit: int) -> list[QueueRow]:
        """The first queued URLs of a domain."""
        return list(self.queue_of(ident, limit))

    def queue_of(self, ident: int, most: int) -> Iterator[QueueRow]:
        """The queued URLs of a domain in their order, as many as `most`."""
        return islice(_queue(self._queues.log(ident)), most)

    def queue_all(self, most: int) -> Iterator[QueueRow]:
        """Queued URLs of all domains, as many as `most`; the domains come in the order of a hash,
        as if by chance."""
        rows = (row for log in self._queues.logs() for row in _queue(log))
        return islice(rows, most)

    def next_domains(self, limit: int) -> list[dict[str, Any]]:
        """Domains whose queues are worked on: those that engines hold, then those that are due
        next."""
        held = self._rows("held_domains", limit=limit)
        due = self._rows("due_domains", limit=limit - len(held)) if len(held) < limit else []
        return [*held, *due]


def _queue(log: DomainLog) -> Iterator[QueueRow]:
    for url in log.queued():
        rest = (url.order, url.fp, url.url, url.depth, url.attempts, url.flags)
        yield QueueRow(log.domain_id, *rest)


def tallied(counts: list[dict[str, Any]], kind: str) -> dict[str, int]:
    """The counts of a domain by one thing alone, the most first."""
    found: dict[str, int] = {}
    for row in counts:
        found[row[kind]] = found.get(row[kind], 0) + row["pages"]
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
