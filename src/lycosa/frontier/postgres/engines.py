"""Engines on PostgreSQL: they register and retire; the domains of dead ones are taken back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.postgres.connection import int8s
from lycosa.frontier.postgres.logs import Logs
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.urls.domains import domain_id as id_of


class EngineTable:
    """See `EngineFrontier` and `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore, tokens: Tokens, logs: Logs) -> None:
        self._store = store
        self._tokens = tokens
        self._logs = logs

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        def work(now: int) -> int:
            lease = self._store.rules.lease_ms
            engine_id: int = self._store.one(
                "register", host=host, pid=pid, node=node, directory=directory, now=now, lease=lease
            )
            return engine_id

        return self._store.transaction(work)

    def retire(self, engine_id: int) -> None:
        def work(now: int) -> None:
            if not self._tokens.any_held(engine_id):
                self._store.execute("declare_dead", engine_id=engine_id)

        self._store.transaction(work)

    def expired(self) -> list[int]:
        now = self._store.now_ms()
        if not self._store.contact.long_enough(now):
            return []  # this process was itself out of touch with the store
        return [row[0] for row in self._store.read("expired", now=now)]

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> int:
        if not known_dead and not delays and not self.expired():
            return 0
        may_declare = self._store.contact.long_enough(self._store.now_ms())
        return self._store.transaction(
            lambda now: self._rescue(known_dead, delays or {}, may_declare, now)
        )

    def _rescue(
        self, known: Collection[int], delays: Mapping[str, int], may_declare: bool, now: int
    ) -> int:
        ends = dict.fromkeys(sorted(known), now)
        if may_declare:
            ends.update(self._store.rows("declare_expired", now=now, known=int8s(known)))
        rescued = sum(self._take_over(engine_id, since) for engine_id, since in ends.items())
        if delays:
            self._tokens.wait_longer((id_of(name), now + ms) for name, ms in delays.items())
        return rescued

    def postpone(self, until: Sequence[tuple[int, int]]) -> None:
        self._store.transaction(lambda now: self._tokens.wait_longer(until))

    def _take_over(self, engine_id: int, since: int) -> int:
        self._store.execute("declare_dead", engine_id=engine_id)
        values = {"engine_id": engine_id, "since": since, "delay": self._store.rules.delay_ms}
        self._store.execute("slots_of_dead", **values)
        return self._tokens.take_over(engine_id, since)

    def living(self, node: str = "") -> list[int]:
        return [row[0] for row in self._store.read("living", node=node) if row[0]]

    def everyone(self, node: str = "") -> list[int]:
        return [row[0] for row in self._store.read("everyone", node=node)]

    def note_crash(self, domain_id: int, order: int, fp: int) -> bool:
        def work(now: int) -> bool:
            if self._logs.read([domain_id])[domain_id].state(fp) != "queued":
                return False
            chunks = delivery(domain_id, self._store.epoch_ms, now, kills=[(fp, 1)])
            self._logs.insert([(domain_id, chunk) for chunk in chunks])
            return True

        return self._store.transaction(work)
