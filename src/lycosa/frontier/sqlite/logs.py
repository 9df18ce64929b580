"""The logs of domains on SQLite: their chunks in one table, by a key that holds both the domain and
the number of the chunk.

Owns the keys: 32 bits of the domain's id and 31 bits of a number. Two domains may share the 32
bits; a chunk says whose it is, and readers leave those of others alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lycosa.errors import Fenced
from lycosa.frontier import queries
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.sqlite.store import SqliteStore, in_lists, json_ids

SQL = queries.load("sqlite")
NUMBERS = (1 << 31) - 1  # of the chunks that share 32 bits of an id
PART = 64  # domains whose logs are in memory at once: a log of a large site takes a megabyte


def first_key(domain_id: int) -> int:
    """The least key of a domain's chunks."""
    return domain_id & ~NUMBERS


@dataclass(slots=True)
class LogsRead:
    """The logs of some domains as they were at one moment."""

    logs: dict[int, DomainLog] = field(default_factory=dict)
    keys: set[int] = field(default_factory=set)  # of all chunks that were read

    def __getitem__(self, domain_id: int) -> DomainLog:
        return self.logs[domain_id]


@dataclass(slots=True)
class LogsSeen:
    """What is kept of logs that are let go once they were looked at."""

    keys: set[int] = field(default_factory=set)  # of all chunks that were read
    damaged: dict[int, list[tuple[int, str]]] = field(default_factory=dict)  # `DomainLog.damaged`

    def one_by_one(self, parts: Iterable[LogsRead]) -> Iterator[DomainLog]:
        for part in parts:
            self.keys |= part.keys
            for ident, log in part.logs.items():
                if log.damaged:
                    self.damaged[ident] = log.damaged
                yield log


class Logs:
    """What other parts of the frontier do with the logs of domains."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.db

    def read(self, domain_ids: Iterable[int]) -> LogsRead:
        """The logs of these domains; that of a domain without chunks is empty."""
        epoch = self._store.epoch_ms
        ids = sorted(set(domain_ids))
        found = LogsRead({ident: DomainLog(ident, epoch) for ident in ids})
        sharing: dict[int, list[DomainLog]] = {}
        for ident, log in found.logs.items():
            sharing.setdefault(first_key(ident), []).append(log)
        for some in in_lists(sorted(sharing)):
            for key, data in self._db.execute(SQL["log_of"], {"ids": some}).fetchall():
                found.keys.add(key)
                for log in sharing[key & ~NUMBERS]:
                    log.add(key & NUMBERS, data)
        return found

    def in_parts(self, domain_ids: Iterable[int]) -> Iterator[LogsRead]:
        """The same, some domains at a time, for those who need not have all at once."""
        ids = sorted(set(domain_ids))
        for at in range(0, len(ids), PART):
            self._store.shifts.pause()
            yield self.read(ids[at : at + PART])

    # What follows is for the inside of a transaction of the caller.

    def insert(self, chunks: Sequence[tuple[int, bytes]]) -> None:
        """Append chunks, each to the log of a domain."""
        if not chunks:
            return
        firsts = sorted({first_key(ident) for ident, _ in chunks})
        ends = dict(zip(firsts, self._ends(firsts), strict=True))
        rows = []
        for ident, data in chunks:
            first = first_key(ident)
            last = ends[first]
            ends[first] = first if last is None else last + 1
            rows.append((ends[first], data))
        self._store.write_rows("log_insert", sorted(rows, key=lambda row: row[0]))

    def _ends(self, firsts: list[int]) -> list[int | None]:
        """The last key of each log, by the first that it could have."""
        ends: list[int | None] = self._store.rows("log_ends", {"ids": json_ids(firsts)})
        return ends

    def delete(self, chunks: Iterable[tuple[int, int]]) -> None:
        """Chunks, by domain and number, were folded into others. Raises Fenced if one of them is
        gone: then another engine had the domain meanwhile."""
        keys = [first_key(ident) | number for ident, number in chunks]
        if keys:
            gone = self._db.execute(SQL["log_delete"], (json_ids(keys),)).rowcount
            if gone != len(keys):
                raise Fenced("The log of a domain was changed by another engine.")

    def set_aside(self, domain_id: int, damaged: list[tuple[int, str]], now: int) -> None:
        """Chunks that can't be read, by number and why, leave a log and are kept as they are."""
        for number, why in damaged:
            key = first_key(domain_id) | number
            values = {"domain_id": domain_id, "key": key, "why": why, "now": now}
            self._db.execute(SQL["set_aside"], values)
            self._db.execute(SQL["log_delete"], (json_ids([key]),))

    def grown(self, domain_ids: Iterable[int], seen: LogsSeen) -> set[int]:
        """Those of these domains that have chunks which were not read."""
        ids = list(domain_ids)
        if not ids:
            return set()
        firsts = sorted({first_key(ident) for ident in ids})
        keys = self._store.rows("log_keys", {"ids": json_ids(firsts)})
        more = {key & ~NUMBERS for key in keys if key not in seen.keys}
        return {ident for ident in ids if first_key(ident) in more}
