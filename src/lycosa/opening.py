"""What must be true before a crawl runs: usable seeds, a store, enough open files.

Checks everything that a user can have got wrong before it writes anything.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from lycosa import datadir, upkeep
from lycosa.clock import engine_now, wall_now
from lycosa.config import SETTINGS_KEY, CrawlSettings, NodeSettings
from lycosa.engine import store_rules
from lycosa.errors import UserError
from lycosa.frontier import DATABASE, Frontier, is_server
from lycosa.frontier.sqlite import SqliteFrontier
from lycosa.log import get_logger
from lycosa.seeding import any_good

if TYPE_CHECKING:
    from lycosa.frontier.postgres import PostgresFrontier

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


def open_frontier(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> tuple[Frontier, str]:
    """The frontier of a new crawl, or of an old one with everything that died in it rescued; and
    the name of this node, '' where there is only one."""
    if is_server(node.store):
        return _open_server(crawl, node, resume)
    return _open_file(crawl, node, resume), ""


def _open_server(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> tuple[Frontier, str]:
    from lycosa.frontier.postgres import PostgresFrontier

    rules = store_rules(crawl)
    frontier = PostgresFrontier(node.store, rules, create=True, name="lycosa supervisor")
    stored = frontier.setting(SETTINGS_KEY)
    if resume and stored is None:
        raise UserError(
            f"There is no crawl in the database {frontier.where} to resume or join: leave --resume "
            "out to start one."
        )
    if not resume and not _begin(frontier, crawl):
        raise UserError(
            f"The database {frontier.where} holds a crawl already: join it or go on with it by "
            "--resume, or name another database with --store."
        )
    name = datadir.join(node.data_dir, frontier.setting("crawl_id") or "-")
    if stored is not None:
        _agree(frontier, name, crawl, CrawlSettings.from_json(orjson.loads(stored)))
    rescued = upkeep.rescue(frontier, node.data_dir, frontier.living(name))
    upkeep.tidy(frontier, node.data_dir)
    if rescued:
        log.info("took over what an earlier run held", domains=rescued)
    return frontier, name


def _begin(frontier: PostgresFrontier, crawl: CrawlSettings) -> bool:
    settings = {SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(), "rules_version": 1}
    begun = frontier.begin(uuid.uuid4().hex, settings)
    if begun:
        frontier.put_exclusions(crawl.exclude)
    return begun


def _agree(
    frontier: PostgresFrontier, name: str, crawl: CrawlSettings, stored: CrawlSettings
) -> None:
    """All nodes of a crawl work by the same settings; who is alone may change them."""
    difference = crawl.difference(stored)
    if frontier.others(name):
        if difference:
            raise UserError(
                "Other nodes work on this crawl with other settings, leave these out or stop the "
                f"crawl first: {'; '.join(difference)}."
            )
        return
    frontier.put_settings({SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(), "stop": 0})
    frontier.put_exclusions(crawl.exclude)


def _open_file(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> SqliteFrontier:
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


def take_seeds(frontier: Frontier, root: Path, sources: list[str]) -> None:
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
