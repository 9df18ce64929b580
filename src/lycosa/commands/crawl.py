"""`lycosa crawl`: builds the settings of a crawl and its node, and runs the supervisor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lycosa.called import called
from lycosa.commands.beside import check_dashboard, dashboard_beside
from lycosa.errors import CrawlExists, OlderFormat, UserError
from lycosa.frontier.keys import NODE_KEY
from lycosa.settings.collect import Values, crawl_settings, node_settings, run_limits
from lycosa.settings.stored import node_key, stored_settings


def crawl(values: Values, words: list[str]) -> int:
    """Start a crawl or go on with one."""
    either: bool = values["start-or-resume"]
    if values["resume"] or not either or _exists(values["data-dir"], values["store"]):
        return _crawl(values, words, values["resume"] or either)
    try:
        return _crawl(values, words, resume=False)
    except CrawlExists:  # another node began it in this moment
        return _crawl(values, words, resume=True)


def _exists(data_dir: Path, store: str) -> bool:
    """Whether there is a crawl to go on with."""
    from lycosa.frontier.protocol import DATABASE, check_server, is_server

    return check_server(store).crawl if is_server(store) else (data_dir / DATABASE).exists()


def _crawl(values: Values, words: list[str], resume: bool) -> int:
    seeds = check_seeds(words, needed=not resume)
    stored = _stored(values["data-dir"], values["store"]) if resume else {}
    node = node_settings(values, stored)
    shared = crawl_settings(values, stored_settings(stored))
    if resume and "exclude-file" in values.given and not _may_exclude(values, shared.exclude):
        return 1
    limits = run_limits(values)
    check_dashboard(values)
    from lycosa.log import setup
    from lycosa.node.notify import check_receivers
    from lycosa.node.supervisor import run_crawl

    check_receivers(node.notify)
    setup(node.log_level, node.log_format)
    shown = partial(dashboard_beside, values, node.data_dir, node.store)
    return run_crawl(shared, node, limits, seeds, resume, values.advice, shown)


def check_seeds(words: list[str], needed: bool) -> list[str]:
    """The names of the seed files, each known to be readable ('-' is standard input)."""
    if needed and not words:
        raise UserError(
            "A crawl needs seeds: name a file with one domain or URL a line, or - for standard"
            f" input; '{called('crawl', '--resume')}' goes on with an earlier crawl."
        )
    for word in words:
        if word == "-":
            continue
        path = Path(word)
        if not path.exists():
            raise UserError(f"The seed file {word} does not exist: check the path.")
        if path.is_dir():
            raise UserError(f"The seed file {word} is a directory: name a file in it.")
        if not os.access(path, os.R_OK):
            raise UserError(
                f"The seed file {word} can't be read: give yourself permission to read it."
            )
    return words


def _may_exclude(values: Values, lines: Sequence[str]) -> bool:
    """Whether new lines of an --exclude-file may hold: told and asked as by `lycosa exclude`."""
    from lycosa.commands.change import wheel_of
    from lycosa.commands.exclude import allowed

    with wheel_of(values) as wheel:
        counter = wheel.hits(lines)
        return allowed(values["yes"], list(counter.by_line), counter)


def _stored(data_dir: Path, store: str) -> dict[str, Any]:
    """The stored settings of the crawl to be resumed; of its nodes only this directory's."""
    from lycosa.frontier.protocol import is_server, open_reader
    from lycosa.node.datadir import node_of

    try:
        reader = open_reader(data_dir, store)
    except OlderFormat:
        from lycosa.node.upgrade import bring_up_to_date

        bring_up_to_date(data_dir, store)
        reader = open_reader(data_dir, store)
    try:
        found = reader.settings()
    finally:
        reader.close()
    if is_server(store):
        name = node_of(data_dir)
        found[NODE_KEY] = found.get(node_key(name), "") if name else ""
    return found
