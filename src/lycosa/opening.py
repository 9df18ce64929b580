"""What must be true before a crawl runs: usable seeds, a store, enough open files.

Checks everything that a user can have got wrong before it writes anything.
"""

from __future__ import annotations

import os
import resource
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import orjson

from lycosa import datadir, upkeep
from lycosa.clock import engine_now, wall_now
from lycosa.config import (
    DELAYS_KEY,
    NODE_KEY,
    SETTINGS_KEY,
    CrawlSettings,
    NodeSettings,
    earlier_delays,
    node_json,
    stored_settings,
)
from lycosa.errors import UserError
from lycosa.frontier import DATABASE
from lycosa.frontier.sqlite import SqliteFrontier
from lycosa.log import get_logger
from lycosa.seeding import any_good, check_whole

SPARE_FILES = 200  # beside those of the fetches: database, segments, epoll, pipes
FILES_PER_FETCH = 1.1  # TLS keeps closing sockets for a moment

log = get_logger("node")


@contextmanager
def spooled(seeds: list[str]) -> Iterator[list[str]]:
    """What can be read once only (standard input, a pipe) becomes a file."""
    with ExitStack() as files:
        yield [each if _rereadable(each) else files.enter_context(_spool(each)) for each in seeds]


def _rereadable(source: str) -> bool:
    return source != "-" and (os.path.isfile(source) or not os.path.exists(source))


@contextmanager
def _spool(source: str) -> Iterator[str]:
    if source != "-" and not stat.S_ISFIFO(os.stat(source).st_mode):
        raise UserError(f"{source} is no file: name a file of domains or URLs, or - for a pipe.")
    with tempfile.NamedTemporaryFile(prefix="lycosa-seeds-") as file:
        with ExitStack() as opened:
            stream = sys.stdin.buffer if source == "-" else opened.enter_context(open(source, "rb"))
            shutil.copyfileobj(stream, file)
        file.flush()
        yield file.name


def check_seeds(seeds: list[str]) -> None:
    """Every file must have something to offer: a wrong file is a mistake, not a detail."""
    for each in seeds:
        check_whole(each)
        if not any_good(each):
            raise UserError(
                f"{each}: no line is a domain or URL; "
                "give one domain (example.com) or URL per line."
            )


def open_frontier(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> SqliteFrontier:
    """The frontier of a new crawl, or of an old one with everything that died in it rescued."""
    path = node.data_dir / DATABASE
    if not resume:
        create(path, crawl)
    frontier = SqliteFrontier(path, crawl.store_rules(), wall_now)
    # The wall clock may have been set back since: the store's time counts, and while we run
    # nothing but the clock that never jumps does.
    to_ms = max(wall_now(), frontier.newest_ms() + 1) - engine_now() * 1000
    frontier.now_ms = lambda: int(engine_now() * 1000 + to_ms)
    rescued = upkeep.rescue(frontier, node.data_dir, frontier.everyone())
    if rescued:
        log.info("took over what an earlier run held", domains=rescued)
    frontier.put_exclusions(crawl.exclude)
    if resume:
        _tell_changes(frontier, crawl)
    frontier.put_settings(
        {
            SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
            NODE_KEY: orjson.dumps(node_json(node)).decode(),
            "stop": 0,
            "seeds_loaded": 0,
        }
    )
    return frontier


def _tell_changes(frontier: SqliteFrontier, crawl: CrawlSettings) -> None:
    before = stored_settings({SETTINGS_KEY: frontier.setting(SETTINGS_KEY)})
    if before is None:
        return
    for change in crawl.difference(before):
        log.info(f"changed: {change} before")
    if before.delay != crawl.delay:
        known = earlier_delays({DELAYS_KEY: frontier.setting(DELAYS_KEY) or "[]"})
        delays = [*known, (frontier.now_ms(), before.delay)]
        frontier.put_settings({DELAYS_KEY: orjson.dumps(delays).decode()})


def create(path: Path, crawl: CrawlSettings) -> None:
    """Make the database under another name first: it is there whole, or not at all."""
    draft = path.with_suffix(".new")
    for leftover in path.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    frontier = SqliteFrontier(draft, crawl.store_rules(), wall_now, create=True)
    frontier.put_settings(
        {
            SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
            "started_ms": wall_now(),
            "rules_version": 1,
        }
    )
    frontier.put_exclusions(crawl.exclude)
    frontier.settle()
    frontier.close()
    draft.rename(path)


def take_seeds(root: Path, sources: list[str], resume: bool) -> None:
    """Copy the seeds before there is a database that could claim to have them."""
    datadir.copy_seeds(root, sources, more=resume)


def fitting_workers(node: NodeSettings) -> int:
    """Concurrent fetches per engine: what was asked for, or what the open-file limit allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = max(1, -(-node.max_workers // node.engines))
    allowed = max(10, int((hard - SPARE_FILES) / FILES_PER_FETCH))
    if hard != resource.RLIM_INFINITY and wanted > allowed:
        log.warning(
            f"the open-file limit is {hard}: {allowed * node.engines} concurrent fetches instead "
            f"of {node.max_workers}; raise it with 'ulimit -n' for more"
        )
        return allowed
    return wanted
