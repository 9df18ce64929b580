"""The real program as a process: run one command, or start a crawl of a simulated web, kill it, and
look at what it kept."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from lycosa.frontier.protocol import DATABASE, open_reader
from lycosa.simweb.check import Report, Violation, check
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.world import World
from support.kept import committed_lengths, texts_in
from support.logs import logs_in, urls_in

SERVER_LAG = 1.0  # seconds between a request's arrival and its line in the log, on a loaded machine
UNREAD = 0.5  # seconds in which an answer may wait to be read on such a machine
EMAIL = "tests@lycosa.example"
Words = list[str | Path]  # of a command line
started: list[subprocess.Popen[bytes]] = []  # ended by a fixture if a failed test left them


# A user who is not root may mount in a name space in which it counts as root.
UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def can_mount() -> bool:
    return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0


def in_small_filesystem(root: Path, size: str) -> list[str]:
    """A command prefix: what follows runs with a small file system mounted at `root`."""
    script = f'mount -t tmpfs -o size={size} none {root} && exec "$@"'
    return [*UNSHARE, "--propagation", "private", "sh", "-c", script, "sh"]


def lycosa(
    *words: str | Path,
    timeout: float = 60,
    variables: dict[str, str] | None = None,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LYCOSA_")}
    environ["LYCOSA_DASHBOARD"] = "no"
    environ.update(variables or {})
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environ, input=stdin
    )


def status(data: Path, *flags: str) -> dict[str, Any]:
    """What `lycosa status` tells of a crawl; {} as long as there is nothing to tell."""
    done = lycosa("status", "--json", "--data-dir", data, *flags)
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


class Crawl:
    """One crawl of a simulated web in a directory."""

    def __init__(self, web: SimWeb, root: Path, delay: float, *flags: str) -> None:
        self.web = web
        self.root = root
        self.data = root / "data"
        self.seeds = root / "seeds.txt"
        self.log = root / "crawl.log"
        self.delay = delay
        self.kills: list[float] = []  # moments on the monotonic clock
        web.write_seeds(self.seeds)
        self.flags = [
            "--email", EMAIL,
            "--data-dir", str(self.data),
            "--delay", str(delay),
            "--allow-private-addresses",
            "--nameserver", web.nameserver,
            "--port-map", web.port_map,
            *flags,
        ]  # fmt: skip

    def command(self, resume: bool = False) -> list[str]:
        words = ["--resume"] if resume else [str(self.seeds)]
        return [sys.executable, "-m", "lycosa", "crawl", *words, *self.flags]

    def start(self, resume: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start it as the leader of its own process group."""
        with self.log.open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                self.command(resume), stdout=log, stderr=log, start_new_session=True, **options
            )
        started.append(process)
        return process

    def run(self, resume: bool = False, timeout: float = 300, **options: Any) -> int:
        """Run it to its end; returns the exit code."""
        process = self.start(resume, **options)
        try:
            return process.wait(timeout)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    # -- what it kept -------------------------------------------------------------------------

    def database(self) -> sqlite3.Connection:
        """Not created here: a crawl puts its own file in place, and ours would take its log."""
        path = (self.data / DATABASE).absolute()
        return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        db = self.database()
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()

    def queued(self) -> set[str]:
        """All URLs that are queued."""
        with closing(self.database()) as db:
            return urls_in(logs_in(db))

    def pages(self) -> int:
        """Pages that are committed; 0 as long as there is no store."""
        try:
            return int(self.rows("SELECT sum(pages) FROM engines")[0][0] or 0)
        except sqlite3.Error:
            return 0

    def outcomes(self) -> dict[str, int]:
        return dict(self.rows("SELECT outcome, count(*) FROM pages GROUP BY outcome"))

    def committed(self) -> dict[str, int]:
        with closing(open_reader(self.data)) as reader:
            return committed_lengths(reader)

    def texts(self) -> Counter[str]:
        """How often the text of each URL is in the archive."""
        return texts_in(self.data, self.committed())

    def kept(self) -> set[str]:
        rows = self.rows("SELECT url FROM pages WHERE outcome = 'ok'")
        kept = {str(url) for (url,) in rows}
        assert len(kept) == len(rows), "a URL has two pages"
        return kept

    def check_complete(self) -> None:
        """Every page that can be reached is kept exactly once, and nothing else is."""
        kept = self.kept()
        missing, extra = self.web.world.compare(kept)
        extra = soft(self.web.world, extra)
        told = f"missing: {sorted(missing)}, too many: {sorted(extra)}, all: {self.outcomes()}"
        assert not (missing or extra), told
        texts = self.texts()
        assert set(texts) == kept
        assert set(texts.values()) == {1}

    def check_polite(self) -> Report:
        log = self.web.log()
        report = check(log, self.web.world, self.delay)
        unheard = [v for v in report.violations if self._unheard(v, log)]
        if unheard:
            print(f"wishes in answers that a kill left unread: {unheard}")
        few = len(unheard) <= report.pages / 1000
        assert few and len(report.violations) == len(unheard), report.text()
        return report

    def _unheard(self, violation: Violation, log: list[Entry]) -> bool:
        """Whether the Retry-After or Crawl-delay that was not kept came at a kill, so that nobody
        heard of it."""
        if violation.kind not in ("retry-after", "crawl-delay"):
            return False
        cause = max(
            (e for e in log if e.domain == violation.domain and e.end < violation.at),
            key=lambda entry: entry.end,
        )
        return any(cause.start - SERVER_LAG <= at <= cause.end + UNREAD for at in self.kills)

    def engines(self, process: subprocess.Popen[bytes]) -> list[int]:
        """Process ids of the engines of a running crawl."""
        path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            return [int(pid) for pid in path.read_text().split()]
        except FileNotFoundError:
            return []

    def engines_alive(self) -> bool:
        """Whether a process holds the lock of the directory."""
        with (self.data / "lycosa.lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False


def soft(world: World, extra: set[str]) -> set[str]:
    """Without pages that a crawler may or may not keep: a body cut off by a reset."""
    return {url for url in extra if "/reset/" not in url}


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
