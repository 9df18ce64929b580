"""The frontier on SQLite: one file, one short write transaction per engine and second.

Owns which part has which verb. Every engine has its own connection and calls it from one thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from lycosa.frontier.rules import StoreRules
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.again import PagesAgain
from lycosa.frontier.sqlite.commit import Commits
from lycosa.frontier.sqlite.engines import EngineTable
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.history import HistoryTable
from lycosa.frontier.sqlite.inbox import Buckets
from lycosa.frontier.sqlite.leases import Leases
from lycosa.frontier.sqlite.left_out import LeftOutUrls
from lycosa.frontier.sqlite.logs import Logs
from lycosa.frontier.sqlite.overview import Overview
from lycosa.frontier.sqlite.pages import Pages
from lycosa.frontier.sqlite.planning import Planner
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.shifts import Shifts


class SqliteFrontier:
    """See `protocol.Frontier`. `now_ms` is the store's clock, `turns` and `shifts`
    as in `SqliteStore`."""

    server_clock = False
    server = ""

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
        store = SqliteStore(path, rules, now_ms, create=create, turns=turns, shifts=shifts)
        self.store = store
        tokens, logs, errands = Tokens(store), Logs(store), Errands(store)
        pages = Pages(store)
        adder = Adder(store, tokens, logs)
        inbox = Buckets(store, adder)
        leases = Leases(store, tokens, logs, inbox, errands)
        engines, overview = EngineTable(store, tokens, logs), Overview(store, tokens)
        left_out, again = LeftOutUrls(store, adder), PagesAgain(store, logs, pages, adder)
        planner = Planner(store, logs, inbox, errands)
        commits = Commits(store, tokens, leases, planner, pages, adder, inbox, errands, left_out)

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
        self.others = engines.others
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

        # What only a file needs.
        self.check = store.check
        self.checkpoint = store.checkpoint

    def obey(self, rules: StoreRules) -> None:
        """From now on this connection applies these rules."""
        self.rules = self.store.rules = rules

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, for what moves a crawl."""
        return self.store.db

    @property
    def now_ms(self) -> Callable[[], int]:
        """The store's clock. A start replaces it: the wall clock may have been set back since."""
        return self.store.now_ms

    @now_ms.setter
    def now_ms(self, clock: Callable[[], int]) -> None:
        self.store.now_ms = clock
