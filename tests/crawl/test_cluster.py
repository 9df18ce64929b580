"""Several nodes on one PostgreSQL server: one crawl, complete, polite, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from support.cluster import DELAY, SPEC, Cluster
from support.postgres import OwnServer, servers
from support.program import EMAIL, Words, lycosa, wait_for

# Long enough that a node that joins finds something to do, however slowly it starts.
LONG = replace(SPEC, pages=20)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[SimWeb]:
    with SimWeb(SPEC, tmp_path / "log") as web:
        yield web


def test_two_nodes_share_a_crawl(tmp_path: Path, postgres_url: str) -> None:
    with SimWeb(LONG, tmp_path / "log") as web:
        share_a_crawl(Cluster(web, tmp_path, postgres_url, 2), postgres_url)


def share_a_crawl(cluster: Cluster, postgres_url: str) -> None:
    first = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 5)
    second = cluster.start(1)
    wait_for(lambda: len(cluster.query("SELECT 1 FROM engines WHERE NOT dead")) == 2)
    found = lycosa("status", "--store", postgres_url)
    cluster.finish(first, second)
    cluster.check()
    assert "node-0" in found.stdout and "node-1" in found.stdout
    by_node = cluster.query("SELECT directory, pages FROM engines WHERE id > 0 ORDER BY id")
    assert all(int(str(pages)) > 5 for _, pages in by_node), by_node
    check_reading(cluster, postgres_url)
    check_history(cluster, postgres_url)
    assert "Traceback" not in cluster.logs()


def test_a_node_that_resumes_goes_on_with_what_it_was_told(
    web: SimWeb, tmp_path: Path, postgres_url: str
) -> None:
    """Name servers and ports are each node's own: one that joins must be told, one that comes back
    not."""
    cluster = Cluster(web, tmp_path, postgres_url, 1, "--warc", "--max-pages", "30")
    cluster.finish(cluster.start(0, resume=False))
    data = cluster.nodes[0].data
    words = ("crawl", "--resume", "--data-dir", data, "--store", postgres_url, "--engines", "1")
    done = lycosa(*words, timeout=120)
    assert done.returncode == 0, done.stderr
    cluster.check()
    missing = "SELECT count(*) FROM pages WHERE outcome = 'ok' AND warc_segment = 0"
    assert cluster.query(missing) == [(0,)]
    keys = cluster.query("SELECT key FROM crawl WHERE key LIKE 'node%'")
    assert len(keys) == 1 and str(keys[0][0]).startswith("node:")


@pytest.mark.timeout(180)
def test_an_engine_that_slept_through_its_lease_is_replaced(
    web: SimWeb, tmp_path: Path, postgres_url: str
) -> None:
    cluster = Cluster(web, tmp_path, postgres_url, 1)
    process = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 5)
    os.kill(cluster.nodes[0].engines(process)[0], signal.SIGSTOP)
    wait_for(lambda: "slept through its lease" in cluster.nodes[0].log.read_text(), 40)
    cluster.finish(process)
    cluster.check()
    assert len(cluster.query("SELECT 1 FROM engines WHERE id > 0")) == 2


def check_reading(cluster: Cluster, store: str) -> None:
    """Every reading command works by the store, and says where output lies."""
    status = json.loads(lycosa("status", "--json", "--store", store).stdout)
    assert status["finished"] and status["pages"] == cluster.pages()
    listed = lycosa("pages", "--outcome", "ok", "--limit", "500", "--json", "--store", store)
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert {Path(row["directory"]).parent.name for row in rows} == {"node-0", "node-1"}
    row = next(row for row in rows if "node-1" in row["directory"])
    here = lycosa("show", row["url"], "--store", store, "--data-dir", cluster.nodes[1].data)
    away = lycosa("show", row["url"], "--store", store, "--data-dir", cluster.nodes[0].data)
    assert f"in {row['directory']}" in away.stdout
    assert "Its text is not here" in away.stdout and "Its text is not here" not in here.stdout
    why = lycosa("why", row["url"], "--store", store)
    assert "done at" in why.stdout
    check_audit(cluster, store)
    checked = lycosa("check", "--json", "--store", store, "--data-dir", cluster.nodes[0].data)
    server = json.loads(checked.stdout)["readings"]["store"]
    assert server["crawl"] and server["connections"] > 0 and server["round_trip_ms"] > 0
    again = lycosa("crawl", cluster.nodes[0].seeds, "--email", EMAIL, "--store", store)
    assert again.returncode == 2 and "holds a crawl already" in again.stderr


def check_history(cluster: Cluster, store: str) -> None:
    """The lines that nodes left in the store add up to the crawl, whether or not their directories
    are here."""
    from lycosa.reading.opening import open_crawl

    folders = [node.data for node in cluster.nodes]
    for here in ([], folders[:1], folders):
        with open_crawl(here, store=store) as crawl:
            found, history = crawl.status(), crawl.history()
            now = history.now()
            assert now is not None and len(history.nodes()) == len(folders)
            assert (now["pages"], now["ok"]) == (found.pages, found.ok)
            assert history.lines()[-1]["pages"] == found.pages
            assert now["politeness"]["violations"] == 0 and now["state"] == "finished"


def check_audit(cluster: Cluster, store: str) -> None:
    """Of one node, and of both."""
    first, second = (node.data for node in cluster.nodes)
    words = ("audit", "--store", store)
    one = lycosa(*words, "--data-dir", first)
    assert "This is not the whole crawl" in one.stdout
    assert str(second.resolve()) in one.stdout and str(first) not in one.stdout
    both = json.loads(lycosa(*words, first, second, "--json").stdout)
    assert both["unseen"] == [] and both["report"]["overlaps"] == 0
    assert both["report"]["smallest_gap_ms"] > 0.7 * DELAY * 1000  # the clock of a busy machine
    assert lycosa(*words, cluster.nodes[0].root).returncode == 2


def test_a_killed_node_and_one_that_sleeps_are_survived(tmp_path: Path, postgres_url: str) -> None:
    with SimWeb(LONG, tmp_path / "log") as web:
        killed_and_asleep(Cluster(web, tmp_path, postgres_url, 3))


def killed_and_asleep(cluster: Cluster) -> None:
    first = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 5)
    second, third = cluster.start(1), cluster.start(2)
    wait_for(lambda: len(cluster.query("SELECT 1 FROM engines WHERE pages > 0")) >= 2, 60)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    os.killpg(second.pid, signal.SIGSTOP)
    try:
        time.sleep(24)  # lease and one more until somebody may take over
    finally:
        os.killpg(second.pid, signal.SIGCONT)
    again = cluster.start(0)
    cluster.finish(again, second, third)
    cluster.check()


def test_the_page_limit_is_that_of_all_nodes(tmp_path: Path, postgres_url: str) -> None:
    with SimWeb(replace(SPEC, pages=60), tmp_path / "log") as web:
        cluster = Cluster(web, tmp_path, postgres_url, 3)
        first, second, third = cluster.nodes
        first.flags += ["--max-pages", "1000"]
        third.flags += ["--max-pages", "900"]
        processes = [first.start()]
        wait_for(lambda: cluster.pages() > 5)
        processes.append(second.start(resume=True))  # it is told by the store
        refused = lycosa("crawl", "--resume", *third.flags)
        cluster.finish(*processes)
    assert refused.returncode == 2
    assert "--max-pages: 900 here, 1000 there" in refused.stderr
    # At most what is in flight more, one visit a domain; usually up to five pages: rounding, and
    # visits whose redirects count as pages of their own.
    print(cluster.pages(), "pages")
    assert 1000 <= cluster.pages() <= 1000 + SPEC.domains
    assert "the limit of 1000 pages is reached" in second.log.read_text()


def test_a_node_that_differs_is_refused(web: SimWeb, tmp_path: Path, postgres_url: str) -> None:
    cluster = Cluster(web, tmp_path, postgres_url, 2)
    first = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 0)
    flags: Words = ["--store", postgres_url, "--data-dir", cluster.nodes[1].data]
    other = lycosa("crawl", "--resume", *flags, "--delay", "0.25")
    assert other.returncode == 2
    assert "--delay: 0.25 s here, 0.5 s in the crawl" in other.stderr
    stopped = lycosa("stop", "--store", postgres_url)
    assert stopped.returncode == 0
    cluster.finish(first, code=3)


def test_the_server_is_restarted(web: SimWeb, tmp_path: Path) -> None:
    for server in servers():
        restarted_twice(Cluster(web, tmp_path, server.url, 2), server)


def restarted_twice(cluster: Cluster, server: OwnServer) -> None:
    first = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 5)
    second = cluster.start(1)
    for away in (0.5, 15.0):  # the second longer than a lease
        time.sleep(2)
        server.stop()
        time.sleep(away)
        server.start()
    cluster.finish(first, second)
    cluster.check()
    logs = cluster.logs()
    assert "Traceback" not in logs
    assert "the store is back" in logs
    assert logs.count("trying again") <= 4 * 2


def test_mistakes_with_stores(web: SimWeb, tmp_path: Path, postgres_server: str) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("example.org\n")
    data = tmp_path / "data"
    for store in (
        postgres_server.replace("/postgres?", "/nothere?"),
        "postgresql://u:s3cret@127.0.0.1:1/db",
        "postgresql://u:s3cret@[::1/db",
    ):
        words = ("--email", EMAIL, "--data-dir", data, "--store", store)
        for found in (lycosa("crawl", seeds, *words), lycosa("crawl", "--resume", *words)):
            assert found.returncode == 2, found.stderr
            assert found.stderr.count("\n") == 1 and found.stderr.startswith("lycosa: ")
            assert "s3cret" not in found.stderr + found.stdout
    assert not data.exists()
