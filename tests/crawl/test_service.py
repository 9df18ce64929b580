"""One command for a service: it starts a crawl or goes on with it, whatever happened before."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, status, wait_for

SPEC = WorldSpec(seed=21, domains=20, pages=8, delay=0.3, https=0).only("robots-allow")
FINISHED, STOPPED = 0, 3


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    with SimWeb(SPEC, tmp_path_factory.mktemp("web")) as web:
        yield web


def service(web: SimWeb, root: Path, *flags: str) -> Crawl:
    root.mkdir(exist_ok=True)
    return Crawl(web, root, 0.3, "--start-or-resume", "--engines", "1", *flags)


def state(crawl: Crawl, *flags: str) -> str:
    return str(status(crawl.data, *flags).get("state", ""))


def test_the_same_command_after_every_kill(web: SimWeb, tmp_path: Path) -> None:
    crawl, chance = service(web, tmp_path), random.Random(5)
    for _ in range(4):
        process = crawl.start()
        time.sleep(chance.uniform(0.1, 2.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        crawl.kills.append(time.monotonic())
        time.sleep(0.3)
    assert crawl.run() == FINISHED
    crawl.check_complete()
    assert state(crawl) == "finished"
    before = crawl.rows("SELECT count(*) FROM pages")
    assert crawl.run() == FINISHED  # nothing is left, and the seeds are known
    assert crawl.rows("SELECT count(*) FROM pages") == before
    assert len(list((crawl.data / "seeds").iterdir())) == 1
    with crawl.seeds.open("a") as file:
        file.write("nowhere.invalid\n")
    assert crawl.run() == FINISHED  # but a changed file is read
    assert len(list((crawl.data / "seeds").iterdir())) == 2
    assert crawl.outcomes()["dns-nxdomain"] >= 1


def test_exit_codes_and_states_tell_stopped_from_finished(web: SimWeb, tmp_path: Path) -> None:
    crawl = service(web, tmp_path)
    process = crawl.start()
    wait_for(lambda: state(crawl) == "running")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == STOPPED
    assert state(crawl) == "stopped"
    limited = Crawl(web, tmp_path, 0.3, "--start-or-resume", "--max-duration", "0.5")
    assert limited.run() == FINISHED  # a limit that was asked for: all that was wanted is done
    assert state(crawl) == "stopped"
    assert crawl.run() == FINISHED
    assert state(crawl) == "finished"


def test_a_signal_while_seeds_are_loaded(web: SimWeb, tmp_path: Path) -> None:
    crawl = service(web, tmp_path, "--seeded-urls-only")
    with crawl.seeds.open("w") as file:
        file.writelines(f"d{n}.invalid\n" for n in range(600_000))
    process = crawl.start()
    wait_for(lambda: (crawl.data / "crawl.sqlite").exists())
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == STOPPED


def test_nodes_that_start_at_once(web: SimWeb, tmp_path: Path, postgres_url: str) -> None:
    """Each is told the same: one begins the crawl, the others join it."""
    short = ("--store", postgres_url, "--visit-timeout", "4", "--lease-time", "11")
    nodes = [service(web, tmp_path / name, *short) for name in ("a", "b", "c")]
    processes = [node.start() for node in nodes]
    codes = [process.wait(110) for process in processes]
    assert codes == [FINISHED] * 3, "".join(node.log.read_text() for node in nodes)
    assert state(nodes[0], "--store", postgres_url) == "finished"
    listed = lycosa("pages", "--limit", "10000", "--outcome", "ok", "--json", *short[:2])
    texts = [json.loads(line)["url"] for line in listed.stdout.splitlines()]
    missing, extra = web.world.compare(set(texts))
    assert not missing and len(texts) == len(set(texts)), (missing, extra)
