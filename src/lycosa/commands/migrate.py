"""`lycosa migrate`: moves a stopped crawl from its SQLite file to a PostgreSQL server."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

from lycosa.called import called
from lycosa.errors import UserError
from lycosa.frontier.keys import CRAWL_KEY, ORIGINAL_KEY
from lycosa.settings.collect import Values
from lycosa.terminal import raw, redact


def migrate(values: Values, _: list[str]) -> int:
    """Move the frontier; what was fetched stays in the directory, which becomes that of a node."""
    from lycosa.frontier.protocol import check_server, is_server
    from lycosa.node import datadir

    root, store = values["from"], values["to"]
    if root is None or not is_server(store or ""):
        raise UserError("Say what to move where: --from DIR --to postgresql://user@host/database.")
    datadir.check_movable(root)
    check_server(store, "--to")
    lock = datadir.lock(root)
    try:
        counts = _move(root, store, values["moved"])
    finally:
        os.close(lock)
    print(f"Moved {counts['pages']:,} URLs that are done, {counts['queued']:,} queued ones and")
    print(f"{counts['domains']:,} domains; the text stays in {root}. Go on with:")
    print(f"  {called('crawl', '--resume', '--data-dir', root, '--store', redact(store))}")
    return 0


def _move(root: Path, store: str, moved: bool = False) -> dict[str, int]:
    from lycosa.clock import wall_now
    from lycosa.frontier.move import Move
    from lycosa.frontier.protocol import DATABASE, note_moved, open_reader
    from lycosa.frontier.sqlite.frontier import SqliteFrontier
    from lycosa.node import datadir, original
    from lycosa.node.presence import Presence
    from lycosa.node.rescue import take_over_earlier
    from lycosa.node.seed_loader import renamed
    from lycosa.settings.stored import stored_settings
    from lycosa.settings.values import CrawlSettings

    path = root / DATABASE
    reader = open_reader(root)
    stored = reader.settings()
    reader.close()
    original.check(stored.get(ORIGINAL_KEY), path, moved)
    crawl_settings = stored_settings(stored) or CrawlSettings(email="")
    frontier = SqliteFrontier(path, crawl_settings.store_rules(), wall_now)
    now = max(wall_now(), frontier.newest_ms() + 1)
    frontier.now_ms = lambda: now
    # A crawl that was killed: its domains wait one delay, as on any start.
    take_over_earlier(Presence(frontier, root))
    crawl = datadir.crawl_of(root) or stored.get(CRAWL_KEY) or uuid.uuid4().hex
    node = datadir.become_node(root, crawl)
    move = Move(
        frontier.db, store, node, str(root.resolve()), lambda key: renamed(node, key), _progress
    )
    counts = move.run(crawl, now, frontier.newest_ms())
    frontier.checkpoint()
    frontier.close()
    note_moved(root, redact(store))
    path.rename(path.with_name(f"{DATABASE}.migrated"))
    return counts


def _progress(table: str, rows: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{table}: {rows:,} rows   ", end="", file=raw(sys.stderr), flush=True)
