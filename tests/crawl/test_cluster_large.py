"""Four nodes on one server, and everything that can go wrong with them at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.cluster import Cluster
from support.postgres import OwnServer, servers
from support.program import wait_for

DELAY = 2.0
LEASE = 12.0
# Few fetches at once: an engine then holds few domains, and the others get some.
FLAGS = ("--visit-timeout", "4", "--lease-time", str(LEASE), "--max-workers", "5")
ROUNDS = 3
AWAY = (0.5, LEASE + 4)  # seconds for which the server is away, the second beyond every lease


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("nodes", [2, 4])
def test_nodes_and_server_fail_together(tmp_path: Path, nodes: int, seed: int) -> None:
    spec = WorldSpec(seed=seed, domains=150, pages=40, delay=DELAY)
    for server in servers():
        with SimWeb(spec, tmp_path / "log") as web:
            cluster = Cluster(web, tmp_path, server.url, nodes, *FLAGS, delay=DELAY)
            Chaos(cluster, server, seed).run()
            cluster.check()
            report = web.check(DELAY)
            print(f"\n{nodes} nodes, seed {seed}: {report.text()}")
            engines = cluster.query("SELECT count(*), sum(pages) FROM engines WHERE id > 0")
            print(f"engines, pages: {engines[0]}; texts: {sum(cluster.texts().values())}")
            shares = cluster.query("SELECT node, sum(pages) FROM engines WHERE id > 0 GROUP BY 1")
            print(f"pages by node: {sorted(int(str(pages)) for _, pages in shares)}")
            assert len(shares) == nodes
            assert "Traceback" not in cluster.logs()


class Chaos:
    """In each round one node is killed, another stopped beyond its lease; in two of them the
    server is restarted meanwhile."""

    def __init__(self, cluster: Cluster, server: OwnServer, seed: int) -> None:
        self.cluster = cluster
        self.server = server
        self.rng = random.Random(seed)
        self.running: list[subprocess.Popen[bytes]] = []

    def run(self) -> None:
        cluster = self.cluster
        self.running = [cluster.start(0, resume=False)]
        try:
            wait_for(lambda: cluster.pages() > 5)
            self.running += [cluster.start(number) for number in range(1, len(cluster.nodes))]
            wait_for(self.all_there, 90)
            for number in range(ROUNDS):
                self.round(AWAY[number] if number < len(AWAY) else 0)
            assert cluster.query("SELECT 1 FROM ready LIMIT 1"), "it ended before its trials did"
        except BaseException:
            self.end()
            raise
        cluster.finish(*self.running, seconds=500)

    def all_there(self) -> bool:
        return len(self.cluster.query("SELECT 1 FROM engines WHERE NOT dead AND id > 0")) == len(
            self.cluster.nodes
        )

    def round(self, away: float) -> None:
        killed, stopped = self.rng.sample(range(len(self.running)), 2)
        os.killpg(self.running[stopped].pid, signal.SIGSTOP)
        since = time.monotonic()
        time.sleep(self.rng.uniform(0, 2))
        os.killpg(self.running[killed].pid, signal.SIGKILL)
        self.running[killed].wait()
        if away:
            self.server.stop()
            time.sleep(away)
            self.server.start()
        if self.rng.random() < 0.5:  # back at once, or when others have taken over
            self.running[killed] = self.cluster.start(killed)
        time.sleep(max(0, since + 2 * LEASE + self.rng.uniform(0, 4) - time.monotonic()))
        os.killpg(self.running[stopped].pid, signal.SIGCONT)
        if self.running[killed].poll() is not None:
            self.running[killed] = self.cluster.start(killed)
        time.sleep(self.rng.uniform(1, 3))

    def end(self) -> None:
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
