"""Changes reach every engine of two nodes on one server within seconds, and survive kill -9."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from test_cluster import Cluster

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import lycosa, wait_for

SPEC = WorldSpec(seed=17, domains=40, pages=80, delay=0.5).only("robots-allow")
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
        assert found["delay"] == "2" and told(cluster, "exclude", "--list") == {"exclusions": []}
        assert told(cluster, "seeds", "add", *names[30:34])["known"] == 4
        for node in cluster.nodes:
            at = node.flags.index("--delay")
            del node.flags[at : at + 2]
        mark = time.monotonic()
        processes = [cluster.start(0), cluster.start(1)]
        wait_for(lambda: len(asked_since(web, mark)) > 5, 60)
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
