"""Looks through a whole store and compares it with what the witness saw.

Pages and queued URLs are read as any reader of a crawl reads them. Tokens are nobody's verb: for
them the names of their tables are known here (`frontier/states` explains them). If a store has an
`inbox`, URLs in it are on their way, and no reader need show them before they have arrived.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from lycosa.frontier.protocol import open_reader
from lycosa.frontier.reader import Reader
from virtual.sites import parsed
from virtual.witness import DONE, QUEUED, Witness

NOT_ONE_TOKEN = """
SELECT id, sum(known), sum(tokens) FROM (
    SELECT id, 1 AS known, CASE WHEN idle THEN 1 ELSE 0 END AS tokens FROM domains
    UNION ALL SELECT id, 0, 1 FROM ready
    UNION ALL SELECT id, 0, 1 FROM held) AS found
GROUP BY id HAVING sum(known) <> 1 OR sum(tokens) <> 1 LIMIT 5
"""
HELD = "SELECT id, engine_id FROM held"


def sweep(witness: Witness, frontier: Any, folder: Path, store: str) -> str:
    """Every invariant over all domains and URLs; returns what was looked at."""
    begin = time.perf_counter()
    tokens(witness, frontier.db)
    reader = open_reader(folder, store)
    try:
        pages, queued = _pages(witness, reader), _queued(witness, reader, waiting(frontier.db))
    finally:
        reader.close()
    domains = frontier.backlog()[1]
    seconds = time.perf_counter() - begin
    return (
        f"{domains:,} domains with one token each, {witness.held:,} held; {pages:,} pages,"
        f" {queued:,} queued URLs ({seconds:.0f} s)"
    )


def tokens(witness: Witness, db: Any) -> None:
    """Each domain has one token, and is held by whom we think, or by nobody."""
    for found in db.execute(NOT_ONE_TOKEN).fetchall():
        witness.complain(f"P2: a domain without its one token (id, rows, tokens): {found}")
    held = dict(db.execute(HELD).fetchall())
    ids, holder = witness.sites.ids, witness.holder
    wrong = [d for d, ident in enumerate(ids) if holder[d] != held.get(ident, 0)]
    for d in wrong:
        complaint = f"held by {held.get(ids[d], 0)} in the store, by {holder[d]} as we saw it"
        witness.complain(f"P2: {witness.sites.names[d]} {complaint}")
    if len(held) != witness.held:
        witness.complain(f"P2: {len(held)} domains are held in the store, {witness.held} in all")
    witness.checks += 2 * witness.sites.domains


def _pages(witness: Witness, reader: Reader) -> int:
    """F1: what is done has a row, and only one."""
    seen = bytearray(len(witness.states))
    count = 0
    for page in reader.pages(limit=1 << 62, newest=False):
        number = witness.sites.number(*parsed(page.url))
        if witness.states[number] != DONE or seen[number]:
            witness.complain(f"F1: {page.url} has a row, and is not done or has two")
        seen[number] = 1
        count += 1
    if count != witness.done:
        witness.complain(f"F1: {count} pages in the store, {witness.done} done")
    witness.checks += count
    return count


def waiting(db: Any) -> bool:
    """Whether something is on its way to the logs of domains."""
    with suppress(sqlite3.Error, psycopg.Error):  # there is no such table
        return db.execute("SELECT 1 FROM inbox LIMIT 1").fetchone() is not None
    return False


def _queued(witness: Witness, reader: Reader, more: bool) -> int:
    """F1: what is queued is in the store. `more`: some of it need not be seen yet."""
    seen = bytearray(len(witness.states))
    count = 0
    for url in reader.queued_urls():
        number = witness.sites.number(*parsed(url))
        if witness.states[number] != QUEUED:
            witness.complain(f"F1: {url} is queued in the store, and should not be")
        count += not seen[number]
        seen[number] = 1
    if count > witness.queued or (count < witness.queued and not more):
        witness.complain(f"F1: {count} URLs queued in the store, {witness.queued} in all")
    witness.checks += count
    return count
