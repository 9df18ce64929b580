"""Stopped crawls on every store, made by the store's own verbs, for commands to look at."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lycosa.cli import main
from lycosa.clock import wall_now
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Release
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.node.start import create
from lycosa.records import Origin
from lycosa.settings.values import CrawlSettings
from support.logs import Logs, logs_of, urls_in
from support.made import link, page_of


@dataclass
class Stored:
    """A crawl that nobody works on."""

    root: Path
    store: str  # '' for SQLite
    settings: CrawlSettings

    @property
    def flags(self) -> list[str]:
        return ["--data-dir", str(self.root), *(["--store", self.store] if self.store else [])]

    def open(self) -> SqliteFrontier | PostgresFrontier:
        rules = self.settings.store_rules()
        if self.store:
            return PostgresFrontier(self.store, rules)
        return SqliteFrontier(self.root / "crawl.sqlite", rules, wall_now)

    def run(self, *words: str, code: int = 0, text: str | None = None) -> str:
        """What a command prints on both streams."""
        out, err, typed = io.StringIO(), io.StringIO(), sys.stdin
        sys.stdin = io.StringIO(text or "")
        try:
            with redirect_stdout(out), redirect_stderr(err):
                done = main([*words, *self.flags])
        finally:
            sys.stdin = typed
        said, complained = out.getvalue(), err.getvalue()
        assert done == code, said + complained
        if code == 2:
            assert said == "" and complained.count("\n") == 1
        return said + complained

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        frontier = self.open()
        try:
            return [tuple(row) for row in frontier.db.execute(query).fetchall()]
        finally:
            frontier.close()

    def logs(self) -> Logs:
        with closing(self.open()) as frontier:
            return logs_of(frontier)

    def queued(self) -> set[str]:
        return urls_in(self.logs())

    def seen(self) -> int:
        counts = [log.counts() for log in self.logs().values()]
        return sum(each.queued + each.done for each in counts)


def make(root: Path, store: str, urls: Iterable[str], **settings: Any) -> Stored:
    """A stopped crawl in which these URLs are queued."""
    root.mkdir(parents=True, exist_ok=True)
    crawl = CrawlSettings(email="t@example.org", **settings)
    made = Stored(root, store, crawl)
    frontier: SqliteFrontier | PostgresFrontier
    if store:
        frontier = PostgresFrontier(store, crawl.store_rules(), create=True)
        stored = {"settings": json.dumps(crawl.to_json()), "rules_version": 1}
        assert frontier.begin("0" * 32, stored)
        frontier.put_exclusions(crawl.exclude)
    else:
        create(root / "crawl.sqlite", crawl)
        frontier = made.open()
    frontier.add([link(url) for url in urls])
    frontier.close()
    return made


def visit(made: Stored, outcomes: dict[str, str], origins: Iterable[Origin] = ()) -> None:
    """An engine that records these URLs with these outcomes, and leaves."""
    frontier = made.open()
    engine_id = frontier.register("host", 1)
    batch = Batch(number=1)
    for lease in frontier.lease(engine_id, 1000):
        for url in lease.urls:
            if url.url in outcomes:
                outcome = outcomes[url.url]
                status = 200 if outcome == "ok" else 0
                page = page_of(url, outcome, status=status, fetched_ms=wall_now())
                page.content_hash = -2 if outcome == "ok" else 0
                batch.pages.append(page)
        batch.origins += [(lease.domain_id, each) for each in origins]
        batch.released.append(Release(lease.domain_id, 0, queued=len(lease.urls)))
    frontier.commit(engine_id, batch)
    frontier.retire(engine_id)
    frontier.close()
