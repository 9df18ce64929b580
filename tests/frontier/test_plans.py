"""The hot queries read the head of an index and sort nothing, whatever the size of the queue."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, release

from lycosa.frontier.filters import Filter
from lycosa.frontier.reader import Reader, SqlValues
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.source import SqliteSource
from lycosa.frontier.sqlite.store import SQL, for_rows
from support.made import link, page_of
from support.tokens import unchecked

# The plans of the other store are in a file of their own.
pytestmark = pytest.mark.parametrize("bench", ["sqlite"], indirect=True)

NOT_A_TABLE = re.compile(
    r"VIRTUAL TABLE|CONSTANT ROW|ROW VALUES|SCAN (r|\(subquery-\d+\)|\(join-\d+\))$"
)
VALUES: dict[str, dict[str, Any] | tuple[Any, ...]] = {
    "ready_head": {"now": 1, "limit": 10},
    "ready_take": {"ready_at": 1, "id": 1},
    "ready_leave": {"wait_at": 1, "id": 1, "now": 1},
    "ready_insert": (1,) * 4,
    "held_insert": (1,) * 4,
    "held_among": {"ids": "[1]", "engine_id": 1},
    "held_states": {"ids": "[1]", "engine_id": 1},
    "held_delete": {"ids": "[1]", "engine_id": 1},
    "any_not_held": {"ids": "[1]", "engine_id": 1},
    "held_known": {"engine_id": 1},
    "held_by": (1,),
    "wait_over": ("[1]",),
    "wake_idle": {"id": 1, "queued": 1},
    "wake_waiting": {"id": 1, "queued": 1},
    "wait_longer": {"id": 1, "until": 1},
    "released": (1,) * 7,
    "take_over": {"engine_id": 1, "since": 1, "delay": 1},
    "held_forget": {"engine_id": 1},
    "log_of": {"ids": "[1]"},
    "log_keys": {"ids": "[1]"},
    "log_ends": {"ids": "[1]"},
    "log_insert": (1, b""),
    "log_delete": ("[1]",),
    "domain_states": ("[1]",),
    "origins_of": ("[1]",),
    "any_ready": {"now": 1},
    "what_is_left": {"now": 1, "lease": 1},
    "longest_waits": {"now": 1, "limit": 5},
}


def database(bench: Bench) -> sqlite3.Connection:
    assert isinstance(bench.frontier, SqliteFrontier)
    return bench.frontier.db


@pytest.mark.parametrize("query", VALUES)
def test_no_scan_and_no_sort(bench: Bench, query: str) -> None:
    db = database(bench)
    check_plan(db.execute(f"EXPLAIN QUERY PLAN {SQL[query]}", VALUES[query]).fetchall(), query)


@pytest.mark.parametrize(
    "query",
    ["log_insert", "released", "ready_insert", "held_insert", "page_insert", "origin_upsert"],
)
def test_many_rows_at_once(bench: Bench, query: str) -> None:
    statement = for_rows(SQL[query], 64)
    values = [1] * statement.count("?")
    plan = database(bench).execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    check_plan(plan, query)


def check_plan(rows: list[tuple[int, int, int, str]], query: str) -> None:
    plan = [row[3] for row in rows]
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
    # What came with the query is scanned, and nothing else: lists, rows of values, and what a
    # subquery reads from an index.
    scans = [step for step in plan if step.startswith("SCAN") and not NOT_A_TABLE.search(step)]
    # Reading the first row of an index or of a table is a scan by name only.
    assert not scans or query == "what_is_left", plan


def test_a_lease_reads_the_front_of_the_line(bench: Bench) -> None:
    db = database(bench)
    plan = db.execute(f"EXPLAIN QUERY PLAN {SQL['ready_head']}", {"now": 1, "limit": 1})
    read = [row[3] for row in plan if row[3].startswith("SEARCH ready")]
    assert read == ["SEARCH ready USING PRIMARY KEY (ready_at<?)"]
    plan = db.execute(f"EXPLAIN QUERY PLAN {SQL['ready_take']}", {"ready_at": 1, "id": 1})
    assert [row[3] for row in plan] == ["SEARCH ready USING PRIMARY KEY ((ready_at,id)<(?,?))"]


def steps(bench: Bench, engine_id: int, number: int) -> int:
    """Virtual-machine steps of one lease, refill and commit: a cost without a clock."""
    db = database(bench)
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    db.set_progress_handler(step, 10)
    leases = bench.frontier.lease(engine_id, 20)
    assert len(leases) == 20
    bench.frontier.refill([each.domain_id for each in leases])
    pages = [page_of(each.urls[0]) for each in leases]
    back = [release(each, bench.clock.ms + 70_000) for each in leases]
    links = [link(f"https://new{n}.test/{number}", 1) for n in range(100)]
    bench.frontier.commit(engine_id, batch(number, pages=pages, links=links, released=back))
    db.set_progress_handler(None, 0)
    return count


def test_cost_does_not_grow_with_the_frontier(bench: Bench) -> None:
    """F3 in miniature: a hundred times the queue costs less than twice the steps."""
    unchecked(bench.frontier)
    engine_id = bench.frontier.register("host", 1)
    bench.frontier.add([link(f"https://d{n}.test/{m}") for n in range(200) for m in range(5)])
    small = steps(bench, engine_id, 1)
    bench.frontier.add([link(f"https://e{n}.test/{m}") for n in range(2000) for m in range(50)])
    large = steps(bench, engine_id, 2)
    assert large < 2 * small, (small, large)


@pytest.mark.parametrize(
    ("where", "plan"),
    [
        (Filter(languages=("en",)), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (Filter(domains=("a.test", "b.test")), "INTEGER PRIMARY KEY (rowid=?)"),
        (Filter(url_prefix="https://a.test/x"), "INTEGER PRIMARY KEY (rowid=?)"),
    ],
)
def test_a_chunk_of_pages_reads_no_more_than_it_must(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, where: Filter, plan: str
) -> None:
    assert isinstance(reader._source, SqliteSource)
    rows, plans = reader._source.rows, []

    def planned(statement: str, values: SqlValues) -> list[dict[str, Any]]:
        plans.append([row["detail"] for row in rows(f"EXPLAIN QUERY PLAN {statement}", values)])
        return rows(statement, values)

    monkeypatch.setattr(reader._source, "rows", planned)
    for newest in (False, True):
        reader.page_chunk(where, 5, 100, 10, newest)
    assert [steps[0] for steps in plans] == 2 * [f"SEARCH pages USING {plan}"]
    for newest in (False, True):
        reader.pages_with(where, [7, 5], newest)
    assert [steps[0] for steps in plans[2:]] == 2 * [
        "SEARCH pages USING INTEGER PRIMARY KEY (rowid=?)"
    ]
    assert "USE TEMP B-TREE FOR ORDER BY" not in {step for steps in plans for step in steps}
