"""Links on their way on SQLite: written into buckets, and delivered to the logs of their domains.

Owns the table `inbox`. What is new is decided before a transaction; in it the one lock on writing
makes sure that the rows are still there. What buckets are for is in `frontier.inbox`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from lycosa.frontier import queries
from lycosa.frontier.inbox import (
    SHORT_ROUNDS,
    Delivery,
    InboxRow,
    Rounds,
    buckets,
    buckets_read,
    rows_for,
)
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.values import Committed

SQL = queries.load("sqlite")


class Buckets:
    """What other parts of the frontier do with links on their way."""

    def __init__(self, store: SqliteStore, adder: Adder) -> None:
        self._store = store
        self._db = store.db
        self._adder = adder
        self.rounds = Rounds()

    def count(self, links: int) -> int:
        """Into how many buckets so many links are put; 1: they are delivered at once."""
        if not self.rounds.domains:  # before the first commit of this process
            self.rounds.domains = self._known_domains()
        return buckets(self.rounds.domains, links, self._store.rules.buckets)

    def _known_domains(self) -> int:
        known: int | None = self._db.execute(SQL["backlog"]).fetchone()[1]
        return known or 0

    def next(self, engine_id: int, posted: int, now: int) -> Delivery:
        """What a commit delivers that puts so many links on their way: those of the next bucket."""
        count = buckets_read(self.rounds.domains, self._store.rules.buckets)
        return self._read(engine_id, count, posted, now)

    def _read(self, engine_id: int, count: int, posted: int, now: int) -> Delivery:
        epoch = self._store.epoch_ms
        mail = rows_for(self.rounds, engine_id, count, posted, self._rows, epoch)
        if not mail.links:
            return Delivery(mail)
        new = self._adder.new_to_logs(mail.links.values())
        return Delivery(mail, new, new.chunks(epoch, now))

    def _rows(self, values: dict[str, int]) -> Iterator[tuple[int, bytes]]:
        """Row by row: how many are wanted, only their contents tell."""
        with closing(self._db.execute(SQL["inbox_read"], values)) as cursor:
            yield from cursor

    @errors_mapped
    def deliver_for(self, engine_id: int) -> bool:
        """Deliver more, for an engine that was handed fewer domains than it asked for; whether
        there was something."""
        delivered = False
        for _ in range(SHORT_ROUNDS):
            made = self._read(engine_id, 1, 0, self._store.now_ms())
            if not made.mail.keys:
                break
            result = Committed(0, 0, False, 0)
            with self._store.transaction(engine_id) as now:
                if self.take(engine_id, made, now):
                    self._bring(engine_id, made, now, result)
            self.rounds.keep(result)
            delivered = True
        return delivered

    # What follows is for the inside of a transaction.

    def post(self, rows: list[InboxRow]) -> None:
        """Links go on their way."""
        self._store.write_rows("inbox_post", rows)

    def take(self, engine_id: int, made: Delivery, now: int) -> bool:
        """Take rows away, for a caller who brings what is in them; False: another engine brought
        some of them meanwhile, and the others stay."""
        mail = made.mail
        if not mail.keys:
            return False
        keys = json_ids(mail.keys)
        if self._store.one("inbox_there", (keys,)) != len(mail.keys):
            self.rounds.collided(engine_id)
            return False
        self._store.write_rows("inbox_damaged", [(now, *each) for each in mail.damaged])
        self._db.execute(SQL["inbox_take"], (keys,))
        return True

    def _bring(self, engine_id: int, made: Delivery, now: int, result: Committed) -> None:
        places, chunks = made.mail.found_ms, made.chunks
        queued, domains = self._adder.deliver(made.new, now, result, chunks=chunks, places=places)
        values = {"engine_id": engine_id, "queued": queued, "domains": domains}
        self._db.execute(SQL["account_delivered"], values)
