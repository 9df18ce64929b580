"""Two nodes crawl a simulated web together, by real processes; exports of both are killed at random
moments, and in the end all formats have the same pages as the store."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from export.commands import left_in, lines_of, rows_of
from export.test_running import urls_of
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, Words, lycosa, started, status, wait_for

SPEC = WorldSpec(seed=4, domains=50, pages=14, delay=0.1)
FORMATS = {"parquet": 1.2, "jsonl": 0.8, "wet": 0.25, "cdxj": 0.1}  # seconds they take, about
KILLS = 2  # of each export
NODE = ("--warc", "--engines", "1", "--max-workers", "50")


def crawled(web: SimWeb, root: Path, store: str) -> list[Path]:
    """Two nodes crawl to the end; their directories."""
    nodes = []
    for name in ("one", "two"):
        (root / name).mkdir()
        nodes.append(Crawl(web, root / name, SPEC.delay, "--store", store, *NODE))
    first = nodes[0].start()
    wait_for(lambda: status(nodes[0].data, "--store", store).get("pages", 0) > 5, 60)
    # On a busy machine the first would be done before the second is there.
    steered("pause", store)
    second = nodes[1].start(resume=True)
    wait_for(lambda: len(status(nodes[1].data, "--store", store).get("engines", ())) == 2, 60)
    steered("unpause", store)
    for node, process in zip(nodes, (first, second), strict=True):
        assert process.wait(90) == 0, node.log.read_text()[-3000:]
    return [node.data for node in nodes]


def steered(word: str, store: str) -> None:
    done = lycosa(word, "--store", store)
    assert done.returncode == 0, done.stderr


def killed(words: Words, work: Path, after: float) -> bool:
    """Start a command, kill it so many seconds after its first file; whether it had more to do."""
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    started.append(process)
    wait_for(lambda: work.exists() or process.poll() is not None)
    time.sleep(after)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL and work.exists()


def export(format_: str, out: Path, flags: Words, chance: random.Random) -> int:
    """Export, with kills in between; how many came before its end."""
    words: Words = ["export", format_, out, *flags, "--file-size", "50k"]
    work = out.with_name(f"{out.name}.unfinished")
    hits = 0
    for kill in range(KILLS):  # the first comes at once: an export may be faster than it was
        if not out.exists():
            hits += killed(words, work, chance.uniform(0, FORMATS[format_]) if kill else 0)
    if not out.exists():
        done = lycosa(*words)
        assert done.returncode == 0, done.stderr
    return hits


def counts(out: Path, flags: Words) -> dict[str, list[str]]:
    """The URLs of each format and of the store."""
    listed = lycosa("pages", *flags, "--limit", "9999", "--json").stdout.splitlines()
    return {
        "pages": [json.loads(line)["url"] for line in listed],
        "text": [row["url"] for row in rows_of(out / "parquet/text")],
        "index": [row["url"] for row in rows_of(out / "parquet/index")],
        "jsonl": [row["url"] for row in lines_of(out / "jsonl")],
        "wet": list(urls_of(out / "wet", ("conversion",)).elements()),
        "cdxj": [
            json.loads(line.split(" ", 2)[2])["url"]
            for line in (out / "cdxj").read_text().splitlines()
        ],
    }


@pytest.mark.timeout(180)
def test_two_nodes_crawl_and_exports_that_are_killed_have_every_page_once(
    tmp_path: Path, postgres_url: str
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    with SimWeb(SPEC, tmp_path / "log") as web:
        nodes = crawled(web, tmp_path, postgres_url)
    out = tmp_path / "out"
    out.mkdir()
    flags: Words = ["--store", postgres_url, "--outcome", "ok"]
    both: Words = [*flags, *(word for node in nodes for word in ("--data-dir", node))]
    hits = [export(each, out / each, both, random.Random(f"{seed}{each}")) for each in FORMATS]
    found = counts(out, flags)
    told = {name: len(urls) for name, urls in found.items()}
    print(f"killed before the end: {dict(zip(FORMATS, hits, strict=True))}; pages: {told}")
    assert told["pages"] > 300 and any(hits), told
    for urls in found.values():
        assert sorted(urls) == sorted(found["pages"]), told
    files = {row["file_path"].split("/")[1] for row in rows_of(out / "parquet/text")}
    assert len(files) >= 2, files  # both nodes have pages
    assert left_in(out) == sorted(FORMATS)
