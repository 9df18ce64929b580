"""Snapshots: what engines report and what the store counts, put together."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from lycosa.errors import StoreGone
from lycosa.frontier.backoff import Away
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.metrics import Stats
from lycosa.node.progress import Progress, StoreCounts
from lycosa.node.start import open_crawl
from lycosa.settings.values import NodeSettings, RunLimits
from support.made_crawl import crawl_settings, make

LIMITS = RunLimits(max_pages=1000, max_duration=60.0)


def test_counts_are_of_the_whole_crawl_and_gauges_of_the_run(tmp_path: Path) -> None:
    make(tmp_path, pages=40)
    node = NodeSettings(data_dir=tmp_path, log_interval=60.0)
    presence = open_crawl(crawl_settings(), node, LIMITS, [], True)
    with closing(presence.frontier) as frontier:
        progress = Progress(frontier, Away(), node, LIMITS, 70.0, 100)
        earlier = progress.snapshot(Stats(engines=0), stopping=False)
        assert (earlier.pages, earlier.run_pages) == (40, 0) and 0 < earlier.ok < 40
        run = Stats(engines=2, pages=5, ok=4, in_flight=3, outcomes={"ok": 4, "timeout": 1})
        now = progress.snapshot(run, stopping=True)
        assert (now.pages, now.run_pages, now.ok) == (45, 5, earlier.ok + 4)
        assert now.outcomes == {**earlier.outcomes, "ok": earlier.ok + 4, "timeout": 1}
        assert (now.engines, now.in_flight, now.queued, now.domains) == (2, 3, 0, 0)
        assert (now.max_pages, now.max_duration, now.stopping) == (1000, 60.0, True)
        assert progress.last(run).pages == 40, "at the end, what the store has counts"
        assert progress.totals() == (40, False)
        assert not progress.due()


def test_while_the_store_is_away_its_last_answers_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> tuple[int, int]:
        raise StoreGone("It is away.")

    make(tmp_path, pages=1)
    with closing(SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: 1)) as store:
        counts = StoreCounts(store, Away())
        monkeypatch.setattr(store, "active_domains", lambda limit: 7)
        monkeypatch.setattr(store, "backlog", lambda: (123, 9))
        assert counts.counts(10.0) == (123, 7)
        monkeypatch.setattr(store, "backlog", away)
        assert counts.counts(11.0) == (123, 7)
