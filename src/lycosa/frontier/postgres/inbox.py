"""Links on their way on PostgreSQL: written into buckets, and brought to the logs of their domains.

Owns the table `inbox`. What is new is decided before a transaction; in it one statement takes all
the rows, or none: another engine that is about to deliver one is never waited for. What buckets are
for is in `frontier.inbox`.
"""

from __future__ import annotations

from functools import partial

from lycosa.frontier.inbox import SHORT_ROUNDS, Delivery, InboxRow, Mail, Rounds
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

    def read(self, engine_id: int, count: int, now: int) -> Delivery:
        """The next rows, of one of so many buckets, and what in them is new."""
        rows = self._store.read("inbox_read", **self.rounds.look(engine_id, count))
        made = Delivery(Mail().read(rows, self._store.epoch_ms), count)
        if made.mail.links:
            new = self._adder.new_to_logs(made.mail.links.values())
            made.pack(new, self._store.epoch_ms, now)
        return made

    def deliver_for(self, engine_id: int) -> bool:
        """Deliver more, for an engine that was handed fewer domains than it asked for; whether
        there was something."""
        delivered = False
        for _ in range(SHORT_ROUNDS):
            made = self.read(engine_id, 1, self._store.now_ms())
            if not made.mail.keys:
                break
            alone = partial(self._alone, engine_id, made)
            self.rounds.keep(self._store.transaction(alone, engine_id))
            self.rounds.delivered(engine_id, made)
            delivered = True
        return delivered

    def _alone(self, engine_id: int, made: Delivery, now: int) -> Committed:
        result = Committed(now, 0, False, 0)
        queued, domains = self.deliver(engine_id, made, now, result)
        values = {"engine_id": engine_id, "queued": queued, "domains": domains}
        self._store.execute("account_delivered", **values)
        return result

    # What follows is for the inside of a transaction of the caller.

    def post(self, rows: list[InboxRow]) -> None:
        """Links go on their way."""
        if rows:
            keys, links, data = zip(*rows, strict=True)
            values = {"keys": int8s(keys), "links": int8s(links), "data": blobs(data)}
            self._store.execute("inbox_post", **values)

    def deliver(
        self, engine_id: int, made: Delivery, now: int, result: Committed
    ) -> tuple[int, int]:
        """Bring rows to the logs, unless another engine brought some of them meanwhile; returns
        (URLs queued, domains created)."""
        mail = made.mail
        if not mail.keys:
            return 0, 0
        values = {"keys": int8s(mail.keys), "count": len(mail.keys)}
        if self._store.one("inbox_take", **values) != len(mail.keys):
            self.rounds.collided(engine_id, made)
            return 0, 0
        if mail.damaged:
            damaged, whys, data = zip(*mail.damaged, strict=True)
            values = {"keys": int8s(damaged), "whys": texts(whys), "data": blobs(data)}
            self._store.execute("inbox_damaged", now=now, **values)
        places = mail.found_ms
        return self._adder.deliver(made.new, now, result, chunks=made.chunks, places=places)
