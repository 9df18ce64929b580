"""The queues of domains as people look at them, read from their logs.

Owns also where links lie that are on their way to a queue, and how chunks are brought from a store
in small statements, however large a log is. What the chunks of a domain say together is
`log.domain_log`'s business. The statements are `chunks_of` and `chunks_after`, by the same names in
both dialects; `home` is a number under which the chunks of a domain lie together, on SQLite
sometimes with those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lycosa.frontier.inbox import BadRow, keys_for, unpacked
from lycosa.frontier.keys import EPOCH_KEY
from lycosa.frontier.log.domain_log import DomainLog, owner_of
from lycosa.frontier.log.packers import learn_all
from lycosa.frontier.values import Link

if TYPE_CHECKING:
    from lycosa.frontier.reader import Source

CHUNKS = 200  # brought by one statement
_BEFORE_ALL = -(1 << 63)


class Queues:
    """The logs of domains, for those who only look."""

    def __init__(self, source: Source, sql: Mapping[str, str]) -> None:
        self._source = source
        self._sql = sql

    @cached_property
    def _epoch_ms(self) -> int:
        """From which logs count time; whoever asks is about to read some."""
        stored = self._source.rows(self._sql["dictionaries"], {})
        learn_all({row["number"]: row["data"] for row in stored})
        rows = self._source.rows(self._sql["setting_get"], {"key": EPOCH_KEY})
        return int(rows[0]["value"]) if rows else 0

    def log(self, domain_id: int) -> DomainLog:
        """The log of a domain; empty if there is none."""
        return self._made(domain_id, self._chunks("chunks_of", id=domain_id))

    def logs(self) -> Iterator[DomainLog]:
        """The logs of all domains, as if by chance."""
        home, chunks = _BEFORE_ALL, list[dict[str, Any]]()
        for row in self._chunks("chunks_after"):
            if row["home"] != home:
                yield from self._apart(chunks)
                home, chunks = row["home"], []
            chunks.append(row)
        yield from self._apart(chunks)

    def count(self, domain_ids: Iterable[int]) -> int:
        """How many URLs of these domains are queued."""
        return sum(self.log(ident).counts().queued for ident in domain_ids)

    def on_its_way(self, domain_id: int, fp: int) -> Link | None:
        """A link to a URL that no engine has brought to its domain's log yet."""
        for first, last in keys_for(domain_id):
            for row in self._source.stream(
                self._sql["inbox_between"], {"first": first, "last": last}
            ):
                with suppress(BadRow):  # whoever delivers it sets it aside
                    for link in unpacked(row[0])[0]:
                        if link[:2] == (domain_id, fp):
                            return link
        return None

    def _chunks(self, query: str, **values: Any) -> Iterator[dict[str, Any]]:
        """The rows of a query, some at a time, each time those behind the last."""
        place = {"home": _BEFORE_ALL, "seq": -1}
        while True:
            more = {**values, **place, "limit": CHUNKS}
            rows = self._source.rows(self._sql[query], more)
            yield from rows
            if len(rows) < CHUNKS:
                return
            place = {"home": rows[-1]["home"], "seq": rows[-1]["seq"]}

    def _apart(self, chunks: list[dict[str, Any]]) -> Iterator[DomainLog]:
        """The logs of the domains that lie under one number."""
        for ident in sorted({owner_of(row["data"]) for row in chunks}):
            yield self._made(ident, chunks)

    def _made(self, domain_id: int, chunks: Iterable[dict[str, Any]]) -> DomainLog:
        log = DomainLog(domain_id, self._epoch_ms)
        for row in chunks:
            log.add(row["seq"], row["data"])
        return log
