"""Errands on PostgreSQL: what origins wait for, what came of it, and the addresses they go to.

Owns the statements about `answers` and `slots`; errands themselves are queued URLs like others.
"""

from __future__ import annotations

from collections.abc import Mapping

from lycosa.frontier.answers import asked_for, hand_out, last_errand, spaced
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.rules import ANSWER_MS
from lycosa.frontier.values import Deferral, Link
from lycosa.records import Lease, SharedRobots


class Errands:
    """What a frontier does for errands, most of it inside a transaction of the caller."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def tell_answers(self, leases: list[Lease]) -> None:
        """What was answered to those origins whose robots.txt is elsewhere."""
        keys = asked_for(leases)
        if keys:
            domains, fps = zip(*sorted(keys), strict=True)
            values = {"domains": int8s(domains), "fps": int8s(fps)}
            budget = self._store.rules.robots_bytes
            rows = self._store.read("answers_to", budget=budget, **values)
            hand_out((SharedRobots(*row) for row in rows), keys)

    def claim(self, engine_id: int, addresses: list[str], hold_ms: int) -> dict[str, int]:
        wanted = texts(sorted(set(addresses)))

        def work(now: int) -> dict[str, int]:
            self._store.execute("slots_forget", now=now)
            until = now + hold_ms
            values = {"engine_id": engine_id, "addresses": wanted, "until": until, "now": now}
            return {row[0]: until for row in self._store.rows("claim", **values)}

        return self._store.transaction(work, engine_id)

    def unanswered(self, errands: list[Link], now: int) -> list[Link]:
        """Those to which there is no good answer, each once; needs no transaction."""
        if not errands:
            return []
        found = {link[:2]: link for link in errands}
        domains, fps = zip(*sorted(found), strict=True)
        values = {"domains": int8s(domains), "fps": int8s(fps), "since": now - ANSWER_MS}
        answered = {(row[0], row[1]) for row in self._store.read("answered", **values)}
        return [link for key, link in found.items() if key not in answered]

    def spaced(
        self, errands: list[Link], logs: Mapping[int, DomainLog], now: int
    ) -> list[Deferral]:
        """When each of these, which are new to the logs, has its turn; needs no transaction."""
        if not errands:
            return []
        ids = int8s(sorted({link[0] for link in errands}))
        last = [
            (ident, delay, last_errand(logs[ident]))
            for ident, delay in self._store.read("own_delays", ids=ids)
        ]
        return spaced(errands, last, now, self._store.rules.delay_ms)

    def answer(self, answers: list[SharedRobots], now: int) -> None:
        """Keep what came of errands for those who asked."""
        newest = {(each.domain_id, each.fp): each for each in answers}
        if not newest:
            return
        self._store.execute("answers_forget", before=now - ANSWER_MS)
        values = [newest[key] for key in sorted(newest)]
        self._store.execute(
            "answer_upsert",
            domains=int8s(each.domain_id for each in values),
            fps=int8s(each.fp for each in values),
            urls=texts(each.url for each in values),
            fetched=int8s(each.fetched_ms for each in values),
            statuses=int8s(each.status for each in values),
            locations=texts(each.location for each in values),
            rules=blobs(each.rules for each in values),
        )

    def free_slots(self, engine_id: int, slots: list[tuple[str, int]]) -> None:
        if slots:
            addresses, until = zip(*sorted(dict(slots).items()), strict=True)
            self._store.execute(
                "slot_free", engine_id=engine_id, addresses=texts(addresses), until=int8s(until)
            )
