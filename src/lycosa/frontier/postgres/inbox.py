"""Links on their way on PostgreSQL: written into buckets, and brought to the logs of their domains.

Owns the table `inbox`. What is new is decided before a transaction; in it one statement takes all
the rows, or none: another engine that is about to deliver one is never waited for. What buckets are
for is in `frontier.inbox`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lycosa.frontier.inbox import (
    SHORT_ROUNDS,
    Delivery,
    InboxRow,
    Rounds,
    buckets,
    buckets_read,
    rows_for,
)
from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.values import Committed


class Buckets:
    """What other parts of the frontier do with links on their way."""

    def __init__(self, store: PostgresStore, adder: Adder) -> None:
        self._store = store
        self._adder = adder
        self.rounds = Rounds()

    def count(self, links: int) -> int:
        """Into how many buckets so many links are put; 1: they are delivered at once."""
        if not self.rounds.domains:  # before the first commit of this process
            self.rounds.domains = self._known_domains()
        return buckets(self.rounds.domains, links, self._store.rules.buckets)

    def _known_domains(self) -> int:
        known: int = self._store.read("backlog")[0][1]
        return known

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

    def _rows(self, values: dict[str, int]) -> Iterable[tuple[int, bytes]]:
        return ((row[0], row[1]) for row in self._store.read("inbox_read", **values))

    def deliver_for(self, engine_id: int) -> bool:
        """Deliver more, for an engine that was handed fewer domains than it asked for; whether
        there was something."""
        delivered = False
        for _ in range(SHORT_ROUNDS):
            made = self._read(engine_id, 1, 0, self._store.now_ms())
            if not made.mail.keys:
                break
            alone = partial(self._alone, engine_id, made)
            self.rounds.keep(self._store.transaction(alone, engine_id))
            delivered = True
        return delivered

    def _alone(self, engine_id: int, made: Delivery, now: int) -> Committed:
        result = Committed(now, 0, False, 0)
        if self.take(engine_id, made, now):
            self._bring(engine_id, made, now, result)
        return result

    # What follows is for the inside of a transaction.

    def post(self, rows: list[InboxRow]) -> None:
        """Links go on their way."""
        if rows:
            keys, links, data = zip(*rows, strict=True)
            values = {"keys": int8s(keys), "links": int8s(links), "data": blobs(data)}
            self._store.execute("inbox_post", **values)

    def take(self, engine_id: int, made: Delivery, now: int) -> bool:
        """Take rows away, for a caller who brings what is in them; False: another engine brought
        some of them meanwhile, or is about to, and the others stay."""
        mail = made.mail
        if not mail.keys:
            return False
        values = {"keys": int8s(mail.keys), "count": len(mail.keys)}
        if self._store.one("inbox_take", **values) != len(mail.keys):
            self.rounds.collided(engine_id)
            return False
        if mail.damaged:
            keys, whys, data = zip(*mail.damaged, strict=True)
            told = {"keys": int8s(keys), "whys": texts(whys), "data": blobs(data)}
            self._store.execute("inbox_damaged", now=now, **told)
        return True

    def _bring(self, engine_id: int, made: Delivery, now: int, result: Committed) -> None:
        places, chunks = made.mail.found_ms, made.chunks
        queued, domains = self._adder.deliver(made.new, now, result, chunks=chunks, places=places)
        values = {"engine_id": engine_id, "queued": queued, "domains": domains}
        self._store.execute("account_delivered", **values)
