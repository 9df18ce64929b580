"""Links on their way on SQLite: written into buckets, and delivered to the logs of their domains.

Owns the table `inbox`. What is new is decided before a transaction; in it the one lock on writing
makes sure that the rows are still there. What buckets are for is in `frontier.inbox`.
"""

from __future__ import annotations

from lycosa.frontier import queries
from lycosa.frontier.inbox import SHORT_ROUNDS, Delivery, InboxRow, Mail, Rounds
from lycosa.frontier.sqlite.add import Adder
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

    def read(self, engine_id: int, count: int, now: int) -> Delivery:
        """The next rows, of one of so many buckets, and what in them is new."""
        values = self.rounds.look(engine_id, count)
        found = self._db.execute(SQL["inbox_read"], values).fetchall()
        made = Delivery(Mail().read(found, self._store.epoch_ms), count)
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
            result = Committed(0, 0, False, 0)
            with self._store.transaction(engine_id) as now:
                queued, domains = self.deliver(engine_id, made, now, result)
                values = {"engine_id": engine_id, "queued": queued, "domains": domains}
                self._db.execute(SQL["account_delivered"], values)
            self.rounds.delivered(engine_id, made)
            self.rounds.keep(result)
            delivered = True
        return delivered

    # What follows is for the inside of a transaction of the caller.

    def post(self, rows: list[InboxRow]) -> None:
        """Links go on their way."""
        self._store.write_rows("inbox_post", rows)

    def deliver(
        self, engine_id: int, made: Delivery, now: int, result: Committed
    ) -> tuple[int, int]:
        """Bring rows to the logs, unless another engine brought some of them meanwhile; returns
        (URLs queued, domains created)."""
        mail = made.mail
        if not mail.keys:
            return 0, 0
        keys = json_ids(mail.keys)
        if self._store.one("inbox_there", (keys,)) != len(mail.keys):
            self.rounds.collided(engine_id, made)
            return 0, 0
        self._store.write_rows("inbox_damaged", [(now, *each) for each in mail.damaged])
        self._db.execute(SQL["inbox_take"], (keys,))
        places = mail.found_ms
        return self._adder.deliver(made.new, now, result, chunks=made.chunks, places=places)
