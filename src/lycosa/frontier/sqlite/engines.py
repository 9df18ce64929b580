"""Engines on SQLite: they register and retire; the domains of dead ones are taken back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lycosa.errors import Bug
from lycosa.frontier import queries
from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.logs import Logs
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.urls.domains import domain_id as id_of

SQL = queries.load("sqlite")


class EngineTable:
    """See `EngineFrontier` and `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, tokens: Tokens, logs: Logs) -> None:
        self._store = store
        self._db = store.db
        self._logs = logs
        self._tokens = tokens

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        lease_ms = self._store.rules.lease_ms
        with self._store.transaction() as now:
            values = {"host": host, "pid": pid, "now": now, "lease": lease_ms}
            cursor = self._db.execute(SQL["register"], values)
        if not cursor.lastrowid:
            raise Bug("An engine got no number.")
        return cursor.lastrowid

    def retire(self, engine_id: int) -> None:
        with self._store.transaction():
            if not self._tokens.any_held(engine_id):
                self._db.execute(SQL["declare_dead"], (engine_id,))

    @errors_mapped
    def expired(self) -> list[int]:
        return list(self._expired(self._store.now_ms()))

    def _expired(self, now: int) -> dict[int, int]:
        """Engines whose lease ended, with the moment; empty if this process was itself out of touch
        with the store."""
        if not self._store.contact.long_enough(now):
            return {}
        return dict(self._db.execute(SQL["expired"], {"now": now}).fetchall())

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> int:
        if not known_dead and not delays and not self.expired():
            return 0
        with self._store.transaction() as now:
            ends = {**self._expired(now), **dict.fromkeys(known_dead, now)}
            rescued = sum(self._take_over(engine_id, since) for engine_id, since in ends.items())
            learnt = (delays or {}).items()
            self._tokens.wait_longer((id_of(name), now + delay) for name, delay in learnt)
        return rescued

    def postpone(self, until: Sequence[tuple[int, int]]) -> None:
        with self._store.transaction():
            self._tokens.wait_longer(until)

    def _take_over(self, engine_id: int, since: int) -> int:
        self._db.execute(SQL["declare_dead"], (engine_id,))
        values = {"engine_id": engine_id, "since": since, "delay": self._store.rules.delay_ms}
        self._db.execute(SQL["slots_of_dead"], values)
        return self._tokens.take_over(engine_id, since)

    @errors_mapped
    def living(self, node: str = "") -> list[int]:
        """All are of the one node."""
        return [row[0] for row in self._db.execute(SQL["living"]) if row[0]]

    @errors_mapped
    def everyone(self, node: str = "") -> list[int]:
        return [row[0] for row in self._db.execute(SQL["everyone"])]

    def others(self, node: str) -> int:
        """There is but one node."""
        return 0

    def note_crash(self, domain_id: int, order: int, fp: int) -> bool:
        with self._store.transaction() as now:
            if self._logs.read([domain_id])[domain_id].state(fp) != "queued":
                return False
            chunks = delivery(domain_id, self._store.epoch_ms, now, kills=[(fp, 1)])
            self._logs.insert([(domain_id, chunk) for chunk in chunks])
            return True
