"""What must be true before a crawl runs: usable seeds, a store, enough open files.

Checks everything that a user can have got wrong before it writes anything.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from lycosa import datadir, upkeep
from lycosa.clock import engine_now, wall_now
from lycosa.config import SETTINGS_KEY, CrawlSettings, NodeSettings
from lycosa.engine import store_rules
from lycosa.errors import UserError
from lycosa.frontier import DATABASE
from lycosa.frontier.sqlite import SqliteFrontier
from lycosa.log import get_logger
from lycosa.seeding import any_good

SPARE_FILES = 200  # beside those of the fetches: database, segments, epoll, pipes
FILES_PER_FETCH = 1.1  # TLS keeps closing sockets for a moment

log = get_logger("node")


@contextmanager
def spooled(seeds: list[str]) -> Iterator[list[str]]:
    """Standard input is read once, so it becomes a file."""
    if "-" not in seeds:
        yield seeds
        return
    with tempfile.NamedTemporaryFile(prefix="lycosa-seeds-") as file:
        while chunk := sys.stdin.buffer.read(1 << 20):
            file.write(chunk)
        file.flush()
        yield [file.name if each == "-" else each for each in seeds]


def check_seeds(seeds: list[str]) -> None:
    if seeds and not any(any_good(each) for each in seeds):
        raise UserError(
            f"{', '.join(seeds)}: no line is a domain or URL; "
            "give one domain (example.com) or URL per line."
        )


def open_frontier(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> SqliteFrontier:
    """The frontier of a new crawl, or of an old one with everything that died in it rescued."""
    path = node.data_dir / DATABASE
    if not resume:
        create(path, crawl)
    frontier = SqliteFrontier(path, store_rules(crawl), wall_now)
    # The wall clock may have been set back since: the store's time counts, and while we run
    # nothing but the clock that never jumps does.
    to_ms = max(wall_now(), frontier.newest_ms() + 1) - engine_now() * 1000
    frontier.now_ms = lambda: int(engine_now() * 1000 + to_ms)
    rescued = upkeep.rescue(frontier, node.data_dir, frontier.living())
    if rescued:
        log.info("took over what an earlier run held", domains=rescued)
    frontier.put_settings({SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(), "stop": 0})
    frontier.put_exclusions(crawl.exclude)
    return frontier


def create(path: Path, crawl: CrawlSettings) -> None:
    """Make the database under another name first: it is there whole, or not at all."""
    draft = path.with_suffix(".new")
    for leftover in path.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    frontier = SqliteFrontier(draft, store_rules(crawl), wall_now, create=True)
    frontier.put_settings(
        {
            SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
            "started_ms": wall_now(),
            "rules_version": 1,
        }
    )
    frontier.put_exclusions(crawl.exclude)
    frontier.close()
    draft.rename(path)


def take_seeds(frontier: SqliteFrontier, root: Path, sources: list[str]) -> None:
    (root / datadir.SEEDS).mkdir(exist_ok=True)
    if sources:
        frontier.put_settings({"seeds_loaded": 0, "finished": 0})
        datadir.copy_seeds(root, sources)


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
