"""A crawl's SQLite file as a store: one connection, its transactions, the fence, and statements for
many rows at once.

The parts of a frontier (`add`, `leases`, `commit`, …) share one. It knows nothing of leases, queues
or pages.
"""

from __future__ import annotations

import fcntl
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import orjson

from lycosa.errors import Fenced
from lycosa.frontier import queries
from lycosa.frontier.keys import EPOCH_KEY
from lycosa.frontier.log import packers
from lycosa.frontier.log.dictionary import dictionary
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.sqlite.connection import (
    BEGIN_AGAIN,
    BUSY_MS,
    LOG_BYTES,
    begin,
    check_format,
    check_sound,
    connect,
    errors_mapped,
    mapped,
    migrate,
)
from lycosa.frontier.states import Contact
from lycosa.shifts import Shifts

SQL = queries.load("sqlite")
ROWS = 64  # of one statement, a power of two
LIST = 500  # domains asked for in one query: what comes back is in memory at once
GAP = 2 * BEGIN_AGAIN  # seconds between two turns, for those who have none
LONG_LOG = 4 * LOG_BYTES
LOG_WAIT_MS = 200  # that a commit waits for those who use a log that is too long
LOG_AGAIN_MS = 5000  # after it waited for nothing
_ROW = re.compile(r"(?:VALUES|WHERE) (\([^()]*\?\))")


@cache
def for_rows(statement: str, count: int) -> str:
    """A statement made for one row of values, or for one condition, for so many."""
    row = _ROW.search(statement)
    assert row is not None
    between = ", " if row[0].startswith("VALUES") else " OR "
    return statement[: row.start(1)] + between.join([row[1]] * count) + statement[row.end(1) :]


def in_lists(ids: list[int]) -> Iterator[str]:
    """Numbers for `json_each`, some at a time."""
    for at in range(0, len(ids), LIST):
        yield json_ids(ids[at : at + LIST])


def json_ids(ids: Sequence[int]) -> str:
    """Numbers for `json_each`."""
    return orjson.dumps(ids).decode()


class SqliteStore:
    """One connection. `now_ms` is the store's clock. `turns` is a descriptor of something that all
    engines of a node can lock: they take turns at writing. `shifts` are those of the engine."""

    def __init__(
        self,
        path: Path,
        rules: StoreRules,
        now_ms: Callable[[], int],
        *,
        create: bool = False,
        turns: int | None = None,
        shifts: Shifts | None = None,
    ) -> None:
        self.rules = rules
        self.shifts = shifts or Shifts()
        self.now_ms = now_ms
        self.contact = Contact(rules.lease_ms)
        self._turns = turns
        self._log = Path(f"{path.resolve()}-wal")
        self._log_again = 0  # when to look at its length again
        self.db = connect(path, "rwc" if create else "rw")
        if create:
            migrate(self.db)
        else:
            check_format(self.db)
        self._share_dictionaries()

    @errors_mapped
    def _share_dictionaries(self) -> None:
        """The store knows the dictionary that this process packs with, and this process all those
        of the store."""
        stored = dict(self.db.execute(SQL["dictionaries"]).fetchall())
        packers.learn_all(stored)
        if packers.CURRENT not in stored:
            self.db.execute(SQL["dictionary_put"], (packers.CURRENT, dictionary(packers.CURRENT)))

    # -- transactions -------------------------------------------------------------------------

    @contextmanager
    def transaction(
        self, engine_id: int | None = None, after: Callable[[], None] | None = None
    ) -> Iterator[int]:
        """A write transaction; with an engine, its first statement is the fence. `after` is called
        when it is committed, and no other engine of the node has begun to write."""
        self.shifts.away()  # or others might wait for our loop, while this holds the write lock
        with self._turn():
            with self._committed(engine_id) as now:
                yield now
            if after is not None:
                after()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other engine of the node writes. SQLite's own waiting is not fair: of two
        engines that always have something to write, one may wait for seconds, and neither ever
        finds the log unused."""
        if self._turns is None:
            yield
            return
        fcntl.lockf(self._turns, fcntl.LOCK_EX, 1)
        try:
            yield
            time.sleep(GAP)
        finally:
            fcntl.lockf(self._turns, fcntl.LOCK_UN, 1)

    @contextmanager
    def _committed(self, engine_id: int | None) -> Iterator[int]:
        try:
            if self._turns is None:
                begin(self.db)
            else:
                self.db.execute("BEGIN IMMEDIATE")
            now = self.now_ms()
            self.contact.made(now)
            if engine_id is not None:
                self._fence(engine_id, now)
            yield now
            self.db.execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            raise mapped(error) from error
        except BaseException:
            self._rollback()
            raise

    def shorten_log(self) -> None:
        """Begin the log anew if it is long. SQLite does so by itself only in a moment in which
        nobody reads or writes: several busy engines leave no such moment, and the log would grow.
        """
        try:
            if self._log.stat().st_size <= LONG_LOG or self.now_ms() < self._log_again:
                return
            self.db.execute(f"PRAGMA busy_timeout = {LOG_WAIT_MS}")
            busy = self.db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0]
        except (OSError, sqlite3.Error):
            busy = 1  # what was committed is committed; if it matters, the next commit fails too
        self.db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # A reader may stay for minutes, and while this engine waits for it, all others wait too.
        self._log_again = self.now_ms() + LOG_AGAIN_MS if busy else 0

    def _rollback(self) -> None:
        try:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # what made us roll back is the error to tell of

    def end_savepoint(self, name: str, keep: bool) -> None:
        """Keep or undo what was done since. A savepoint left open would make every later
        statement note the pages it changes: a hundred times the cost."""
        if not keep:
            self.db.execute(f"ROLLBACK TO {name}")
        self.db.execute(f"RELEASE {name}")

    def _fence(self, engine_id: int, now: int) -> None:
        lease = self.rules.lease_ms
        done = self.db.execute(SQL["fence"], {"now": now, "lease": lease, "engine_id": engine_id})
        if done.rowcount == 0:
            raise Fenced(f"Engine {engine_id} was declared dead.")

    def one(self, query: str, values: Any = ()) -> Any:
        row = self.db.execute(SQL[query], values).fetchone()
        return None if row is None else row[0]

    def rows(self, query: str, values: Any = ()) -> Any:
        """All rows of a query that puts them into one, as JSON. Each row by itself, and each
        statement, is a chance to lose the interpreter's lock to a busy engine: see decision 0009.
        """
        return orjson.loads(self.one(query, values))

    def write_rows(self, query: str, rows: Sequence[Sequence[Any]], most: int = ROWS) -> int:
        """The statement for all rows, `most` at a time; returns how many it changed."""
        changed = at = 0
        while at < len(rows):
            # By powers of two: statements stay prepared, and hold the values they had last.
            while most > len(rows) - at:
                most //= 2
            values = [value for row in rows[at : at + most] for value in row]
            changed += self.db.execute(for_rows(SQL[query], most), values).rowcount
            at += most
        return changed

    @cached_property
    def epoch_ms(self) -> int:
        """The moment from which logs count time."""
        return int(self.one("setting_get", {"key": EPOCH_KEY}) or 0)

    def put(self, settings: Mapping[str, Any]) -> None:
        """Store settings of the crawl, inside a transaction of the caller."""
        self.db.executemany(
            SQL["setting_put"],
            [{"key": key, "value": str(value)} for key, value in settings.items()],
        )

    # -- the file -----------------------------------------------------------------------------

    def check(self, seconds: float) -> None:
        """Raise Damaged if the file is; looks no longer than so many seconds."""
        check_sound(self.db, seconds)

    @errors_mapped
    def load_in_bulk(self) -> None:
        """This connection loads much at once: seeds load in half the time with few checkpoints."""
        self.db.execute("PRAGMA wal_autocheckpoint = 16000")

    @errors_mapped
    def checkpoint(self) -> None:
        """Bring everything from the log into the one file; raises DiskFull if it does not fit."""
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        self.db.close()
