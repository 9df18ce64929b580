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
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from lycosa import ownfiles
from lycosa.clock import engine_now, wall_now
from lycosa.errors import CrawlExists, UserError
from lycosa.frontier.keys import CRAWL_KEY, DELAYS_KEY, MAX_PAGES_KEY, ORIGIN_KEY, SETTINGS_KEY
from lycosa.frontier.protocol import DATABASE, Frontier, is_server, open_reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.log import get_logger
from lycosa.node import datadir, original, rescue
from lycosa.node.seed_file import no_seeds
from lycosa.node.seed_loader import any_good, check_whole, loading_key
from lycosa.settings.stored import earlier_delays, node_json, node_key, stored_settings
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits

if TYPE_CHECKING:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

SPARE_FILES = 200  # beside those of the fetches: database, segments, epoll, pipes
FILES_PER_FETCH = 1.1  # TLS keeps closing sockets for a moment
CHECK_SECONDS = 3.0  # for a look at an old database's file: one of a gigabyte is seen whole

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


def check_seeds(sources: list[str], names: list[str]) -> None:
    """Every file must have something to offer: a wrong file is a mistake, not a detail. `names`:
    what the user called them."""
    for each, name in zip(sources, names, strict=True):
        check_whole(each, name)
        if not any_good(each, name):
            raise no_seeds(name)


def open_frontier(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    sources: list[str],
    resume: bool,
) -> tuple[Frontier, str]:
    """The frontier of a new crawl, or of an old one with everything that died in it rescued; and
    the name of this node, '' where there is only one.

    Seeds are copied before there is a database that could claim to have them.
    """
    if is_server(node.store):
        return _open_server(crawl, node, limits, sources, resume)
    if resume:
        _check_original(node.data_dir / DATABASE, limits.moved)
    datadir.copy_seeds(node.data_dir, sources, more=resume)
    return _open_file(crawl, node, resume), ""


def alone(frontier: Frontier) -> AbstractContextManager[object]:
    """While it is open, no copy of a crawl on SQLite runs on this machine."""
    crawl_id = None if frontier.server_clock else frontier.setting(CRAWL_KEY)
    return original.hold(crawl_id) or nullcontext()


def shared_limits(frontier: Frontier, limits: RunLimits) -> RunLimits:
    """With the page limit that holds for all nodes of a crawl on a server."""
    if not frontier.server_clock:
        return limits
    return replace(limits, max_pages=int(frontier.setting(MAX_PAGES_KEY) or 0))


def _open_server(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    sources: list[str],
    resume: bool,
) -> tuple[Frontier, str]:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    rules, root = crawl.store_rules(), node.data_dir
    frontier = PostgresFrontier(node.store, rules, create=True, name="lycosa supervisor")
    if resume:
        name = _join(frontier, root, crawl, limits)
        datadir.copy_seeds(root, sources, more=True)
    else:
        name = _begin(frontier, root, crawl, limits, sources)
    _take_over(frontier, root, name)
    rescue.name_losses(frontier, root, node.store, frontier.everyone(name))
    # Other nodes must not think that the crawl has ended before these seeds are loaded.
    now = frontier.now_ms()
    loading = {"seeds_loaded": 0, "finished": 0, loading_key(name): now} if sources else {}
    frontier.put_settings({node_key(name): orjson.dumps(node_json(node)).decode(), **loading})
    return frontier, name


def tell_opened(frontier: Frontier, name: str) -> None:
    """Until its engines are there, other nodes know by this that a node is."""
    frontier.put_settings({_opened_key(name): frontier.now_ms()})


def tell_left(frontier: Frontier, name: str) -> None:
    """The node is gone: who is alone now may change the settings."""
    frontier.put_settings({_opened_key(name): 0})


def _opened_key(name: str) -> str:
    return f"opened:{name}"


def _join(frontier: PostgresFrontier, root: Path, crawl: CrawlSettings, limits: RunLimits) -> str:
    """Become a node of the crawl on a server, or go on as one; returns its name."""
    with frontier.opening():
        if frontier.setting(SETTINGS_KEY) is None:
            raise UserError(
                f"There is no crawl in the database {frontier.where} to resume or join: leave "
                "--resume out to start one."
            )
        name = datadir.join(root, frontier.setting("crawl_id") or "-")
        _agree(frontier, name, crawl, limits)
        tell_opened(frontier, name)
    return name


def _begin(
    frontier: PostgresFrontier,
    root: Path,
    crawl: CrawlSettings,
    limits: RunLimits,
    sources: list[str],
) -> str:
    """A new crawl, with this directory as its first node's; returns the name of that node."""
    ident = uuid.uuid4().hex
    held = frontier.setting(SETTINGS_KEY) is not None
    if not held:
        datadir.check_crawl(root, ident)
        datadir.copy_seeds(root, sources, more=False)
    settings = {
        SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
        MAX_PAGES_KEY: limits.max_pages,
        "rules_version": 1,
    }
    with frontier.opening():
        if held or not frontier.begin(ident, settings):
            raise CrawlExists(
                f"The database {frontier.where} holds a crawl already: join it or go on with it by "
                "--resume, or name another database with --store."
            )
        frontier.put_exclusions(crawl.exclude)
        name = datadir.join(root, ident)
        tell_opened(frontier, name)
    return name


def _agree(frontier: PostgresFrontier, name: str, crawl: CrawlSettings, limits: RunLimits) -> None:
    """All nodes of a crawl work by the same settings; who is alone may change them."""
    stored = stored_settings({SETTINGS_KEY: frontier.setting(SETTINGS_KEY)})
    difference = crawl.difference(stored) if stored is not None else []
    most = int(frontier.setting(MAX_PAGES_KEY) or 0)
    if limits.max_pages not in (0, most):
        difference.append(f"--max-pages: {limits.max_pages} here, {most or 'no limit'} there")
    if frontier.others(name):
        if difference:
            raise UserError(
                "Other nodes work on this crawl with other settings, leave these out or stop the "
                f"crawl first: {'; '.join(difference)}."
            )
        return
    _tell_changes(frontier, crawl)
    if most and not limits.max_pages:
        log.warning(f"the limit of {most} pages no longer holds: repeat --max-pages to keep it")
    shared = {SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(), "stop": 0}
    frontier.put_settings({**shared, MAX_PAGES_KEY: limits.max_pages})
    frontier.put_exclusions(crawl.exclude)


def _take_over(frontier: Frontier, root: Path, name: str) -> None:
    """Whoever has the lock of the directory knows that no earlier engine of it lives."""
    rescued = rescue.rescue(frontier, root, frontier.everyone(name), starting=True)
    if rescued:
        log.info("took over what an earlier run held", domains=rescued)


def _open_file(crawl: CrawlSettings, node: NodeSettings, resume: bool) -> SqliteFrontier:
    path = node.data_dir / DATABASE
    if not resume:
        create(path, crawl)
    frontier = SqliteFrontier(path, crawl.store_rules(), wall_now)
    if resume:
        frontier.check(CHECK_SECONDS)
    # The wall clock may have been set back since: the store's time counts, and while we run
    # nothing but the clock that never jumps does.
    to_ms = max(wall_now(), frontier.newest_ms() + 1) - engine_now() * 1000
    frontier.now_ms = lambda: int(engine_now() * 1000 + to_ms)
    _take_over(frontier, node.data_dir, "")
    rescue.name_losses(frontier, node.data_dir, node.store, frontier.everyone())
    frontier.put_exclusions(crawl.exclude)
    if resume:
        _tell_changes(frontier, crawl)
    frontier.put_settings(
        {
            SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
            node_key(): orjson.dumps(node_json(node)).decode(),
            ORIGIN_KEY: original.identity_json(path),
            "stop": 0,
            "seeds_loaded": 0,
            "finished": 0,
        }
    )
    return frontier


def _check_original(path: Path, moved: bool) -> None:
    """Before anything is changed."""
    with closing(open_reader(path.parent)) as reader:
        stored = reader.settings()
    original.check(stored.get(ORIGIN_KEY), path, moved)
    with original.hold(stored.get(CRAWL_KEY)) or nullcontext():
        pass  # a copy that runs is named before anything here is changed


def _tell_changes(frontier: Frontier, crawl: CrawlSettings) -> None:
    before = stored_settings({SETTINGS_KEY: frontier.setting(SETTINGS_KEY)})
    if before is None:
        return
    for change in crawl.difference(before):
        log.info(f"changed: {change} before")
    if (before.delay, before.ip_delay) != (crawl.delay, crawl.ip_delay):
        known = earlier_delays({DELAYS_KEY: frontier.setting(DELAYS_KEY) or "[]"})
        delays = [*known, (frontier.now_ms(), before.delay)]
        frontier.put_settings({DELAYS_KEY: orjson.dumps(delays).decode()})


def create(path: Path, crawl: CrawlSettings) -> None:
    """Make the database under another name first: it is there whole, or not at all."""
    draft = path.with_suffix(".new")
    for leftover in path.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    ownfiles.write(draft, b"")  # SQLite's helper files get its permissions
    frontier = SqliteFrontier(draft, crawl.store_rules(), wall_now, create=True)
    frontier.put_settings(
        {
            SETTINGS_KEY: orjson.dumps(crawl.to_json()).decode(),
            "started_ms": wall_now(),
            CRAWL_KEY: uuid.uuid4().hex,
            ORIGIN_KEY: original.identity_json(draft),
            "rules_version": 1,
        }
    )
    frontier.put_exclusions(crawl.exclude)
    frontier.settle()
    frontier.close()
    draft.rename(path)


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
