"""The table of pages on SQLite, and where in it the page of a URL is.

An index by URL would be touched at a random place by every page: a read of the disk, and two
writes of four kilobytes for some thirty bytes. Instead, the keys of every 32,768 pages are sorted
and appended to a table as a *roll*. Of 64 rolls one is made, some keys at a time, so that there are
never more than some dozens to look into. The newest pages are in no roll: the table itself is
looked through from its end. Decision 0032 has the figures.

Nothing here keeps a URL from being recorded twice but the marks in the logs, by which a batch is
decided; the pages of domains whose logs lost a part are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Any

import orjson

from lycosa.frontier import queries
from lycosa.frontier.columns import page_values
from lycosa.frontier.keys import NEWEST_PAGE_KEY
from lycosa.frontier.sqlite.logs import first_key
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.tally import Key
from lycosa.records import PageRow

SQL = queries.load("sqlite")
ROLL = 32_768  # pages whose keys are sorted together: 50 ms of one commit
MANY = 64  # rolls of a level that become one of the next
PACE = 3  # keys at least that are merged for each page that is recorded: two levels need two
TURN = 512  # pages that are recorded between two merges: each touches every roll that it merges
RollKey = tuple[int, int, int]  # domain, fingerprint and id of a page
LOWEST = (-(1 << 63), -(1 << 63), 0)  # before all keys


class Pages:
    """What other parts of the frontier do with pages. All but `ids` is for the inside of a
    transaction of the caller."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.db

    def ids(self, keys: Iterable[Key]) -> dict[Key, int]:
        """Which of these URLs are recorded, and as which page."""
        wanted = orjson.dumps(sorted(set(keys))).decode()
        rows = self._db.execute(SQL["page_ids"], {"keys": wanted})
        return {(ident, fp): number for ident, fp, number in rows}

    def record(self, pages: list[PageRow]) -> list[PageRow]:
        """Pages become rows; returns those that do. Where the marks of a log were damaged, some may
        have a row already."""
        new = self._without_known(pages)
        if new:
            self.write([page_values(page) for page in new])
        return new

    def write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Pages, in the order of their columns, that are not recorded yet."""
        newest, sorted_to = self._ends()
        numbered = [(number, *row) for number, row in enumerate(rows, start=newest + 1)]
        self._store.write_rows("page_insert", numbered)
        last = newest + len(rows)
        if last >= sorted_to + ROLL:
            self._begin_roll(sorted_to, sorted_to + ROLL)
        if turns := last // TURN - newest // TURN:
            self._merge(PACE * TURN * turns)

    def delete(self, numbers: Sequence[int]) -> None:
        """Pages are no longer done. Their ids are never given again: rolls would lead to another
        page, and who reads on behind the newest page would miss it."""
        newest, _ = self._ends()
        self._db.execute(SQL["pages_delete"], (json_ids(numbers),))
        if newest in numbers:
            self._store.put({NEWEST_PAGE_KEY: newest})

    def _ends(self) -> tuple[int, int]:
        """The newest id that a page ever had, and up to which id pages are in rolls."""
        newest, sorted_to = self._db.execute(SQL["page_ends"]).fetchone()
        return newest, sorted_to

    def _without_known(self, pages: list[PageRow]) -> list[PageRow]:
        """Those that are not recorded yet. A chunk that can't be read may be of any domain that
        shares its part of the key."""
        damaged = {first_key(ident) for ident in self._store.rows("damaged_domains")}
        if not damaged:
            return pages
        doubtful = [page for page in pages if first_key(page.domain_id) in damaged]
        known = self.ids((page.domain_id, page.fp) for page in doubtful)
        return [page for page in pages if (page.domain_id, page.fp) not in known]

    # --- rolls ---

    def _begin_roll(self, after: int, last: int) -> None:
        """The keys of the pages behind an id, up to another, become a roll."""
        roll = self._store.one("roll_insert", {"level": 0, "last": last})
        self._db.execute(SQL["roll_fill"], {"roll": roll, "after": after, "last": last})
        self._begin_merge()

    def _begin_merge(self) -> None:
        """Many rolls of a level begin to become one of the next."""
        for level, last in self._db.execute(SQL["rolls_to_merge"], {"many": MANY}).fetchall():
            target = self._store.one("roll_insert", {"level": level + 1, "last": last})
            self._db.execute(SQL["merge_begin"], {"target": target, "level": level})

    def _merge(self, count: int) -> None:
        """So many keys at least, and at most twice as many, go on from the rolls that are being
        merged, of all the first ones."""
        found = self._db.execute(SQL["merging"]).fetchall()
        if not found:
            return
        target, rolls = found[0][0], [roll for _, roll in found]
        edge = self._edge(rolls, count)
        if edge is not None:
            values = {"target": target, "domain_id": edge[0], "fp": edge[1], "id": edge[2]}
            self._db.execute(SQL["keys_copy"], values)
            self._db.executemany(SQL["keys_delete"], [(roll, *edge) for roll in rolls])
            return
        self._db.execute(SQL["keys_copy_rest"], {"target": target})
        self._db.execute(SQL["keys_delete_rest"], (target,))
        self._db.execute(SQL["merge_end"], (target,))
        self._begin_merge()

    def _edge(self, rolls: list[int], count: int) -> RollKey | None:
        """Up to which key the rolls go on; None: to their ends, which are near. It is found in
        steps of some keys, each in the roll that is the least far by then: of a crawl that is at a
        few sites at a time, the first keys of all are those of one roll."""
        step = max(1, count // len(rolls))
        ends = [(end, roll) for roll in rolls if (end := self._end(roll, LOWEST, step))]
        heapify(ends)
        for _ in range(count // step - 1):
            if not ends:
                return None
            end, roll = ends[0]
            if further := self._end(roll, end, step):
                heapreplace(ends, (further, roll))
            else:
                heappop(ends)
        return ends[0][0] if ends else None

    def _end(self, roll: int, behind: RollKey, step: int) -> RollKey | None:
        """The key that comes so many behind one, in a roll."""
        values = (roll, *behind, step - 1)
        end: RollKey | None = self._db.execute(SQL["key_behind"], values).fetchone()
        return end
