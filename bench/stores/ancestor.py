"""For comparison, how lycosa's ancestor found work: each fetch claimed one URL by a query over all.

Its tables are filled with as many URLs as the frontier beside it, on the same server, and have the
ancestor's partial index. A claim is one transaction, as it was there.
"""

from __future__ import annotations

import itertools
import time

import psycopg

from stores.server import Server, backend_cpu

GROUP = 5  # URLs of one domain that came together
DOMAINS = 1_000_000
URL_SQL = (
    "'https://www.site' || {d} || '.example/articles/2026/a-title-of-some-words-' || {i} || '.html'"
)
FILL = """
CREATE TABLE old_domains (id int8 PRIMARY KEY, ready_at int8 NOT NULL) WITH (fillfactor = 70);
INSERT INTO old_domains SELECT n, 0 FROM generate_series(0::int8, {domains} - 1) AS n;
CREATE TABLE old_urls (
    id int8 PRIMARY KEY, domain_id int8 NOT NULL, added int8 NOT NULL, status text NOT NULL,
    url text NOT NULL);
INSERT INTO old_urls
SELECT n, (n / {group} * 7919) % {domains}, n, 'queued', {url}
FROM generate_series(0::int8, {urls} - 1) AS n;
CREATE INDEX old_urls_queued ON old_urls (added) WHERE status = 'queued';
"""
CLAIM = """
UPDATE old_urls SET status = 'claimed' WHERE id = (
    SELECT id FROM old_urls WHERE status = 'queued' ORDER BY added LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING domain_id
"""
CLAIM_READY = """
UPDATE old_urls SET status = 'claimed' WHERE id = (
    SELECT u.id FROM old_urls AS u JOIN old_domains AS d ON d.id = u.domain_id
    WHERE u.status = 'queued' AND d.ready_at <= %(now)s
    ORDER BY u.added LIMIT 1 FOR UPDATE OF u SKIP LOCKED)
RETURNING domain_id
"""
VISITED = "UPDATE old_domains SET ready_at = %(until)s WHERE id = %(id)s"


def show(server: Server, urls: int, seconds: float) -> None:
    with psycopg.connect(server.url, autocommit=True) as db:
        if not db.execute("SELECT to_regclass('old_urls') IS NOT NULL").fetchall()[0][0]:
            _fill(db, urls)
    for name, (first, last, count) in measure(server, seconds).items():
        print(f"  {name:<38} server {first:.0f} -> {last:.0f} us per claim ({count} claims)")


def _fill(db: psycopg.Connection[tuple[object, ...]], urls: int) -> None:
    url = URL_SQL.format(d="n % 1000000", i="n")
    for part in FILL.format(urls=urls, domains=DOMAINS, group=GROUP, url=url).split(";\n"):
        if part.strip():
            db.execute(part.encode())
    db.execute("VACUUM ANALYZE old_domains, old_urls")


def measure(server: Server, seconds: float) -> dict[str, tuple[float, float, int]]:
    """By kind of claim: µs of server CPU per claim in the first and the last fifth; claims."""
    with psycopg.connect(server.url, autocommit=True) as db:
        return {
            "claim per URL": _claims(db, seconds, ready=False),
            "claim joined to domain readiness": _claims(db, seconds, ready=True),
        }


def _claims(
    db: psycopg.Connection[tuple[object, ...]], seconds: float, *, ready: bool
) -> tuple[float, float, int]:
    pid = db.info.backend_pid
    marks: list[tuple[int, float]] = [(0, backend_cpu(pid))]
    claims, begin = 0, time.monotonic()
    while len(marks) <= 5:
        now = time.time_ns() // 1_000_000
        row = db.execute(CLAIM_READY if ready else CLAIM, {"now": now} if ready else None)
        found = row.fetchone()
        if ready and found:
            db.execute(VISITED, {"until": now + 70_000, "id": found[0]})
        claims += 1
        if time.monotonic() - begin >= len(marks) * seconds / 5:
            marks.append((claims, backend_cpu(pid)))
    costs = [
        (after[1] - before[1]) * 1e6 / max(1, after[0] - before[0])
        for before, after in itertools.pairwise(marks)
    ]
    return costs[0], costs[-1], claims
