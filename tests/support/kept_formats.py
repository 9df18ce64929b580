"""Crawls as older formats left them, kept for ever: a format is never changed after it is kept.

    python tests/support/kept_formats.py sqlite      # writes tests/formats/sqlite-N.tar.gz
    python tests/support/kept_formats.py postgres

N is the format number of the code that runs. Each is a crawl of the same small web, killed in the
middle: engines hold domains, the ledger ends in visits without an end, segments are open. It is
made once, when a format is new, by the code that has it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import psycopg

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # when this file is the program

from lycosa.frontier import queries  # noqa: E402
from lycosa.simweb.serve import SimWeb  # noqa: E402
from lycosa.simweb.spec import WorldSpec  # noqa: E402
from support.postgres import OwnServer, servers  # noqa: E402
from support.program import Crawl, wait_for  # noqa: E402

FORMATS = HERE.parent / "formats"
DUMP = "store.sql"  # beside the data directory, where the store is PostgreSQL
WORLD = WorldSpec(seed=14, domains=12, pages=12, page_bytes=3_000, links=15, delay=0.4)
# A short lease: a database on another server gives out no domain before the last one has ended.
LEASE = ("--visit-timeout", "4", "--lease-time", "12")
FLAGS = ("--engines", "2", "--warc", "--sitemaps", *LEASE)
PAGES = 60  # of about 150, before the kill


def kept(store: str) -> list[Path]:
    """All formats of a store, the oldest first."""
    return sorted(FORMATS.glob(f"{store}-*.tar.gz"), key=number_of)


def number_of(path: Path) -> int:
    return int(path.name.removesuffix(".tar.gz").rpartition("-")[2])


def unpack(path: Path, root: Path, store_url: str = "") -> None:
    """Put a kept crawl there, and into an empty schema of PostgreSQL where it was in one."""
    with tarfile.open(path) as tar:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since 3.11.4
        tar.extractall(root, **safe)  # type: ignore[arg-type]
    if store_url:
        with psycopg.connect(store_url, autocommit=True) as db:
            db.execute((root / DUMP).read_bytes())


def killed(crawl: Crawl) -> None:
    """Run it until it has some pages, and no farther."""
    process = crawl.start()
    wait_for(lambda: _visits(crawl) >= PAGES, 60)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _visits(crawl: Crawl) -> int:
    """Roughly: the ledger has a line for the start of each, and one for its end."""
    return sum(path.read_bytes().count(b"\n") for path in crawl.data.glob("visits/*")) // 2


def _dumped(server: OwnServer) -> bytes:
    """What fills an empty schema with all that is in the server's own."""
    words = ["--inserts", "--no-owner", "--no-privileges", "--schema=public", server.url]
    text = subprocess.run([server.program("pg_dump"), *words], check=True, capture_output=True)
    path = b"SELECT pg_catalog.set_config('search_path'"
    unwanted = (b"\\", b"--", b"SET ", b"COMMENT ON SCHEMA", b"CREATE SCHEMA", path)
    lines = [each for each in text.stdout.split(b"\n") if each and not each.startswith(unwanted)]
    return b"\n".join(lines).replace(b"public.", b"")


def _packed(store: str, root: Path) -> Path:
    target = FORMATS / f"{store}-{len(queries.migrations(store))}.tar.gz"
    target.parent.mkdir(exist_ok=True)
    with tarfile.open(target, "w:gz") as tar:
        for name in ("data", DUMP):
            if (root / name).exists():
                tar.add(root / name, name)
    return target


def make(store: str) -> Path:
    with tempfile.TemporaryDirectory() as folder, SimWeb(WORLD, Path(folder, "log")) as web:
        root = Path(folder)
        if store == "sqlite":
            killed(Crawl(web, root, WORLD.delay, *FLAGS))
            return _packed(store, root)
        for server in servers():
            killed(Crawl(web, root, WORLD.delay, *FLAGS, "--store", server.url))
            (root / DUMP).write_bytes(_dumped(server))
        return _packed(store, root)


if __name__ == "__main__":
    print(make(sys.argv[1]))
