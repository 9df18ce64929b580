"""Brings a crawl of an older format up to date before it is resumed.

Owns who may do that: nobody changes a store under engines that know its older format. A directory
has its lock for that; on a server the engines' leases tell. Each format is one transaction, so that
an upgrade that was killed goes on with the next start.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from lycosa.frontier.open import DATABASE, is_server
from lycosa.log import get_logger
from lycosa.node import datadir

log = get_logger("node")


def bring_up_to_date(root: Path, store: str) -> None:
    """Does nothing where there is no crawl, or one of the current format."""
    if is_server(store):
        _on_server(store)
    elif (root / DATABASE).exists():
        _in_directory(root)


def _in_directory(root: Path) -> None:
    from lycosa.frontier.sqlite.connection import connect, migrate, older_format

    with closing(connect(root / DATABASE, "rw")) as db:
        before = older_format(db)
        if not before:
            return
        datadir.check_old(root)
        lock = datadir.lock(root)
        try:
            _tell(before, migrate(db))
        finally:
            os.close(lock)


def _on_server(store: str) -> None:
    from lycosa.frontier.postgres.connection import connect, migrate, older_format, parsed, place

    with closing(connect(store, "lycosa supervisor")) as db:
        where = place(parsed(store))
        before = older_format(db, where)
        if before:
            _tell(before, migrate(db, where))


def _tell(before: int, now: int) -> None:
    log.info(f"the crawl was brought from format {before} to format {now}")
