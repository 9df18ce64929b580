"""A standby takes the server's place and lacks its last commits: polite all the same, complete."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lycosa.simweb.serve import SimWeb
from support.cluster import SPEC, Cluster
from support.postgres import OwnServer, Standby, servers
from support.program import wait_for


@pytest.fixture
def pair() -> Iterator[tuple[OwnServer, Standby]]:
    for server in servers():
        standby = Standby(server)
        try:
            yield server, standby
        finally:
            standby.remove()


@pytest.mark.timeout(240)
def test_a_standby_that_lost_commits_is_promoted(
    tmp_path: Path, pair: tuple[OwnServer, Standby]
) -> None:
    server, standby = pair
    with SimWeb(SPEC, tmp_path / "log") as web:
        cluster = Cluster(web, tmp_path, server.url, 2)
        both = f"postgresql://postgres@/postgres?host={server.folder},{standby.folder}"
        for node in cluster.nodes:
            node.flags = [both if flag == server.url else flag for flag in node.flags]
        first = cluster.start(0, resume=False)
        wait_for(lambda: cluster.pages() > 5)
        standby.cut_off()
        before = cluster.pages()
        second = cluster.start(1)  # the standby will never have heard of it
        wait_for(lambda: len(cluster.query("SELECT 1 FROM engines WHERE pages > 5")) == 2, 60)
        lost = cluster.pages() - before
        server.kill()
        time.sleep(1)
        standby.promote()
        cluster.store = standby.url
        assert lost > 5 and cluster.pages() <= before  # it does not know of them
        cluster.finish(first, second, seconds=150)
        cluster.check()
        logs = cluster.logs()
    assert logs.count("the store was replaced") == 2
    assert "Traceback" not in logs
    waited = "SELECT value::int8 FROM crawl WHERE key = 'leases_from'"
    assert psycopg.connect(standby.url).execute(waited).fetchone()
