"""A crawl on a PostgreSQL server as a store: one connection, its transactions, the fence.

The parts of a frontier (`add`, `leases`, `commit`, …) share one. It knows nothing of leases, queues
or pages. The connection is opened again after the server was gone. Time is the server's
(`clock_timestamp()`), read by the first statement of every transaction.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from lycosa.errors import Fenced, StoreGone, UserError
from lycosa.frontier import queries
from lycosa.frontier.keys import EPOCH_KEY
from lycosa.frontier.log import packers
from lycosa.frontier.log.dictionary import dictionary
from lycosa.frontier.postgres.connection import (
    PLANNER,
    Connection,
    check_format,
    connect,
    mapped,
    parsed,
    place,
)
from lycosa.frontier.postgres.migrating import migrate
from lycosa.frontier.postgres.timeline import Timeline
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.states import Contact
from lycosa.shifts import Shifts

SQL = queries.load("postgres")
RETRIES = 6  # of a transaction that lost against another
T = TypeVar("T")


class PostgresStore:
    """One connection. `clock` replaces the server's clock in tests."""

    def __init__(
        self,
        url: str,
        rules: StoreRules,
        clock: Callable[[], int] | None = None,
        *,
        create: bool = False,
        name: str = "lycosa engine",
        shifts: Shifts | None = None,
    ) -> None:
        self.rules = rules
        self.shifts = shifts or Shifts()
        self.where = place(parsed(url))
        self.url = url
        self._clock = clock
        self._name = name
        self.contact = Contact(rules.lease_ms)
        self.timeline = Timeline(rules)
        self.db = self._connect()
        if create:
            migrate(self.db, self.where)
        elif self.run(lambda: check_format(self.db)) == 0:
            raise UserError(f"There is no crawl in the PostgreSQL database {self.where}.")
        self.run(self._look)
        self.run(self._share_dictionaries)

    def _share_dictionaries(self) -> None:
        """The store knows the dictionary that this process packs with, and this process all those
        of the store."""
        stored: dict[int, bytes] = dict(self.rows("dictionaries"))
        packers.learn_all(stored)
        if packers.CURRENT not in stored:
            self.execute("dictionary_put", number=packers.CURRENT, data=dictionary(packers.CURRENT))

    def _connect(self) -> Connection:
        # Short, because a stopped engine in the middle of a transaction holds up its rescue.
        idle_ms = max(1000, min(30_000, self.rules.lease_ms // 4))
        session = {**PLANNER, "idle_in_transaction_session_timeout": str(idle_ms)}
        return connect(self.url, self._name, session)

    def _look(self) -> None:
        self.timeline.look(self.db, self._now())

    def _look_at_first(self) -> None:
        """Look at the server of a new connection. One on which that failed is closed, because only
        new connections are looked at."""
        try:
            self._look()
        except BaseException:
            with suppress(psycopg.Error):
                self.db.close()
            raise

    # -- statements and transactions ----------------------------------------------------------

    # `execute`, `rows` and `one` are for the inside of a transaction or of `run`.

    def execute(self, query: str, **values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        return self.db.execute(SQL[query], values, binary=True)

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self.execute(query, **values).fetchall()

    def one(self, query: str, **values: Any) -> Any:
        row = self.execute(query, **values).fetchone()
        return None if row is None else row[0]

    def read(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query that needs no transaction."""
        return self.run(lambda: self.rows(query, **values))

    def read_one(self, query: str, **values: Any) -> Any:
        """The first value of its first row; None if there is none."""
        return self.run(lambda: self.one(query, **values))

    def run(self, action: Callable[[], T]) -> T:
        """Do something on a connection that works, a new one if the last is gone; errors come out
        as ours. Meanwhile the engine's loop may work: most of the time goes to the server."""
        self.shifts.away()
        try:
            if self.db.closed:
                self.db = self._connect()
                self.contact.lost()
                self._look_at_first()
            return action()
        except psycopg.Error as error:
            self._drop_broken()
            raise mapped(error, self.where) from None

    def _drop_broken(self) -> None:
        """After an error in a transaction nobody knows what the server did: close the connection,
        so that the next call opens another."""
        if not self.db.closed and self.db.info.transaction_status == 0:
            return
        with suppress(psycopg.Error):
            self.db.close()

    def transaction(self, work: Callable[[int], T], engine_id: int | None = None) -> T:
        """A transaction; with an engine, its first statement is the fence.

        `work` gets the store's time. It is called again if the transaction lost against another,
        so it changes nothing but the store.
        """

        def attempt() -> T:
            with self.db.transaction():
                now = self._now() if engine_id is None else self.fence(engine_id)
                return work(now)

        for left in reversed(range(RETRIES)):
            try:
                return self.run(lambda: self._retryable(attempt))
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

    def fence(self, engine_id: int) -> int:
        """Renew the lease of an engine and return the store's time; raises Fenced if the engine was
        declared dead."""
        now: int | None = self.one(
            "fence", now=self.test_now(), lease=self.rules.lease_ms, engine_id=engine_id
        )
        if now is None:
            raise Fenced(f"Engine {engine_id} was declared dead.")
        self.contact.made(now)
        return now

    def test_now(self) -> int | None:
        """The time that a test brings; None: the server's counts."""
        return self._clock() if self._clock is not None else None

    def _now(self) -> int:
        now: int = self.one("clock", now=self.test_now())
        self.contact.made(now)
        return now

    def now_ms(self) -> int:
        return self.run(self._now)

    @cached_property
    def epoch_ms(self) -> int:
        """The moment from which logs count time."""
        return int(self.read_one("setting_get", key=EPOCH_KEY) or 0)

    def put(self, settings: Mapping[str, Any]) -> None:
        """Store settings of the crawl, inside a transaction of the caller."""
        for key, value in sorted(settings.items()):
            self.execute("setting_put", key=key, value=str(value))

    def load_in_bulk(self) -> None:
        """The server needs no preparation."""

    def close(self) -> None:
        self.db.close()


class _Lost(Exception):
    """A transaction lost against another and may be tried again."""
