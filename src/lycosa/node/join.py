"""A node that joins a crawl on a server, or goes on with one; what its settings must agree with.

All nodes of a crawl work by the settings in the store. A node that is alone may change them; a node
with company must bring the same. Nodes open a crawl one after the other (`opening`), so that two of
them can't both think that they are alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from lycosa.errors import UserError
from lycosa.frontier.keys import (
    CRAWL_KEY,
    DELAYS_KEY,
    MAX_PAGES_KEY,
    MAX_PAGES_SET_KEY,
    SETTINGS_KEY,
    STOP_KEY,
)
from lycosa.frontier.protocol import Frontier
from lycosa.log import get_logger
from lycosa.node import datadir
from lycosa.node.presence import Presence
from lycosa.settings.stored import earlier_delays, stored_settings
from lycosa.settings.values import CrawlSettings, RunLimits

if TYPE_CHECKING:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

log = get_logger("node")


def join(frontier: PostgresFrontier, root: Path, crawl: CrawlSettings, max_pages: int) -> Presence:
    """Make this directory a node of the crawl, or go on as the node that it is."""
    with frontier.opening():
        if frontier.setting(SETTINGS_KEY) is None:
            raise UserError(
                f"There is no crawl in the database {frontier.where} to resume or join: leave "
                "--resume out to start one."
            )
        presence = Presence(
            frontier, root, datadir.become_node(root, frontier.setting(CRAWL_KEY) or "-")
        )
        stored_pages = int(frontier.setting(MAX_PAGES_KEY) or 0)
        if presence.has_company():
            _refuse_difference(frontier, crawl, max_pages, stored_pages)
        else:
            _change(frontier, crawl, max_pages, stored_pages)
        presence.announce()
    return presence


def _refuse_difference(
    frontier: Frontier, crawl: CrawlSettings, max_pages: int, stored_pages: int
) -> None:
    stored = _stored(frontier)
    difference = crawl.difference(stored) if stored is not None else []
    if max_pages not in (0, stored_pages):
        difference.append(f"--max-pages: {max_pages} here, {stored_pages or 'no limit'} there")
    if difference:
        raise UserError(
            "Other nodes work on this crawl with other settings, leave these out or stop the "
            f"crawl first: {'; '.join(difference)}."
        )


def _change(frontier: Frontier, crawl: CrawlSettings, max_pages: int, stored_pages: int) -> None:
    note_changes(frontier, crawl)
    limit = page_limit(frontier, max_pages)
    if stored_pages and not limit[MAX_PAGES_KEY]:
        log.warning(
            f"the limit of {stored_pages} pages no longer holds: repeat --max-pages to keep it"
        )
    frontier.put_settings({SETTINGS_KEY: as_stored(crawl), STOP_KEY: 0, **limit})
    frontier.put_exclusions(crawl.exclude)


def note_changes(frontier: Frontier, crawl: CrawlSettings) -> None:
    """Log which settings of an existing crawl change; a delay that changes is kept for `audit`."""
    before = _stored(frontier)
    if before is None:
        return
    for change in crawl.difference(before):
        log.info(f"changed: {change} before")
    if (before.delay, before.ip_delay) != (crawl.delay, crawl.ip_delay):
        known = earlier_delays({DELAYS_KEY: frontier.setting(DELAYS_KEY) or "[]"})
        delays = [*known, (frontier.now_ms(), before.delay)]
        frontier.put_settings({DELAYS_KEY: orjson.dumps(delays).decode()})


def page_limit(frontier: Frontier, max_pages: int) -> dict[str, int]:
    """The page limit to store at a start: what was given (0: nothing), or what `lycosa set` said
    before."""
    kept = 0 if max_pages else int(frontier.setting(MAX_PAGES_SET_KEY) or 0)
    stored = int(frontier.setting(MAX_PAGES_KEY) or 0) if kept else 0
    return {MAX_PAGES_KEY: max_pages or stored, MAX_PAGES_SET_KEY: kept}


def shared_limits(frontier: Frontier, limits: RunLimits) -> RunLimits:
    """The limits of a run, with the page limit that holds for all nodes of a crawl."""
    return replace(limits, max_pages=int(frontier.setting(MAX_PAGES_KEY) or 0))


def as_stored(crawl: CrawlSettings) -> str:
    """The settings of a crawl as its store keeps them."""
    return orjson.dumps(crawl.to_json()).decode()


def _stored(frontier: Frontier) -> CrawlSettings | None:
    return stored_settings({SETTINGS_KEY: frontier.setting(SETTINGS_KEY)})
