"""Reads the rows of URLs that older formats kept into the logs of their domains, on SQLite.

Some domains are one transaction, so that an upgrade of many millions of URLs that is cut off goes
on where it was. The rows of a domain are deleted by the transaction that writes its chunks: what is
left of them is still to be done.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from lycosa.frontier.log.rows import log_of_rows

ROWS_GONE = 7  # the format that has no rows of URLs any more
DOMAINS = 500  # of one transaction
_NUMBERS = (1 << 31) - 1

_NEXT = """SELECT domain_id FROM seen WHERE domain_id > ? ORDER BY domain_id LIMIT 1"""
_QUEUED = """SELECT ord, fp, url, depth, attempts, flags FROM queue WHERE domain_id = ?
ORDER BY ord, fp"""
_SEEN = "SELECT fp FROM seen WHERE domain_id = ?"
_ANSWERED = "SELECT fp FROM pages WHERE domain_id = ? AND status > 0"
_LAST = "SELECT max(key) FROM log WHERE key BETWEEN ? AND ?"


def rows_to_log(db: sqlite3.Connection) -> None:
    """Read what is left of the rows."""
    domains = _domains(db)
    while True:
        db.execute("BEGIN IMMEDIATE")
        try:
            moved = 0
            for ident in domains:
                _move(db, ident)
                moved += 1
                if moved == DOMAINS:
                    break
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        if not moved:
            return


def _domains(db: sqlite3.Connection) -> Iterator[int]:
    """All domains that have rows."""
    ident = -(1 << 63)
    while (row := db.execute(_NEXT, (ident,)).fetchone()) is not None:
        ident = row[0]
        yield ident


def _move(db: sqlite3.Connection, ident: int) -> None:
    rows = db.execute(_QUEUED, (ident,)).fetchall()
    seen = [row[0] for row in db.execute(_SEEN, (ident,))]
    answered = {row[0] for row in db.execute(_ANSWERED, (ident,))}
    first = ident & ~_NUMBERS
    (last,) = db.execute(_LAST, (first, first | _NUMBERS)).fetchone()
    key = first if last is None else last + 1
    chunks = log_of_rows(ident, rows, seen, answered)
    db.executemany("INSERT INTO log (key, data) VALUES (?, ?)", enumerate(chunks, start=key))
    db.execute("DELETE FROM queue WHERE domain_id = ?", (ident,))
    db.execute("DELETE FROM seen WHERE domain_id = ?", (ident,))
