"""The two stores, filled by SQL: each is opened by its real class and tells what it has cost."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any, Protocol

import psycopg

from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from stores import ancestor, world
from stores.server import SETTINGS, Server, backend_cpu, empty_cache, warm_cache
from stores.world import DONE, DONE_FROM, FP_SQL, GROUP, ID_SQL, PER_DOMAIN, URL_SQL

# Rows come domain by domain within a round, and in as many rounds as a domain has groups of URLs:
# the URLs of one page lie together, those of a domain do not.
SEEN = """
INSERT INTO seen (domain_id, fp, ord)
SELECT {id}, {fp}, {base} + u.i FROM {domains}, {numbers} ORDER BY 1, 3
"""
QUEUE = """
INSERT INTO queue (domain_id, ord, fp, depth, attempts, flags, url)
SELECT {id}, {base} + u.i, {fp}, 1, 0, 0, {url}
FROM {domains}, {numbers} ORDER BY 1, 2
"""
DOMAINS = """
INSERT INTO domains (id, name, queued)
SELECT {id}, 'site' || d.n || '.example', {each} FROM {domains} ORDER BY 1
"""
READY = """
INSERT INTO ready (ready_at, id) SELECT {now} - 3600000 + d.n, {id} FROM {domains} ORDER BY 1
"""
ORIGINS = """
INSERT INTO origins (domain_id, origin, fetched_ms, status, rules, failures, retry_ms, reason)
SELECT {id}, 'https://www.site' || d.n || '.example', {now}, 200, {rules}, 0, 0, ''
FROM {domains} ORDER BY 1
"""
FILES = """
SELECT pg_relation_filepath(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND relname NOT LIKE 'old%'
"""
TABLES = ("domains", "ready", "held", "queue", "seen")
RULES = {"postgres": "convert_to(repeat('r', 300), 'UTF8')", "sqlite": "zeroblob(300)"}


class Filled(Protocol):
    """A filled store."""

    kind: str

    def exists(self) -> bool: ...
    def fill(self, urls: int, domains: int, visited: int) -> float:
        """Fill it; returns bytes per URL."""

    def open(self) -> Any: ...
    def server_cpu(self) -> float: ...
    def backend_cpu(self, store: Any) -> float: ...
    def written(self) -> int: ...
    def calm(self, visited: int) -> None:
        """Nothing is left to be written, all of it is in memory, and the domains that have URLs
        done are first in line, also if something was measured before."""

    def chill(self, whole: bool) -> str:
        """Nothing of it is in memory; returns how that was done."""

    def stop(self) -> None: ...


def statements(kind: str, urls: int, domains: int, visited: int, now: int) -> list[tuple[str, str]]:
    """What fills a store: a name to show while it runs, and the SQL."""
    each = max(1, urls // domains)
    common = {
        "id": ID_SQL.format(n="d.n"),
        "fp": FP_SQL.format(n=f"d.n * {PER_DOMAIN} + u.i"),
        "url": URL_SQL.format(d="d.n", i="u.i"),
        "base": world.order_base(now),
        "now": now, "each": each, "rules": RULES[kind],
    }  # fmt: skip

    def made(text: str, high: int, low_i: int = 0, high_i: int = 0) -> str:
        return text.format(
            domains=_series(kind, "d", "n", 0, high - 1),
            numbers=_series(kind, "u", "i", low_i, high_i - 1),
            **common,
        )  # fmt: skip

    found = [("domains", made(DOMAINS, domains)), ("ready", made(READY, domains))]
    for low in range(0, each, GROUP):
        high = min(each, low + GROUP)
        found.append((f"seen, {high} per domain", made(SEEN, domains, low, high)))
        found.append((f"queue, {high} per domain", made(QUEUE, domains, low, high)))
    found.append(("", ""))  # here the size is taken
    found.append(("origins", made(ORIGINS, visited)))
    lows = range(DONE_FROM, DONE_FROM + DONE, GROUP)
    return found + [("done", made(SEEN, visited, low, low + GROUP)) for low in lows]


def _series(kind: str, name: str, column: str, low: int, high: int) -> str:
    if kind == "postgres":
        return f"generate_series({low}::int8, {high}) AS {name} ({column})"
    return (
        f"(WITH RECURSIVE s (v) AS (SELECT {low} UNION ALL SELECT v + 1 FROM s WHERE v < {high})"
        f" SELECT v AS {column} FROM s) AS {name}"
    )


class FilledPostgres:
    kind = "postgres"

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder)

    def exists(self) -> bool:
        with psycopg.connect(self.server.url, autocommit=True) as db:
            return bool(db.execute("SELECT to_regclass('filled') IS NOT NULL").fetchall()[0][0])

    def fill(self, urls: int, domains: int, visited: int) -> float:
        self.open(create=True).close()
        size = 0
        self.server.set("max_wal_size", "2GB")  # or the log of filling takes more than the tables
        self.server.set("full_page_writes", "off")
        with psycopg.connect(self.server.url, autocommit=True) as db:
            db.execute("SET work_mem = '512MB'")
            for name, text in statements("postgres", urls, domains, visited, _now()):
                if name:
                    db.execute(text.encode())
                else:
                    db.execute("VACUUM ANALYZE")
                    size = db.execute(
                        "SELECT pg_total_relation_size('queue') + pg_total_relation_size('seen')"
                    ).fetchall()[0][0]
            ancestor.fill(db, urls, domains)
            db.execute("VACUUM ANALYZE")
            db.execute("CREATE TABLE filled AS SELECT 1")
        self.server.set("max_wal_size", SETTINGS["max_wal_size"])
        self.server.set("full_page_writes", "on")
        return size / urls

    def open(self, create: bool = False) -> PostgresFrontier:
        return PostgresFrontier(self.server.url, StoreRules(), create=create)

    def server_cpu(self) -> float:
        return self.server.cpu()

    def backend_cpu(self, store: PostgresFrontier) -> float:
        return backend_cpu(store.db.info.backend_pid)

    def written(self) -> int:
        return self.server.wal()

    def calm(self, visited: int) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as db:
            for statement in _rewind("postgres", visited):
                db.execute(statement.encode())
            for table in TABLES:
                db.execute(f"VACUUM {table}".encode())
            db.execute("CHECKPOINT")
            rows = db.execute(FILES).fetchall()
            warm_cache([file for (path,) in rows for file in self.server.folder.glob(f"{path}*")])
            # As on a server that has run for a while: its own memory holds the indexes.
            db.execute("SET enable_seqscan = off")
            for table in TABLES:
                db.execute(f"SELECT count(*) FROM {table}".encode())

    def chill(self, whole: bool) -> str:
        self.server.stop()
        how = empty_cache(self.server.folder, whole)
        self.server.start()
        return f"restarted, {how}"

    def stop(self) -> None:
        self.server.stop()


class FilledSqlite:
    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "crawl.sqlite"

    def exists(self) -> bool:
        return self.path.with_suffix(".filled").exists()

    def fill(self, urls: int, domains: int, visited: int) -> float:
        self.open(create=True).close()
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -2000000")
        size = 0
        for name, text in statements("sqlite", urls, domains, visited, _now()):
            if name:
                db.execute(text)
            else:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                size = self.path.stat().st_size
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        self.path.with_suffix(".filled").touch()
        return size / urls

    def open(self, create: bool = False) -> SqliteFrontier:
        return SqliteFrontier(self.path, StoreRules(), _now, create=create)

    def server_cpu(self) -> float:
        return 0.0

    def backend_cpu(self, store: SqliteFrontier) -> float:
        return 0.0

    def written(self) -> int:
        # What was handed to the system: what reached the disk depends on what it did meanwhile.
        text = Path("/proc/self/io").read_text()
        return int(text.split("wchar: ")[1].split()[0])

    def calm(self, visited: int) -> None:
        db = sqlite3.connect(self.path, isolation_level=None)
        for statement in _rewind("sqlite", visited):
            db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        warm_cache([self.path])

    def chill(self, whole: bool) -> str:
        return empty_cache(self.path.parent, whole)

    def stop(self) -> None:
        pass


def _rewind(kind: str, visited: int) -> list[str]:
    """Domains below a number are ready before all others, in their order."""
    series, ident = _series(kind, "d", "n", 0, visited - 1), ID_SQL.format(n="d.n")
    chosen = f"WHERE id IN (SELECT {ident} FROM {series})"
    return [
        f"DELETE FROM ready {chosen}",
        f"DELETE FROM held {chosen}",
        "UPDATE domains SET idle = FALSE, polite_at = 1, wait_at = 0, not_before = 0,"
        f" pages = {DONE} {chosen}",
        f"INSERT INTO ready (ready_at, id) SELECT d.n, {ident} FROM {series}",
    ]


def _now() -> int:
    return time.time_ns() // 1_000_000
