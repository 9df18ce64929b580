"""A crawl on a PostgreSQL server as a store: the connection, transactions, the fence, settings.

The base of `PostgresFrontier`; knows nothing of leases, queues or pages. One connection, opened
again after the server was gone. Time is the server's (`clock_timestamp()`), read by the first
statement of every transaction.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from lycosa.archive.segments import SegmentKind
from lycosa.errors import Fenced, StoreGone, UserError
from lycosa.frontier import queries
from lycosa.frontier.postgres.connection import (
    PLANNER,
    Connection,
    check_version,
    connect,
    mapped,
    migrate,
    parsed,
    place,
)
from lycosa.frontier.postgres.timeline import Timeline
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.states import Contact

SQL = queries.load("postgres")
RETRIES = 6  # of a transaction that lost against another
T = TypeVar("T")


class PostgresStore:
    """One connection. `clock` replaces the server's clock in tests."""

    server_clock = True

    def __init__(
        self,
        url: str,
        rules: StoreRules,
        clock: Callable[[], int] | None = None,
        *,
        create: bool = False,
        name: str = "lycosa engine",
    ) -> None:
        self.rules = rules
        self.where = place(parsed(url))
        self._url = url
        self._clock = clock
        self._name = name
        self._contact = Contact(rules.lease_ms)
        self._timeline = Timeline(rules)
        self.db = self._connect()
        if create:
            migrate(self.db, self.where)
        elif self._run(lambda: check_version(self.db)) == 0:
            raise UserError(f"There is no crawl in the PostgreSQL database {self.where}.")
        self._run(self._look)

    def _connect(self) -> Connection:
        # Short, because a stopped engine in the middle of a transaction holds up its rescue.
        idle_ms = max(1000, min(30_000, self.rules.lease_ms // 4))
        session = {**PLANNER, "idle_in_transaction_session_timeout": str(idle_ms)}
        return connect(self._url, self._name, session)

    def _look(self) -> None:
        self._timeline.look(self.db, self._now())

    def _look_at_first(self) -> None:
        """A connection on which this failed is not used: nobody would look again."""
        try:
            self._look()
        except BaseException:
            with suppress(psycopg.Error):
                self.db.close()
            raise

    @property
    def server(self) -> str:
        """Which server this is; another value says that the last commits may be lost."""
        return self._timeline.server

    # -- statements and transactions ----------------------------------------------------------

    def _execute(self, query: str, **values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        return self.db.execute(SQL[query], values, binary=True)

    def _rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._execute(query, **values).fetchall()

    def _one(self, query: str, **values: Any) -> Any:
        row = self._execute(query, **values).fetchone()
        return None if row is None else row[0]

    def _run(self, action: Callable[[], T]) -> T:
        """Do something on a connection that works; what fails is said in our words."""
        try:
            if self.db.closed:
                self.db = self._connect()
                self._contact.lost()
                self._look_at_first()
            return action()
        except psycopg.Error as error:
            self._drop_broken()
            raise mapped(error, self.where) from None

    def _drop_broken(self) -> None:
        """After an error nobody knows what the server did: the next call connects anew."""
        if not self.db.closed and self.db.info.transaction_status == 0:
            return
        with suppress(psycopg.Error):
            self.db.close()

    def _transaction(self, work: Callable[[int], T], owner: int | None = None) -> T:
        """A transaction; with an owner, its first statement is the fence.

        `work` gets the store's time. It is called again if the transaction lost against another,
        so it changes nothing but the store.
        """

        def attempt() -> T:
            with self.db.transaction():
                now = self._now() if owner is None else self._fence(owner)
                return work(now)

        for left in reversed(range(RETRIES)):
            try:
                return self._run(lambda: self._retryable(attempt))
            except _Lost as error:
                if not left:
                    raise StoreGone(f"The PostgreSQL server {self.where} is too busy.") from error
                time.sleep(random.uniform(0.01, 0.1))
        raise AssertionError("unreachable")

    def _retryable(self, attempt: Callable[[], T]) -> T:
        try:
            return attempt()
        except (pg.SerializationFailure, pg.DeadlockDetected) as error:
            raise _Lost from error

    def _fence(self, owner: int) -> int:
        now: int | None = self._one(
            "fence", now=self._test_now(), lease=self.rules.lease_ms, owner=owner
        )
        if now is None:
            raise Fenced(f"Engine {owner} was declared dead.")
        self._contact.made(now)
        return now

    def _test_now(self) -> int | None:
        return self._clock() if self._clock is not None else None

    def _now(self) -> int:
        now: int = self._one("clock", now=self._test_now())
        self._contact.made(now)
        return now

    def now_ms(self) -> int:
        return self._run(self._now)

    # -- settings -----------------------------------------------------------------------------

    def exclusions(self) -> list[str]:
        return [row[0] for row in self._run(lambda: self._rows("exclusions"))]

    def put_exclusions(self, lines: Iterable[str]) -> None:
        """Never fetch these."""
        given = list(lines)

        def work(now: int) -> None:
            for line in given:
                self._execute("exclusion_insert", line=line)

        self._transaction(work)

    def setting(self, key: str) -> str | None:
        """One setting of the crawl."""
        value: str | None = self._run(lambda: self._one("setting_get", key=key))
        return value

    def put_settings(self, settings: Mapping[str, Any]) -> None:
        """Store settings of the crawl."""
        self._transaction(lambda now: self._put(settings))

    def _put(self, settings: Mapping[str, Any]) -> None:
        for key, value in sorted(settings.items()):
            self._execute("setting_put", key=key, value=str(value))

    def begin(self, crawl_id: str, settings: Mapping[str, Any]) -> bool:
        """Make this the store of a new crawl, unless it is one already."""

        def work(now: int) -> bool:
            if not self._execute("crawl_begin", id=crawl_id).rowcount:
                return False
            self._put({**settings, "started_ms": now})
            return True

        return self._transaction(work)

    def totals(self) -> tuple[int, bool]:
        """Pages of the whole crawl, and whether somebody asked it to stop."""
        now = self._test_now()
        total, stop, *_ = self._run(lambda: self._rows("control", now=now))[0]
        return total or 0, stop == "1"

    def backlog(self) -> tuple[int, int]:
        """URLs queued, and domains known."""
        queued, domains = self._run(lambda: self._rows("backlog"))[0]
        return queued, domains

    def active_domains(self, limit: int) -> int:
        """Domains with something left to fetch, counted no further than `limit`."""
        value: int = self._run(lambda: self._one("active_count", limit=limit))
        return value

    def committed_segments(self) -> dict[tuple[SegmentKind, int], int]:
        """How much of each segment is committed."""
        found = self._run(lambda: self._rows("segments"))
        return {(kind, number): size for kind, number, size in found}

    def newest_ms(self) -> int:
        """The newest moment the store knows of."""
        value: int = self._run(lambda: self._one("newest_time"))
        return value

    def check(self, seconds: float) -> None:
        """A server looks after its own files."""

    def load_in_bulk(self) -> None:
        """The server needs no preparation."""

    def settle(self) -> None:
        """The server brings everything to where it stays."""

    def close(self) -> None:
        self.db.close()


class _Lost(Exception):
    """A transaction lost against another and may be tried again."""
