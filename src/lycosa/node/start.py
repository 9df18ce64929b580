"""Opens the store of a crawl for a run: of a new crawl, a resumed one, or one to be joined.

The caller has the lock of the data directory. Whatever can be wrong is found before anything is
changed; seeds are copied before there is a store that could claim to have them; and what earlier
runs held is taken over before the run begins.
"""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from lycosa import ownfiles
from lycosa.clock import engine_now, wall_now
from lycosa.errors import CrawlExists
from lycosa.frontier.keys import (
    CRAWL_KEY,
    FINISHED_KEY,
    MAX_PAGES_KEY,
    ORIGINAL_KEY,
    RULES_KEY,
    SEEDS_LOADED_KEY,
    SETTINGS_KEY,
    STARTED_KEY,
    STOP_KEY,
)
from lycosa.frontier.protocol import DATABASE, Frontier, is_server, open_reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.log import get_logger
from lycosa.node import datadir, original, rescue
from lycosa.node.join import as_stored, join, note_changes, page_limit
from lycosa.node.losses import name_losses
from lycosa.node.presence import Presence
from lycosa.settings.stored import node_json, node_key
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits

if TYPE_CHECKING:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

CHECK_SECONDS = 3.0  # for a look at an old database's file: one of a gigabyte is seen whole

log = get_logger("node")


def open_crawl(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    sources: list[str],
    resume: bool,
) -> Presence:
    """Open a new crawl, or an existing one (`resume`), with these files of seeds."""
    if is_server(node.store):
        return _open_on_server(crawl, node, limits, sources, resume)
    if resume:
        _refuse_copy(node.data_dir / DATABASE, limits.moved)
    datadir.copy_seeds(node.data_dir, sources, more=resume)
    return _open_file(crawl, node, limits.max_pages, resume)


def hold_name(frontier: Frontier) -> AbstractContextManager[object]:
    """A context in which no copy of a crawl on SQLite runs on this machine."""
    crawl_id = None if frontier.server_clock else frontier.setting(CRAWL_KEY)
    return original.hold(crawl_id) or nullcontext()


def _take_over(presence: Presence, store: str) -> None:
    domains = rescue.take_over_earlier(presence)
    if domains:
        log.info("took over what an earlier run held", domains=domains)
    name_losses(presence, store)


# -- on a server ----------------------------------------------------------------------------------


def _open_on_server(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    sources: list[str],
    resume: bool,
) -> Presence:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    rules, root = crawl.store_rules(), node.data_dir
    frontier = PostgresFrontier(node.store, rules, create=True, name="lycosa supervisor")
    if resume:
        presence = join(frontier, root, crawl, limits.max_pages)
        datadir.copy_seeds(root, sources, more=True)
    else:
        presence = _begin(frontier, root, crawl, limits.max_pages, sources)
    _take_over(presence, node.store)
    presence.register(node, loading=bool(sources))
    return presence


def _begin(
    frontier: PostgresFrontier,
    root: Path,
    crawl: CrawlSettings,
    max_pages: int,
    sources: list[str],
) -> Presence:
    """Make a new crawl, with this directory as its first node's."""
    crawl_id = uuid.uuid4().hex
    occupied = frontier.setting(SETTINGS_KEY) is not None
    if not occupied:
        datadir.check_crawl(root, crawl_id)
        datadir.copy_seeds(root, sources, more=False)
    settings = {SETTINGS_KEY: as_stored(crawl), MAX_PAGES_KEY: max_pages, RULES_KEY: 1}
    with frontier.opening():
        if occupied or not frontier.begin(crawl_id, settings):
            raise CrawlExists(
                f"The database {frontier.where} holds a crawl already: join it or go on with it by "
                "--resume, or name another database with --store."
            )
        frontier.put_exclusions(crawl.exclude)
        presence = Presence(frontier, root, datadir.become_node(root, crawl_id))
        presence.announce()
    return presence


# -- on SQLite ------------------------------------------------------------------------------------


def _open_file(crawl: CrawlSettings, node: NodeSettings, max_pages: int, resume: bool) -> Presence:
    path = node.data_dir / DATABASE
    if not resume:
        create(path, crawl)
    frontier = SqliteFrontier(path, crawl.store_rules(), wall_now)
    if resume:
        frontier.check(CHECK_SECONDS)
    _steady_clock(frontier)
    presence = Presence(frontier, node.data_dir)
    _take_over(presence, node.store)
    frontier.put_exclusions(crawl.exclude)
    if resume:
        note_changes(frontier, crawl)
    frontier.put_settings(
        {
            SETTINGS_KEY: as_stored(crawl),
            **page_limit(frontier, max_pages),
            node_key(): orjson.dumps(node_json(node)).decode(),
            ORIGINAL_KEY: original.identity_json(path),
            STOP_KEY: 0,
            SEEDS_LOADED_KEY: 0,
            FINISHED_KEY: 0,
        }
    )
    return presence


def _steady_clock(frontier: SqliteFrontier) -> None:
    """Give a store the time of a clock that is never set. It begins at the wall clock's time, or
    behind the newest time in the store if the wall clock was set back since."""
    to_ms = max(wall_now(), frontier.newest_ms() + 1) - engine_now() * 1000
    frontier.now_ms = lambda: int(engine_now() * 1000 + to_ms)


def _refuse_copy(path: Path, moved: bool) -> None:
    with closing(open_reader(path.parent)) as reader:
        stored = reader.settings()
    original.check(stored.get(ORIGINAL_KEY), path, moved)
    with original.hold(stored.get(CRAWL_KEY)) or nullcontext():
        pass  # raises UserError if a copy runs now


def create(path: Path, crawl: CrawlSettings) -> None:
    """Make the database under another name first: it is there whole, or not at all."""
    draft = path.with_suffix(".new")
    for leftover in path.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    ownfiles.write(draft, b"")  # SQLite's helper files get its permissions
    frontier = SqliteFrontier(draft, crawl.store_rules(), wall_now, create=True)
    frontier.put_settings(
        {
            SETTINGS_KEY: as_stored(crawl),
            STARTED_KEY: wall_now(),
            CRAWL_KEY: uuid.uuid4().hex,
            ORIGINAL_KEY: original.identity_json(draft),
            RULES_KEY: 1,
        }
    )
    frontier.put_exclusions(crawl.exclude)
    frontier.checkpoint()
    frontier.close()
    draft.rename(path)
