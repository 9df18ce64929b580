"""Pages that are done and are taken back, on SQLite: queued again by somebody's wish.

Owns what changes with them: the queue, what was seen, their domains and origins, the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lycosa.frontier import queries
from lycosa.frontier.keys import FINISHED_KEY
from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.logs import Logs
from lycosa.frontier.sqlite.pages import Pages
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.tally import (
    NOTHING,
    TEXT_LOST,
    Done,
    Key,
    counted,
    flags_again,
    stats_with_labels,
    taken_back,
)
from lycosa.outcomes import Outcome
from lycosa.urls.canonical import split

SQL = queries.load("sqlite")


class PagesAgain:
    """See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, logs: Logs, pages: Pages, adder: Adder) -> None:
        self._store = store
        self._db = store.db
        self._logs = logs
        self._pages = pages
        self._adder = adder

    def requeue(self, keys: Sequence[Key], *, text_lost: bool = False) -> dict[str, int]:
        wanted = self._ids(keys)
        with self._store.transaction() as now:
            done = self._take_back(wanted, text_lost)
            if done:
                self._enter_again(done, now)
                self._count_again(done, now)
        return dict(Counter(page[5] for page in done))

    def lose(self, text: Sequence[Key], warc: Sequence[Key]) -> int:
        texts, warcs = self._ids(text), self._ids(warc)
        with self._store.transaction() as now:
            values = {"ids": texts, "outcome": TEXT_LOST}
            lost: int = self._db.execute(SQL["texts_lost"], values).rowcount
            self._db.execute(SQL["warcs_lost"], {"ids": warcs})
            if lost:
                self._account_again({Outcome.OK: -lost, TEXT_LOST: lost}, now)
        return lost

    @errors_mapped
    def _ids(self, keys: Sequence[Key]) -> str:
        """The ids of those pages that are done, as JSON. They may be looked for before the
        transaction: an id is that of one page for ever."""
        return json_ids(sorted(self._pages.ids(keys).values()))

    def shorten(self, kind: str, number: int, length: int) -> None:
        with self._store.transaction():
            self._db.execute(SQL["segment_shorten"], (length, kind, number, length))

    def _take_back(self, ids: str, anyway: bool) -> list[Done]:
        """These pages are no longer done; returns those that were."""
        found = self._db.execute(SQL["pages_again"], {"ids": ids, "anyway": anyway}).fetchall()
        self._pages.delete([page[0] for page in found])
        return [page[1:] for page in found]

    def _enter_again(self, done: list[Done], now: int) -> None:
        read = self._logs.read({page[0] for page in done})
        puts = []
        for ident, pages in _by_domain(done).items():
            urls = [
                (ident, fp, url, depth, "", flags_again(url, depth, outcome))
                for _, fp, url, depth, _, outcome, _ in pages
            ]
            puts += [
                (ident, chunk)
                for chunk in delivery(
                    ident,
                    self._store.epoch_ms,
                    now,
                    reopened=urls,
                    newest_stamp=read[ident].newest_stamp,
                    taken_back=sum(1 for page in pages if page[4]),
                )
            ]
        self._logs.insert(puts)
        origins = sorted({(page[0], split(page[2]).origin) for page in done})
        self._db.executemany(SQL["origins_again"], origins)

    def _count_again(self, done: list[Done], now: int) -> None:
        self._adder.wake(Counter(page[0] for page in done), now)
        responses = Counter(page[0] for page in done if page[4])
        less = [(count, ident) for ident, count in responses.items()]
        self._db.executemany(SQL["domain_pages_less"], less)
        gone = taken_back(page[5] for page in done)
        labels = taken_back(page[6] for page in done)
        self._account_again(gone, now, labels, pages=responses.total(), queued=len(done))
        self._store.put({FINISHED_KEY: 0})

    def _account_again(
        self,
        outcomes: Mapping[str, int],
        now: int,
        labels: Mapping[str, int] = NOTHING,
        pages: int = 0,
        queued: int = 0,
    ) -> None:
        self._adder.account(now, 0, 0)
        told, stats = self._db.execute(SQL["counts_taken"]).fetchone()
        values = {"pages": pages, "queued": queued, "outcomes": counted(told, (), outcomes)}
        values["stats"] = stats_with_labels(stats, labels)
        self._db.execute(SQL["account_again"], values)


def _by_domain(done: list[Done]) -> dict[int, list[Done]]:
    groups: dict[int, list[Done]] = {}
    for page in done:
        groups.setdefault(page[0], []).append(page)
    return groups
