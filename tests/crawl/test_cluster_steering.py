"""Changes reach every engine of two nodes on one server within seconds, and survive kill -9."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.cluster import Cluster
from support.program import lycosa, wait_for

SPEC = WorldSpec(seed=17, domains=40, pages=80, delay=0.5, latency_ms=150).only("robots-allow")
SECONDS = 8.0  # in which a change has reached everybody, on a busy machine


def told(cluster: Cluster, *words: str | Path) -> dict[str, Any]:
    done = lycosa(*words, "--json", "--store", cluster.store)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def heard(cluster: Cluster, *words: str | Path) -> dict[str, Any]:
    """Make a change, and see that all engines of both nodes go by it soon."""
    began = time.monotonic()
    found = told(cluster, *words)
    assert found["heard"] and time.monotonic() - began < SECONDS
    return found


def asked_since(web: SimWeb, moment: float) -> dict[str, list[float]]:
    """When each domain was asked for something; robots.txt, a redirect and its target are one
    visit."""
    found: dict[str, list[float]] = {}
    for entry in web.log():
        if entry.start > moment and not entry.location and entry.target != "/robots.txt":
            found.setdefault(entry.domain, []).append(entry.start)
    return found


def fetches(cluster: Cluster) -> set[int]:
    """How many fetches each node may have under way, by what the store keeps."""
    rows = cluster.query("SELECT value FROM crawl WHERE key LIKE 'node:%%'")
    return {json.loads(value)["max_workers"] for (value,) in rows}


def at_once(web: SimWeb, since: float) -> int:
    """The most requests that were under way at one moment."""
    found = [entry for entry in web.log() if entry.start > since]
    steps = [(entry.start, 1) for entry in found] + [(entry.end, -1) for entry in found]
    return max(accumulate(step for _, step in sorted(steps)), default=0)


def check_fetches(cluster: Cluster) -> set[str]:
    """The number of fetches changes on all nodes, or on the one that is named; their names."""
    done = heard(cluster, "set", "max-workers=1")["changed"]["max-workers"]
    assert done == {"before": "100", "now": "1"} and fetches(cluster) == {1}
    time.sleep(1.0)
    mark = time.monotonic()
    time.sleep(4.0)
    assert at_once(cluster.web, mark) <= 2, "each of two nodes has one fetch under way at most"
    names = {name for (name,) in cluster.query("SELECT node FROM engines WHERE NOT dead") if name}
    one = min(names)
    heard(cluster, "set", "max-workers=30", "--node", one[:8])
    assert fetches(cluster) == {1, 30}
    mixed = {each["name"]: each["value"] for each in told(cluster, "set")["settings"]}
    assert set(mixed["max-workers"].split(" and ")) == {"1", "30"}
    node = cluster.nodes[1].data
    heard(cluster, "set", "max-workers=30", "--data-dir", node)
    heard(cluster, "set", "max-workers=20")
    assert fetches(cluster) == {20}
    mark = time.monotonic()
    wait_for(lambda: at_once(cluster.web, mark) > 2, SECONDS)
    nobody = lycosa("set", "max-workers=2", "--node", "zzz", "--store", cluster.store)
    assert nobody.returncode == 2 and "No node of this crawl begins with 'zzz'" in nobody.stderr
    assert fetches(cluster) == {20}
    return names


@pytest.mark.timeout(240)
def test_changes_reach_both_nodes_and_survive_kills(tmp_path: Path, postgres_url: str) -> None:
    with SimWeb(SPEC, tmp_path / "log") as web:
        cluster = Cluster(web, tmp_path, postgres_url, 2, "--seeded-urls-only")
        names = web.seeds()
        cluster.nodes[0].seeds.write_text("\n".join(names[:30]))
        first = cluster.start(0, resume=False)
        wait_for(lambda: cluster.pages() > 5)
        second = cluster.start(1)
        wait_for(lambda: len(cluster.query("SELECT 1 FROM engines WHERE NOT dead")) == 2)

        heard(cluster, "pause")
        time.sleep(1.0)
        mark = time.monotonic()
        time.sleep(3.0)
        assert asked_since(web, mark) == {}
        assert told(cluster, "status")["state"] == "paused"
        assert cluster.query("SELECT count(*) FROM held") == [(0,)]
        heard(cluster, "unpause")
        wait_for(lambda: asked_since(web, mark))

        heard(cluster, "set", "delay=2")
        time.sleep(0.5)
        mark = time.monotonic()
        time.sleep(6.0)
        late = asked_since(web, mark)
        assert late and min(b - a for times in late.values() for a, b in pairwise(times)) > 1.9

        names_of_nodes = check_fetches(cluster)

        gone = names[3]
        assert told(cluster, "exclude", gone, "--yes")["added"] == [gone]
        added = told(cluster, "seeds", "add", *names[30:34])
        assert added["taken"] == 4
        mark = time.monotonic()
        wait_for(lambda: set(names[30:34]) <= set(asked_since(web, mark - 1)), SECONDS)
        wait_for(lambda: cluster.query("SELECT 1 FROM left_out LIMIT 1"), 20)
        mark = time.monotonic()
        time.sleep(3.0)
        assert gone not in asked_since(web, mark)
        mark = time.monotonic()
        assert told(cluster, "exclude", gone, "--remove")["queued_again"] > 0
        wait_for(lambda: gone in asked_since(web, mark), SECONDS)

        for process in (first, second):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        found = {each["name"]: each["value"] for each in told(cluster, "set")["settings"]}
        assert found["max-workers"] == "20" and fetches(cluster) == {20}
        assert found["delay"] == "2" and told(cluster, "exclude", "--list") == {"exclusions": []}
        assert told(cluster, "seeds", "add", *names[30:34])["known"] == 4
        for node in cluster.nodes:
            at = node.flags.index("--delay")
            del node.flags[at : at + 2]
        mark = time.monotonic()
        processes = [cluster.start(0), cluster.start(1)]
        wait_for(lambda: len(asked_since(web, mark)) > 5, 60)
        assert {line["node"] for line in told(cluster, "top", "--once")["nodes"]} == names_of_nodes
        heard(cluster, "set", "delay=0.5")
        time.sleep(3.0)
        assert told(cluster, "stop")["stopping"]
        cluster.finish(*processes, seconds=40, code=3)
        assert set(names[:34]) == set(asked_since(web, 0))
        report = web.check(cluster.delay)
        assert report.ok, report.text()
        audit = told(cluster, "audit", *(node.data for node in cluster.nodes))
        assert audit["ok"] and not audit["unseen"]
        assert "Traceback" not in cluster.logs()
