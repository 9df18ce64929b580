"""Makes the frontier of a crawl large before it is measured.

Ballast is domains that are known and have URLs queued, but are not due for years: a crawl carries
them in its tables and never visits them.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
from pathlib import Path

FAR_MS = 4_000_000_000_000  # a time that no run reaches


def burdened(words: list[str], home: Path, domains: int, urls: int) -> None:
    """Runs the crawl of a command for one page, then adds ballast to its frontier."""
    subprocess.run([*words, "--max-pages", "1"], check=True, stdout=subprocess.DEVNULL)
    ballast(home / "data" / "crawl.sqlite", domains, urls)


def resumed(words: list[str], home: Path) -> list[str]:
    """The command that resumes the crawl that `words` begins."""
    return ["--resume" if word == str(home / "seeds.txt") else word for word in words]


def ballast(database: Path, domains: int, urls: int) -> None:
    """Adds so many domains, with so many queued URLs each."""
    if domains <= 0:
        return
    # Real ids are hashes, these are spread alike. Rows go in fast in the order of their key.
    draw = random.Random(1)
    ids = sorted({draw.getrandbits(63) for _ in range(domains)})
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA cache_size = -500000")
        db.execute("CREATE TEMP TABLE load (i INTEGER, id INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO load VALUES (?, ?)", enumerate(ids))
        db.execute("CREATE TEMP TABLE each (k INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO each VALUES (?)", [(k,) for k in range(urls)])
        db.execute(
            "INSERT INTO domains (id, name, polite_at, queued) "
            "SELECT id, 'b' || i || '.test', ?1, ?2 FROM load ORDER BY id", (FAR_MS, urls),
        )  # fmt: skip
        db.execute(
            "INSERT INTO ready (ready_at, id) SELECT ?1, id FROM load ORDER BY id", (FAR_MS,)
        )
        db.execute(
            "INSERT INTO queue SELECT id, 1, i * 1000 + k, "
            "'http://b' || i || '.test/a/page/of/it/' || k, 0, 0, 0 "
            "FROM load CROSS JOIN each ORDER BY id, k"
        )
        db.execute(
            "INSERT INTO seen SELECT id, i * 1000 + k, 1 FROM load CROSS JOIN each ORDER BY id, k"
        )
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
