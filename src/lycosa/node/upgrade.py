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
    """Bring the crawl in a directory or on a server to the format that this lycosa works with."""
    before = _on_server(store) if is_server(store) else _in_directory(root)
    log.info(f"the crawl was brought up to date from format {before}")


def _in_directory(root: Path) -> int:
    from lycosa.frontier.sqlite.connection import connect, migrate

    lock = datadir.lock(root)
    try:
        with closing(connect(root / DATABASE, "rw")) as db:
            return migrate(db)
    finally:
        os.close(lock)


def _on_server(store: str) -> int:
    from lycosa.frontier.postgres.connection import connect, parsed, place
    from lycosa.frontier.postgres.migrating import migrate

    with closing(connect(store, "lycosa supervisor")) as db:
        return migrate(db, place(parsed(store)))
