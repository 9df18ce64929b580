"""The frontier on PostgreSQL: one connection per engine, one short transaction a second.

Owns which part has which verb. Every engine calls it from one thread.
"""

from __future__ import annotations

from collections.abc import Callable

from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.again import PagesAgain
from lycosa.frontier.postgres.commit import Commits
from lycosa.frontier.postgres.connection import Connection
from lycosa.frontier.postgres.engines import EngineTable
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.history import HistoryTable
from lycosa.frontier.postgres.inbox import Buckets
from lycosa.frontier.postgres.leases import Leases
from lycosa.frontier.postgres.left_out import LeftOutUrls
from lycosa.frontier.postgres.logs import Logs
from lycosa.frontier.postgres.nodes import Nodes
from lycosa.frontier.postgres.overview import Overview
from lycosa.frontier.postgres.planning import Planner
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.rules import StoreRules
from lycosa.shifts import Shifts


class PostgresFrontier:
    """See `protocol.Frontier`. `clock` replaces the server's clock in tests, `name` is what the
    server's administrator sees."""

    server_clock = True

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
        store = PostgresStore(url, rules, clock, create=create, name=name, shifts=shifts)
        self.store = store
        self.where = store.where  # for messages: the server, without user and password
        errands, tokens = Errands(store), Tokens(store)
        logs = Logs(store)
        adder = Adder(store, tokens, logs)
        inbox = Buckets(store, adder)
        leases = Leases(store, tokens, logs, inbox, errands)
        left_out, again = LeftOutUrls(store, adder), PagesAgain(store, tokens, logs, adder)
        planner = Planner(store, logs, inbox, errands)
        commits = Commits(store, tokens, leases, planner, adder, inbox, errands, left_out)
        engines, nodes = EngineTable(store, tokens, logs), Nodes(store)
        overview = Overview(store, tokens)

        self.now_ms = store.now_ms

        # What engines call.
        self.register = engines.register
        self.lease = leases.lease
        self.refill = leases.refill
        self.settled = leases.settled
        self.claim = errands.claim
        self.commit = commits.commit
        self.watch = commits.watch
        self.postpone = engines.postpone
        self.exclusions = overview.exclusions
        self.retire = engines.retire

        # What supervisors call, and commands that write.
        self.add = adder.add
        self.requeue = again.requeue
        self.lose = again.lose
        self.shorten = again.shorten
        self.restore = left_out.restore
        self.expired = engines.expired
        self.rescue = engines.rescue
        self.living = engines.living
        self.everyone = engines.everyone
        self.others = nodes.others
        self.note_crash = engines.note_crash
        self.finished = overview.finished
        self.totals = overview.totals
        self.backlog = overview.backlog
        self.active_domains = overview.active_domains
        self.committed_segments = overview.committed_segments
        self.setting = overview.setting
        self.put_settings = overview.put_settings
        self.steer = overview.steer
        self.put_exclusions = overview.put_exclusions
        self.newest_ms = overview.newest_ms
        self.put_history = HistoryTable(store).put_history
        self.load_in_bulk = store.load_in_bulk
        self.close = store.close

        # What only nodes that share a server need.
        self.opening = nodes.opening
        self.begin = nodes.begin

    def obey(self, rules: StoreRules) -> None:
        """From now on this connection applies these rules."""
        self.rules = self.store.rules = self.store.timeline.rules = rules

    @property
    def db(self) -> Connection:
        """The connection; another one after the server was gone."""
        return self.store.db

    @property
    def server(self) -> str:
        """Which server this is; another value says that the last commits may be lost."""
        return self.store.timeline.server
