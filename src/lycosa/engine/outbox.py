"""What the store has to hear of, collected visit by visit until an exchange takes it along. Pure.

Owns the batch and how much may wait in it: a batch that is large enough is due, and while too much
waits no visit is started.
"""

from __future__ import annotations

from dataclasses import replace

from lycosa.engine.backlog import Backlog
from lycosa.engine.errands import link
from lycosa.engine.harvest import Harvest
from lycosa.engine.scheduler import Held
from lycosa.engine.visit_result import Result
from lycosa.frontier.protocol import EXCLUDED, Batch, Deferral, Purge
from lycosa.metrics import Stats
from lycosa.records import Response

DUE_PAGES = 500
DUE_LINKS = 20_000
MOST_BYTES = 64 << 20  # of text and WARC that may wait for the store; half of it is due
MOST_LINKS = 500_000  # that may wait, 150 MB at most: a store may be away for minutes


class Outbox:
    """The batch of one engine."""

    def __init__(self, harvest: Harvest, stats: Stats) -> None:
        self.batch = Batch()
        self.bytes = 0  # of text and WARC in it
        self.backlog = Backlog()
        self._harvest = harvest
        self._stats = stats

    # -- what goes in -------------------------------------------------------------------------

    def keep_pages(self, result: Result) -> None:
        """The pages, texts and links of a visit. If that raises, it leaves no page behind."""
        pages = self.batch.pages
        before = len(pages)
        try:
            self._harvest.take(result, self.batch, self._stats)
        except Exception:
            del pages[before:]
            raise
        for page in pages[before:]:
            self.bytes += len(page.text_row) + sum(map(len, page.warc))

    def keep_robots(self, response: Response, ended_ms: int) -> None:
        """A robots.txt has no row in `pages`, but belongs to what was asked and answered."""
        records = self._harvest.records(response, ended_ms)
        if records:
            self.batch.records.append(records)
            self.bytes += sum(map(len, records))

    def keep_delay(self, held: Held, delay: float) -> None:
        """A domain asks to be left alone for so many seconds."""
        self.batch.delays.append((held.id, round(delay * 1000)))

    def keep_state(self, result: Result) -> None:
        """What the store must know of the domain beside its pages."""
        batch, ident = self.batch, result.held.id
        batch.answers += result.answers
        # Most visits leave nothing of a kind: a comprehension would cost more than the whole loop.
        for record in result.origins.values():
            batch.origins.append((ident, replace(record)))
        for url, until, attempts in result.deferred:
            batch.deferred.append(Deferral(ident, url, until, attempts))
        for aim, depth in result.errands:
            batch.errands.append(link(aim, depth))
        for url, reason in result.dropped:
            batch.dropped.append((ident, url, reason))
        for origin, outcome in result.purges:
            gone = outcome == EXCLUDED
            batch.purges.append(Purge(ident, origin, outcome, forget=gone, errands=gone))

    # -- how much there is --------------------------------------------------------------------

    def due(self) -> bool:
        """Whether there is enough for an exchange."""
        batch = self.batch
        full = len(batch.pages) >= DUE_PAGES or batch.link_count >= DUE_LINKS
        return full or self.bytes >= MOST_BYTES // 2

    def full(self) -> bool:
        """Whether visits have to wait until the store has taken some of it."""
        return self.bytes >= MOST_BYTES or self.behind()

    def behind(self) -> bool:
        """Whether the store has more rows to write than it settles soon."""
        pages, links = len(self.batch.pages), self.batch.link_count
        return links >= MOST_LINKS or self.backlog.full(pages, links)

    def responses(self) -> int:
        """Pages with a response, which the page limit counts."""
        return sum(1 for page in self.batch.pages if page.status)

    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return self.batch.empty()

    def cut(self) -> Batch:
        """Hand all of it over, and begin anew."""
        batch = self.batch
        batch.stats = self._stats.to_dict()
        self.batch = Batch()
        self.bytes = 0
        return batch
