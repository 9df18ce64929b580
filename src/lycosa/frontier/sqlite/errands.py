"""Errands on SQLite: what origins wait for, what came of it, and the addresses they go to.

Owns the statements about `answers` and `slots`; errands themselves are queued URLs like others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple

import orjson

from lycosa.frontier import queries
from lycosa.frontier.answers import asked_for, hand_out, last_errand, spaced
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.rules import ANSWER_MS
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.values import Deferral, Link
from lycosa.records import Lease, SharedRobots

SQL = queries.load("sqlite")


class Errands:
    """What a frontier does for errands, most of it inside a transaction of the caller."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.db

    def tell_answers(self, leases: list[Lease]) -> None:
        """What was answered to those origins whose robots.txt is elsewhere."""
        keys = asked_for(leases)
        if keys:
            values = {
                "keys": orjson.dumps(list(keys)).decode(),
                "budget": self._store.rules.robots_bytes,
            }
            found = self._db.execute(SQL["answers_to"], values)
            hand_out((SharedRobots(*row) for row in found), keys)

    def claim(self, engine_id: int, addresses: list[str], hold_ms: int) -> dict[str, int]:
        with self._store.transaction(engine_id) as now:
            until = now + hold_ms
            self._db.execute(SQL["slots_forget"], (now,))
            values = {"engine_id": engine_id, "until": until, "now": now}
            return {
                address: until
                for address in addresses
                if self._db.execute(SQL["claim"], {**values, "address": address}).rowcount
            }

    def unanswered(self, errands: list[Link], now: int) -> list[Link]:
        """Those to which there is no good answer, each once."""
        if not errands:
            return []
        found = {link[:2]: link for link in errands}
        values = {"keys": orjson.dumps(list(found)).decode(), "since": now - ANSWER_MS}
        answered = set(self._db.execute(SQL["answered"], values))
        return [link for key, link in found.items() if key not in answered]

    def spaced(
        self, errands: list[Link], logs: Mapping[int, DomainLog], now: int
    ) -> list[Deferral]:
        """When each of these, which are new to the logs, has its turn."""
        if not errands:
            return []
        ids = json_ids(sorted({link[0] for link in errands}))
        last = [
            (ident, delay, last_errand(logs[ident]))
            for ident, delay in self._db.execute(SQL["own_delays"], (ids,))
        ]
        return spaced(errands, last, now, self._store.rules.delay_ms)

    def answer(self, answers: list[SharedRobots], now: int) -> None:
        """Keep what came of errands for those who asked."""
        if answers:
            self._db.execute(SQL["answers_forget"], (now - ANSWER_MS,))
            self._db.executemany(SQL["answer_upsert"], [astuple(each) for each in answers])

    def free_slots(self, engine_id: int, slots: list[tuple[str, int]]) -> None:
        self._db.executemany(SQL["slot_free"], [(at, address, engine_id) for address, at in slots])
