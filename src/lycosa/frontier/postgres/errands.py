"""Errands on PostgreSQL: what origins wait for, what came of it, and the addresses they go to.

Owns the statements about `answers` and `slots`; errands themselves are queued URLs like others.
"""

from __future__ import annotations

from lycosa.frontier.answers import asked_for, hand_out, spaced
from lycosa.frontier.postgres.add import PostgresAdder
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.protocol import ANSWER_MS, Deferral, Link
from lycosa.frontier.states import WAITING
from lycosa.records import Lease, SharedRobots


class PostgresErrands(PostgresAdder):
    """What a frontier does for errands, most of it inside a transaction of its caller."""

    def _tell_answers(self, leases: list[Lease]) -> None:
        """What was answered to those origins whose robots.txt is elsewhere."""
        keys = asked_for(leases)
        if keys:
            domains, fps = zip(*sorted(keys), strict=True)
            values = {"domains": int8s(domains), "fps": int8s(fps)}
            budget = self.rules.robots_bytes
            rows = self._run(lambda: self._rows("answers_to", budget=budget, **values))
            hand_out((SharedRobots(*row) for row in rows), keys)

    def claim(self, owner: int, addresses: list[str], hold_ms: int) -> dict[str, int]:
        wanted = texts(sorted(set(addresses)))

        def work(now: int) -> dict[str, int]:
            self._execute("slots_forget", now=now)
            until = now + hold_ms
            values = {"owner": owner, "addresses": wanted, "until": until, "now": now}
            return {row[0]: until for row in self._rows("claim", **values)}

        return self._transaction(work, owner)

    def _needed(self, errands: list[Link], now: int) -> list[Link]:
        """Those that nobody has queued yet, or made since somebody asked for them."""
        if not errands:
            return []
        found = {link[:2]: link for link in errands}
        domains, fps = zip(*found, strict=True)
        values = {"domains": int8s(domains), "fps": int8s(fps), "since": now - ANSWER_MS}
        needless = {(row[0], row[1]) for row in self._rows("needless", **values)}
        return [link for key, link in found.items() if key not in needless]

    def _spaced(self, errands: list[Link], now: int) -> list[Deferral]:
        if not errands:
            return []
        ids = int8s(link[0] for link in errands)
        rows = self._rows("last_errands", ids=ids, waiting=WAITING)
        return spaced(errands, rows, now, self.rules.delay_ms)

    def _answer(self, answers: list[SharedRobots], now: int) -> None:
        """Keep what came of errands for those who asked."""
        newest = {(each.domain_id, each.fp): each for each in answers}
        if not newest:
            return
        self._execute("answers_forget", before=now - ANSWER_MS)
        values = [newest[key] for key in sorted(newest)]
        self._execute(
            "answer_upsert",
            domains=int8s(each.domain_id for each in values),
            fps=int8s(each.fp for each in values),
            urls=texts(each.url for each in values),
            fetched=int8s(each.fetched_ms for each in values),
            statuses=int8s(each.status for each in values),
            locations=texts(each.location for each in values),
            rules=blobs(each.rules for each in values),
        )

    def _free_slots(self, owner: int, slots: list[tuple[str, int]]) -> None:
        if slots:
            addresses, until = zip(*sorted(dict(slots).items()), strict=True)
            self._execute("slot_free", owner=owner, addresses=texts(addresses), until=int8s(until))
