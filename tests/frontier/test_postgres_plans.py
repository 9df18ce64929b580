"""The plans of the hot queries on a filled server: index look-ups, and no sort of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lycosa.engine.scheduler import LEASE_MOST
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.postgres.store import SQL
from lycosa.frontier.postgres.tokens import BEFORE_ALL
from lycosa.frontier.protocol import Batch, Release, StoreRules
from support.made import link
from support.postgres import in_schema

DOMAINS = 20_000
CHUNKS = 200_000  # 80 % of them in 1 % of the domains
ASLEEP = 2_000  # domains that fell asleep lately
HELD = 5_000  # domains that others hold

FILL = f"""
INSERT INTO engines (host, pid, node, directory, started_ms, renewed_ms, lease_until)
SELECT 'h', n, 'n', '/d', 0, 0, 9000000000000 FROM generate_series(1, 20) AS n;
INSERT INTO domains (id, name, idle, polite_at, wait_at)
SELECT n, 'd' || n, n > {HELD} AND n % 3 = 0, n,
    CASE WHEN n > {HELD} AND n % 9 = 1 THEN n ELSE 0 END
FROM generate_series(1, {DOMAINS}) AS n;
INSERT INTO ready (ready_at, id) SELECT id, id FROM domains WHERE id > {HELD} AND NOT idle;
INSERT INTO held (id, engine_id) SELECT id, 1 + id % 19 FROM domains WHERE id <= {HELD};
INSERT INTO log (domain_id, data)
SELECT CASE WHEN n % 10 < 8 THEN 1 + n % {DOMAINS // 100} ELSE 1 + n % {DOMAINS} END,
    decode(md5(n::text), 'hex')
FROM generate_series(1, {CHUNKS}) AS n;
INSERT INTO asleep (id, chunks, since_ms, slept, below)
SELECT n, 1, 1, '1', CASE WHEN n % 2 = 0 THEN n::text::xid8 END
FROM generate_series(10001, 10000 + {ASLEEP}) AS n;
INSERT INTO origins (domain_id, fetched_ms, retry_ms, status, failures, origin, reason, rules)
SELECT id, 0, 0, 200, 0, 'https://d' || id, '', 'rules' FROM domains;
ANALYZE;
"""


@pytest.fixture(scope="module")
def filled(postgres_server: str) -> Iterator[PostgresFrontier]:
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute("CREATE SCHEMA plans")
    url = in_schema(postgres_server, "plans")
    store = PostgresFrontier(url, StoreRules(), create=True)
    store.db.execute(FILL)
    yield store
    store.close()
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute("DROP SCHEMA plans CASCADE")


def chunks(count: int = 500) -> dict[str, Any]:
    """Chunks of many domains, sorted."""
    seqs = [n * (CHUNKS // count) + 1 for n in range(count)]
    domains = [1 + n % (DOMAINS // 100) if n % 10 < 8 else 1 + n % DOMAINS for n in seqs]
    rows = sorted(zip(domains, seqs, strict=True))
    return {"ids": int8s(row[0] for row in rows), "seqs": int8s(row[1] for row in rows)}


def ids(first: int = 1, count: int = 500) -> Any:
    return int8s(range(first, first + count))


def same(value: int, count: int = 500) -> Any:
    return int8s([value] * count)


def tokens(first: int) -> dict[str, Any]:
    return {"ids": ids(first), "more_pages": same(0), "more_queued": same(0)}


HOT: dict[str, dict[str, Any]] = {
    "fence": {"now": 1, "lease": 1, "engine_id": 3},
    "last_batch": {"engine_id": 3},
    "any_ready": {"front": BEFORE_ALL, "now": None},
    "lease": {"front": BEFORE_ALL, "now": 10**12, "limit": LEASE_MOST, "budget": 1 << 25},
    "hold": {"engine_id": 20, **tokens(10_000)},
    "stand_in_line": {"moments": same(1), **tokens(10_000)},
    "wait_over": {"ids": ids(10_000)},
    "any_not_held": {"engine_id": 7, "ids": ids()},
    "origins_of": {"ids": ids(count=LEASE_MOST)},
    "what_is_held": {"engine_id": 7, "ids": ids(), "now": None},
    "log_of": {"ids": ids(DOMAINS // 2, LEASE_MOST)},
    "log_insert": {"ids": ids(), "chunks": blobs([b"chunk"] * 500)},
    "log_delete": chunks(),
    "set_aside": {**chunks(), "whys": texts(["why"] * 500), "now": 1},
    "chunks_of": {"id": 7, "home": 0, "seq": 100, "limit": 200},
    "chunks_after": {"home": 7, "seq": 100, "limit": 200},
    "domain_states": {"ids": ids()},
    "answered": {"domains": ids(), "fps": ids(), "since": 1},
    "own_delays": {"ids": ids()},
    "domain_insert": {
        "ids": ids(DOMAINS),
        "names": texts(f"new{n}.test" for n in range(500)),
        "queued": same(1),
        "seeded": False,
    },
    "wake_idle": {"ids": ids(10_000), "queued": same(1), "now": 1},
    "wake_waiting": {"ids": ids(10_000), "queued": same(1), "now": 1},
    "asleep_seen": {"limit": 100},
    "asleep_over": {"limit": 100, "before": 0},
    "sweep": {},
    "domain_delay": {"ids": ids(), "delays": same(1)},
    "release": {
        "engine_id": 3,
        "now": 1,
        "few": 8,
        "cap": 10_000,
        "page_cap": 0,
        "ids": ids(),
        "moments": int8s(-1 if n % 3 == 0 else 1 + n % 2 for n in range(500)),
        "polite": same(1),
        "failures": same(0),
        "pages": same(1),
        "queued": same(1),
        "chunks": same(20),
    },
    "declare_expired": {"now": 1, "known": int8s([])},
    "take_over": {"engine_id": 7, "since": 1, "delay": 70_000},
    "wait_longer": {"ids": ids(), "until": same(1)},
    "held_by": {"engine_id": 7},
    "held_unknown": {"engine_id": 7, "known": ids(1, 10)},
    "what_is_left": {"lease": 1, "now": None},
    "active_count": {"limit": 1000},
}
# The table of engines has a row each, all on a page or two: it may be read whole.
SMALL = ("engines",)
ONE_ROW = ("what_is_left", "active_count")  # any rows will do
BY_PART = (
    "sweep",
    "asleep_over",
)  # an index of the few rows that are looked for, read from its start


def plan(store: PostgresFrontier, name: str, analyze: bool = False) -> str:
    options = "(ANALYZE, BUFFERS)" if analyze else ""
    store.db.execute("BEGIN")
    try:
        rows = store.db.execute(f"EXPLAIN {options} {SQL[name]}", HOT[name]).fetchall()
    finally:
        store.db.execute("ROLLBACK")
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("name", HOT)
def test_hot_queries_read_by_index(filled: PostgresFrontier, name: str) -> None:
    text = plan(filled, name)
    scans = re.findall(r"Seq Scan on (\w+)", text)
    assert not [table for table in scans if table not in SMALL], text
    assert "Bitmap" not in text and "Hash" not in text and "Merge" not in text, text
    if name not in (*ONE_ROW, *BY_PART):
        assert not re.findall(r"Scan using \w+ on (?!engines).*\n(?! *Index Cond)", text), text


@pytest.mark.parametrize("name", [name for name in HOT if name != "lease"])
def test_hot_queries_sort_nothing(filled: PostgresFrontier, name: str) -> None:
    text = plan(filled, name)
    assert "Sort" not in text.replace("Sort Key: unnest", ""), text


def test_a_lease_sorts_only_what_it_takes(filled: PostgresFrontier) -> None:
    text = plan(filled, "lease", analyze=True)
    sorted_rows = [int(n) for n in re.findall(r"Sort .*?actual .*?rows=(\d+)", text)]
    assert all(rows <= LEASE_MOST for rows in sorted_rows), text
    taken = rf"Index Scan using ready_pkey on ready .*rows={LEASE_MOST}\b"
    assert re.search(taken, text), text
    assert "SubPlan" not in text and "Seq Scan" not in text, text


@pytest.mark.parametrize("name", ["lease", "release", "wake_idle", "wake_waiting", "take_over"])
def test_nobody_looks_through_all_who_are_ready_held_or_idle(
    filled: PostgresFrontier, name: str
) -> None:
    """Rows that each step brings, from all its loops, are those of the batch."""
    text = plan(filled, name, analyze=True)
    most = LEASE_MOST if name == "lease" else 500
    steps = re.findall(
        r"Scan (?:using \w+ )?on (ready|held|domains)\b.*actual .*rows=([\d.]+) loops=(\d+)", text
    )
    assert steps, text
    for _, rows, loops in steps:
        assert float(rows) * int(loops) <= most and int(loops) <= most, text
    removed = re.findall(r"Rows Removed by (?:Join )?Filter: (\d+)", text)
    assert sum(map(int, removed)) <= most, text


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("lease", 30_000),
        ("hold", 8_000),
        ("log_of", 8_000),
        ("log_delete", 8_000),
        ("log_insert", 8_000),
        ("asleep_over", 2_000),
        ("release", 20_000),
    ],
)
def test_the_pages_read_are_bounded_by_the_batch(
    filled: PostgresFrontier, name: str, limit: int
) -> None:
    """So the cost is flat in the number of URLs."""
    text = plan(filled, name, analyze=True)
    found = re.search(r"Buffers: shared hit=(\d+)(?: read=(\d+))?", text)
    assert found, text
    assert int(found[1]) + int(found[2] or 0) < limit, text


def test_engines_look_up_by_index_even_without_statistics(postgres_url: str) -> None:
    """A table that was empty when it was last analyzed must not be read whole when it has grown."""
    store = PostgresFrontier(postgres_url, StoreRules(), create=True)
    store.db.execute("ANALYZE")
    look_up = ("what_is_held", "log_of", "log_delete", "set_aside", "domain_states", "asleep_over")
    for name in (*look_up, "lease", "release", "any_not_held", "wake_waiting", "take_over"):
        assert "Seq Scan" not in plan(store, name), name
    store.close()


def test_visits_do_not_look_through_all_that_an_engine_holds(postgres_url: str) -> None:
    """Nor do they when their statements are prepared while `held` was last seen empty."""
    store = PostgresFrontier(postgres_url, StoreRules(), create=True)
    store.add([link(f"https://d{n}.test/{i}") for n in range(1000) for i in range(2)], rank=0)
    store.db.execute("VACUUM ANALYZE")
    engine_id = store.register("host", 1)
    kept = store.lease(engine_id, 800)
    for number in range(1, 25):
        leases = store.lease(engine_id, 100)
        assert len(leases) == 100 and len(kept) == 800
        back = [Release(lease.domain_id, lease.ready_ms, pages=number) for lease in leases]
        store.commit(engine_id, Batch(number=number, released=back))
    store.db.execute("SELECT pg_stat_force_next_flush()")
    read = store.db.execute(
        "SELECT indexrelname::text, idx_tup_read FROM pg_stat_user_indexes"
        " WHERE schemaname = current_schema() AND relname IN ('held', 'ready', 'domains')"
    )
    found: dict[str, int] = dict(read.fetchall())
    store.close()
    assert found["held_by_engine"] == 0
    # Three looks a turn: each brings the row that is meant, and dead ones of the same domain.
    assert found["held_pkey"] <= 24 * 100 * 10
    assert found["domains_pkey"] <= (24 * 100 + 800) * 5 + 10_000
