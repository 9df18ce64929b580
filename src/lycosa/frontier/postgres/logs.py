"""The logs of domains on PostgreSQL: their chunks in one table, by domain and number.

Owns how chunks are read and written: those of many domains in one statement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lycosa.errors import Fenced
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.store import PostgresStore

DOMAINS = 256  # asked for in one query: what comes back is in memory at once
FOREIGN = "it says that it is of another domain"


@dataclass(slots=True)
class LogsRead:
    """The logs of some domains as they were at one moment."""

    logs: dict[int, DomainLog] = field(default_factory=dict)
    chunks: dict[int, int] = field(default_factory=dict)  # how many each domain had

    def __getitem__(self, domain_id: int) -> DomainLog:
        return self.logs[domain_id]


@dataclass(slots=True)
class LogsSeen:
    """What is kept of logs that are let go once they were looked at."""

    chunks: dict[int, int] = field(default_factory=dict)  # how many each domain had
    damaged: dict[int, list[tuple[int, str]]] = field(default_factory=dict)  # `DomainLog.damaged`

    def one_by_one(self, parts: Iterable[LogsRead]) -> Iterator[DomainLog]:
        for part in parts:
            self.chunks |= part.chunks
            for ident, log in part.logs.items():
                if log.damaged:
                    self.damaged[ident] = log.damaged
                yield log


class Logs:
    """What other parts of the frontier do with the logs of domains."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def read(self, domain_ids: Iterable[int]) -> LogsRead:
        """The logs of these domains; that of a domain without chunks is empty. Needs no
        transaction, and may be called inside one."""
        found = LogsRead()
        for some in self.in_parts(domain_ids):
            found.logs |= some.logs
            found.chunks |= some.chunks
        return found

    def in_parts(self, domain_ids: Iterable[int]) -> Iterator[LogsRead]:
        """The same, some domains at a time, for those who need not have all at once."""
        ids = sorted(set(domain_ids))
        for at in range(0, len(ids), DOMAINS):
            part = self._read(ids[at : at + DOMAINS])
            self._store.shifts.pause()
            yield part

    def _read(self, ids: list[int]) -> LogsRead:
        epoch = self._store.epoch_ms
        found = LogsRead({ident: DomainLog(ident, epoch) for ident in ids}, dict.fromkeys(ids, 0))
        for ident, seq, data in self._store.read("log_of", ids=int8s(ids)):
            log = found.logs[ident]
            found.chunks[ident] += 1
            known = len(log.damaged)
            if not log.add(seq, data) and len(log.damaged) == known:
                log.damaged.append((seq, FOREIGN))
        return found

    # What follows is for the inside of a transaction of the caller.

    def insert(self, chunks: Sequence[tuple[int, bytes]]) -> None:
        """Append chunks, each to the log of a domain."""
        if chunks:
            ids, data = zip(*sorted(chunks, key=lambda chunk: chunk[0]), strict=True)
            self._store.execute("log_insert", ids=int8s(ids), chunks=blobs(data))

    def delete(self, chunks: Collection[tuple[int, int]]) -> None:
        """Chunks, by domain and number, were folded into others; Fenced if one of them is gone:
        then somebody else had the domain meanwhile."""
        if chunks:
            ids, seqs = zip(*sorted(chunks), strict=True)
            gone = self._store.one("log_delete", ids=int8s(ids), seqs=int8s(seqs))
            if gone != len(chunks):
                raise Fenced("The log of a domain was changed by another engine.")

    def set_aside(self, damaged: Collection[tuple[int, int, str]], now: int) -> None:
        """Chunks that can't be read, by domain, number and why, leave a log and are kept as they
        are."""
        if damaged:
            ids, seqs, whys = zip(*sorted(damaged), strict=True)
            values = {"ids": int8s(ids), "seqs": int8s(seqs), "whys": texts(whys)}
            self._store.execute("set_aside", now=now, **values)
