"""Reads the rows of URLs that older formats kept into the logs of their domains, on PostgreSQL.

Some domains are one transaction: a crawl of many millions of URLs does not begin anew when it is
cut off. The rows of a domain are deleted with the transaction that writes its chunks, so whatever
is left in them is still to be done.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from lycosa.frontier.log.rows import log_of_rows
from lycosa.frontier.postgres.connection import Connection, blobs, int8s

ROWS_GONE = 7  # the format that has no rows of URLs any more
DOMAINS = 500  # of one transaction
BEFORE_ALL = -(1 << 63)

_NEXT = """
WITH RECURSIVE known (id) AS (
    SELECT min(domain_id) FROM seen WHERE domain_id > %(after)s
    UNION ALL
    SELECT (SELECT min(domain_id) FROM seen WHERE domain_id > known.id) FROM known
    WHERE known.id IS NOT NULL)
SELECT id FROM known WHERE id IS NOT NULL LIMIT %(limit)s"""
_QUEUED = """SELECT domain_id, ord, fp, url, depth, attempts, flags FROM queue
WHERE domain_id = ANY (%(ids)s) ORDER BY domain_id, ord, fp"""
_SEEN = "SELECT domain_id, fp FROM seen WHERE domain_id = ANY (%(ids)s)"
_ANSWERED = "SELECT domain_id, fp FROM pages WHERE domain_id = ANY (%(ids)s) AND status > 0"
_INSERT = "INSERT INTO log (domain_id, data) SELECT * FROM unnest(%(ids)s, %(chunks)s)"
_DELETE = (
    "DELETE FROM queue WHERE domain_id = ANY (%(ids)s)",
    "DELETE FROM seen WHERE domain_id = ANY (%(ids)s)",
)


def rows_to_log(db: Connection) -> None:
    """Read what is left of the rows."""
    after = BEFORE_ALL
    while True:
        with db.transaction():
            rows = db.execute(_NEXT, {"after": after, "limit": DOMAINS}).fetchall()
            if not rows:
                return
            ids = [row[0] for row in rows]
            _move(db, ids)
        after = ids[-1]


def _move(db: Connection, ids: list[int]) -> None:
    chosen = {"ids": int8s(ids)}

    def by_domain(query: str) -> dict[int, list[tuple[Any, ...]]]:
        found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for ident, *rest in db.execute(query, chosen, binary=True):
            found[ident].append(tuple(rest))
        return found

    queued, seen, answered = by_domain(_QUEUED), by_domain(_SEEN), by_domain(_ANSWERED)
    puts = []
    for ident in ids:
        known = [fp for (fp,) in seen[ident]]
        rows: Any = queued[ident]
        chunks = log_of_rows(ident, rows, known, {fp for (fp,) in answered[ident]})
        puts += [(ident, chunk) for chunk in chunks]
    if puts:
        owners, data = zip(*puts, strict=True)
        db.execute(_INSERT, {"ids": int8s(owners), "chunks": blobs(data)})
    for statement in _DELETE:
        db.execute(statement, chosen)
