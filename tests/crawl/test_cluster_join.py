"""Nodes that open a crawl on a server before any engine of another is at work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lycosa.errors import UserError
from lycosa.node.join import shared_limits
from lycosa.node.presence import Presence
from lycosa.node.start import open_crawl
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits

CRAWL = CrawlSettings(email="tests@lycosa.example")
LIMITS = RunLimits(max_pages=500)
NO_LIMITS = RunLimits()


class Nodes:
    """Each with a directory of its own, on one server."""

    def __init__(self, root: Path, store: str) -> None:
        self.root = root
        self.store = store
        self.seeds = root / "seeds.txt"
        self.seeds.write_text("a.test\n")

    def open(
        self,
        name: str,
        *,
        resume: bool = True,
        crawl: CrawlSettings = CRAWL,
        limits: RunLimits = NO_LIMITS,
    ) -> Presence:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        node = NodeSettings(data_dir=folder, store=self.store)
        return open_crawl(crawl, node, limits, [] if resume else [str(self.seeds)], resume)


@pytest.fixture
def nodes(tmp_path: Path, postgres_url: str) -> Nodes:
    return Nodes(tmp_path, postgres_url)


def test_a_node_that_joins_at_once_keeps_the_page_limit(nodes: Nodes) -> None:
    first = nodes.open("a", resume=False, limits=LIMITS)
    second = nodes.open("b")
    assert shared_limits(second.frontier, RunLimits()).max_pages == 500
    with pytest.raises(UserError, match="--delay"):
        nodes.open("c", crawl=replace(CRAWL, delay=90.0))
    close(first, second)


def test_who_is_alone_again_may_change_settings(nodes: Nodes) -> None:
    first = nodes.open("a", resume=False, limits=LIMITS)
    first.frontier.put_settings({f"loading:{first.name}": 0})  # its seeds are loaded
    second = nodes.open("b")
    first.leave()
    with pytest.raises(UserError, match="--delay"):
        nodes.open("a", crawl=replace(CRAWL, delay=90.0))
    second.leave()
    again = nodes.open("a", crawl=replace(CRAWL, delay=90.0))
    assert shared_limits(again.frontier, RunLimits()).max_pages == 0
    close(first, second, again)


def test_a_node_that_loads_seeds_for_long_is_not_forgotten(nodes: Nodes) -> None:
    first = nodes.open("a", resume=False, limits=LIMITS)
    now = first.frontier.now_ms()
    first.frontier.put_settings({f"opened:{first.name}": 0, f"loading:{first.name}": now})
    with pytest.raises(UserError, match="--delay"):
        nodes.open("b", crawl=replace(CRAWL, delay=90.0))
    close(first)


def close(*nodes: Presence) -> None:
    for each in nodes:
        each.frontier.close()
