"""Pages that are done and are taken back, on PostgreSQL: queued again by somebody's wish.

Owns what changes with them: the logs of their domains, these and their origins, the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lycosa.frontier.keys import FINISHED_KEY
from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.connection import Int8s, int8s, texts
from lycosa.frontier.postgres.logs import Logs
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
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


class PagesAgain:
    """See `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore, tokens: Tokens, logs: Logs, adder: Adder) -> None:
        self._store = store
        self._tokens = tokens
        self._logs = logs
        self._adder = adder

    def requeue(self, keys: Sequence[Key], *, text_lost: bool = False) -> dict[str, int]:
        chosen = sorted(set(keys))

        def work(now: int) -> dict[str, int]:
            done = self._take_back(chosen, text_lost)
            if done:
                self._enter_again(done, now)
                self._count_again(done, now)
            return dict(Counter(page[5] for page in done))

        return self._store.transaction(work)

    def lose(self, text: Sequence[Key], warc: Sequence[Key]) -> int:
        def work(now: int) -> int:
            lost = 0
            if text:
                keys = _arrays(sorted(set(text)))
                lost = self._store.execute("texts_lost", outcome=TEXT_LOST, **keys).rowcount
                self._account_again({Outcome.OK: -lost, TEXT_LOST: lost}, now)
            if warc:
                self._store.execute("warcs_lost", **_arrays(sorted(set(warc))))
            return lost

        return self._store.transaction(work)

    def shorten(self, kind: str, number: int, length: int) -> None:
        values = {"kind": kind, "id": number, "length": length}
        self._store.transaction(lambda now: self._store.execute("segment_shorten", **values))

    def _take_back(self, keys: list[Key], anyway: bool) -> list[Done]:
        """These pages are no longer done; returns those that were."""
        if not keys:
            return []
        rows = self._store.rows("pages_again", **_arrays(keys), anyway=anyway)
        return sorted((d, f, url, *more) for d, f, url, *more in rows)

    def _enter_again(self, done: list[Done], now: int) -> None:
        by_domain: dict[int, list[Done]] = {}
        for page in done:
            by_domain.setdefault(page[0], []).append(page)
        read = self._logs.read(by_domain)  # what is written beats all that is known
        puts = []
        for ident, pages in by_domain.items():
            urls = [
                (ident, fp, url, depth, "", flags_again(url, depth, outcome))
                for _, fp, url, depth, _, outcome, _ in pages
            ]
            chunks = delivery(
                ident,
                self._store.epoch_ms,
                now,
                reopened=urls,
                newest_stamp=read[ident].newest_stamp,
                taken_back=sum(1 for page in pages if page[4]),
            )
            puts += [(ident, chunk) for chunk in chunks]
        self._logs.insert(puts)
        ids, names = zip(*sorted({(page[0], split(page[2]).origin) for page in done}), strict=True)
        self._store.execute("origins_again", ids=int8s(ids), names=texts(names))

    def _count_again(self, done: list[Done], now: int) -> None:
        queued = Counter(page[0] for page in done)
        responses = Counter(page[0] for page in done if page[4])
        if responses:
            ids = sorted(responses)
            pages = int8s(responses[ident] for ident in ids)
            self._store.execute("domain_pages_less", ids=int8s(ids), pages=pages)
        self._tokens.wake(queued, now)  # with what is left of their counts
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
        [(told, stats)] = self._store.rows("counts_taken")
        counts = {"pages": pages, "queued": queued, "outcomes": counted(told, (), outcomes)}
        stats = stats_with_labels(stats, labels)
        self._store.execute("account_again", **counts, stats=stats)


def _arrays(keys: Sequence[Key]) -> dict[str, Int8s]:
    return {"domains": int8s(key[0] for key in keys), "fps": int8s(key[1] for key in keys)}
