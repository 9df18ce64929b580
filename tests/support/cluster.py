"""A crawl of several nodes on one PostgreSQL server, each a real `lycosa crawl`, for a test."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from lycosa.frontier.protocol import open_reader
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.kept import committed_lengths, texts_in
from support.program import Crawl, soft

DELAY = 0.5
SPEC = WorldSpec(seed=5, domains=40, pages=10, delay=DELAY)
# A visit that is given up may still be under way to a busy server, which then sees it late: 4 s are
# enough for one that is not overloaded.
SHORT = ("--engines", "1", "--max-workers", "100", "--visit-timeout", "4", "--lease-time", "11")


class Cluster:
    """Nodes with a directory each, and what they kept together."""

    def __init__(
        self,
        web: SimWeb,
        root: Path,
        store: str,
        count: int,
        *flags: str,
        delay: float = DELAY,
    ) -> None:
        self.web = web
        self.delay = delay
        self.store = store
        self.nodes = []
        for number in range(count):
            folder = root / f"node-{number}"
            folder.mkdir()
            self.nodes.append(Crawl(web, folder, delay, "--store", store, *SHORT, *flags))

    def start(self, number: int, resume: bool = True) -> subprocess.Popen[bytes]:
        return self.nodes[number].start(resume)

    def query(self, text: LiteralString) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.store) as db:
            return db.execute(text).fetchall()

    def pages(self) -> int:
        try:
            return int(self.query("SELECT sum(pages) FROM engines")[0][0] or 0)
        except psycopg.Error:
            return 0

    def texts(self) -> Counter[str]:
        """How often the text of each URL is kept, in all nodes together."""
        with closing(open_reader(Path("none"), self.store)) as reader:
            committed = committed_lengths(reader)
        found: Counter[str] = Counter()
        for node in self.nodes:
            here = {name: size for name, size in committed.items() if (node.data / name).exists()}
            found.update(texts_in(node.data, here))
        return found

    def check(self) -> None:
        kept = {str(url) for (url,) in self.query("SELECT url FROM pages WHERE outcome = 'ok'")}
        missing, extra = self.web.world.compare(kept)
        assert (missing, soft(self.web.world, extra)) == (set(), set())
        texts = self.texts()
        assert set(texts) == kept
        assert set(texts.values()) == {1}
        report = self.web.check(self.delay)
        assert report.ok, report.text()

    def logs(self) -> str:
        return "\n".join(node.log.read_text() for node in self.nodes if node.log.exists())

    def finish(
        self, *processes: subprocess.Popen[bytes], seconds: float = 110, code: int = 0
    ) -> None:
        end = time.monotonic() + seconds
        try:
            for process in processes:
                ended = process.wait(max(1.0, end - time.monotonic()))
                assert ended == code, self.logs()[-3000:]
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
