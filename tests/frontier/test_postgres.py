"""What only a store on a server can meet: lost connections, bad URLs, meetings, old servers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import Clock
from helpers import batch, part_of, release, under_way

from lycosa.errors import DiskFull, StoreError, StoreGone, UserError
from lycosa.frontier import queries
from lycosa.frontier.postgres.connection import connect, int8s, mapped, texts
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.postgres.source import PostgresSource
from lycosa.frontier.protocol import StoreRules, open_frontier, open_reader
from lycosa.frontier.reader import Reader
from support.made import link, page_of
from support.postgres import servers

RULES = StoreRules(delay_ms=70_000, lease_ms=180_000)


@dataclass
class Meeting:
    """Two engines on one store with one clock."""

    clock: Clock
    one: PostgresFrontier
    two: PostgresFrontier


@pytest.fixture
def meeting(postgres_url: str) -> Iterator[Meeting]:
    clock = Clock()
    stores = [PostgresFrontier(postgres_url, RULES, clock, create=True) for _ in range(2)]
    yield Meeting(clock, *stores)
    for store in stores:
        store.close()


def cut(store: PostgresFrontier) -> None:
    """The server ends the connection, as a restart does."""
    with psycopg.connect(store.store.url, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(%s, 5000)", (store.db.info.backend_pid,))


def test_who_holds_nothing_is_heard_by_who_holds_much(meeting: Meeting) -> None:
    one, two, clock = meeting.one, meeting.two, meeting.clock
    rich, poor = one.register("host", 1), two.register("host", 2)
    one.add([link(f"https://d{n}.test/") for n in range(5)])
    assert len(one.lease(rich, 10)) == 5
    assert one.commit(rich, batch(1)).least_held is None
    two.commit(poor, batch(1))
    assert two.lease(poor, 10) == []
    assert one.watch().least_held == 0
    assert one.lease(rich, 10) == []  # would like more as well, but holds five
    assert one.watch().least_held == 0
    clock.pass_seconds(7)
    assert one.watch().least_held is None


# -- the connection -------------------------------------------------------------------------------


def test_a_lost_connection_is_told_once_and_opened_again(meeting: Meeting) -> None:
    store = meeting.one
    engine_id = store.register("host", 1)
    cut(store)
    with pytest.raises(StoreGone):
        store.commit(engine_id, batch(1, links=[link("https://a.test/")]))
    store.commit(engine_id, batch(1, links=[link("https://a.test/")]))
    assert store.backlog() == (1, 1)


def test_a_commit_cut_off_at_its_end_is_applied_once(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: the server has committed, and the engine does not know."""
    store = meeting.one
    engine_id = store.register("host", 1)
    commits = part_of(store.commit)
    before = commits._apply_once

    def then_lose(*args: Any) -> Any:
        before(*args)
        store.db.execute("COMMIT")
        store.db.close()
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(commits, "_apply_once", then_lose)
    with pytest.raises(StoreGone):
        store.commit(engine_id, batch(1, links=[link("https://a.test/")]))
    monkeypatch.undo()
    assert store.backlog() == (1, 1)
    store.commit(engine_id, batch(1, links=[link("https://a.test/2")]))
    assert store.backlog() == (1, 1)


def test_leases_that_nobody_heard_of_are_handed_out_again(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = meeting.one
    store.add([link(f"https://d{n}.test/") for n in range(3)], rank=0)
    engine_id = store.register("host", 1)
    (first,) = store.lease(engine_id, 1)
    leases = part_of(store.lease)
    monkeypatch.setattr(leases, "_read_logs", lambda ids: (_ for _ in ()).throw(StoreGone("gone")))
    with pytest.raises(StoreGone):
        store.lease(engine_id, 1)
    monkeypatch.undo()
    (second,) = store.lease(engine_id, 5)
    assert second.name not in (first.name, "d2.test") and second.urls
    assert [lease.name for lease in store.lease(engine_id, 5)] == ["d2.test"]


def test_a_session_that_stops_in_a_transaction_is_ended(postgres_url: str) -> None:
    store = PostgresFrontier(postgres_url, StoreRules(lease_ms=4000), create=True)
    try:
        (value,) = store.db.execute("SHOW idle_in_transaction_session_timeout").fetchall()[0]
        assert value == "1s"
    finally:
        store.close()


# -- meetings -------------------------------------------------------------------------------------


def test_a_url_added_while_its_domain_is_found_idle_is_not_forgotten(meeting: Meeting) -> None:
    """The adder sees the domain held, its holder does not see the URL yet."""
    one, two, clock = meeting.one, meeting.two, meeting.clock
    one.add([link("https://a.test/")], rank=0)
    holder, finder = one.register("host", 1), two.register("host", 2)
    (lease,) = one.lease(holder, 1)
    done = page_of(lease.urls[0])
    with under_way(two, finder, batch(1, links=[link("https://a.test/new", 1)])):
        one.commit(holder, batch(1, pages=[done], released=[release(lease, clock.ms)]))
    assert one.lease(holder, 1) == []
    for number in (2, 3):  # one looks who sleeps, the other whether something came
        clock.pass_seconds(2)
        one.commit(holder, batch(number))
    (again,) = one.lease(holder, 1)
    assert again.urls[0].url == "https://a.test/new"


def test_a_cap_is_for_everyone_but_the_holder(postgres_url: str) -> None:
    """The holder's own domains are not looked up; those of another engine are, here too."""
    rules = StoreRules(max_queued_per_domain=1)
    store = PostgresFrontier(postgres_url, rules, Clock(), create=True)
    store.add([link("https://a.test/")], rank=0)
    holder, other = store.register("host", 1), store.register("host", 2)
    assert [lease.name for lease in store.lease(holder, 1)] == ["a.test"]
    refused = store.commit(
        other, batch(1, links=[link("https://a.test/1"), link("https://b.test/")])
    )
    assert (refused.drops, len(refused.added)) == ({"queue-cap": 1}, 1)
    kept = store.commit(holder, batch(1, links=[link("https://a.test/1"), link("https://b.test/")]))
    assert (kept.drops, sum(kept.added.values())) == ({}, 1)
    store.close()


def test_a_link_that_was_seen_is_not_refused(postgres_url: str) -> None:
    store = PostgresFrontier(postgres_url, StoreRules(max_queued_per_domain=1), create=True)
    store.add([link("https://a.test/")], rank=0)
    engine_id = store.register("host", 1)
    found = [link("https://a.test/"), link("https://a.test/1"), link("https://a.test/1")]
    assert store.commit(engine_id, batch(1, links=found)).drops == {"queue-cap": 1}
    store.close()


def test_two_engines_find_the_same_domain_at_once(meeting: Meeting) -> None:
    one, two, clock = meeting.one, meeting.two, meeting.clock
    first, second = one.register("host", 1), two.register("host", 2)
    two.store.rows("domain_states", ids=int8s([]))
    one.commit(first, batch(1, links=[link("https://a.test/1")]))
    two.commit(second, batch(1, links=[link("https://a.test/2"), link("https://a.test/1")]))
    assert one.backlog() == (2, 1)
    assert clock.ms


def test_the_crawl_has_not_ended_while_another_node_loads_seeds(meeting: Meeting) -> None:
    meeting.one.put_settings({"loading:b": meeting.clock.ms})
    assert not meeting.two.finished()
    meeting.clock.pass_seconds(181)
    assert meeting.two.finished()
    meeting.one.put_settings({"loading:b": meeting.clock.ms})
    meeting.one.put_settings({"loading:b": 0})
    assert meeting.two.finished()


def test_other_nodes_are_counted_while_their_leases_run(meeting: Meeting) -> None:
    meeting.one.register("a", 1, "node-a", "/a")
    assert meeting.two.others("node-a") == 0
    assert meeting.two.others("node-b") == 1
    meeting.clock.pass_seconds(181)
    assert meeting.two.others("node-b") == 0


def test_a_node_counts_from_the_moment_it_opens_the_crawl(meeting: Meeting) -> None:
    with meeting.one.opening():
        meeting.one.put_settings({"opened:node-a": meeting.clock.ms})
    with meeting.two.opening():
        assert (meeting.two.others("node-a"), meeting.two.others("node-b")) == (0, 1)
    meeting.clock.pass_seconds(181)
    assert meeting.two.others("node-b") == 0
    meeting.one.put_settings({"opened:node-a": meeting.clock.ms})
    meeting.one.put_settings({"opened:node-a": 0})
    assert meeting.two.others("node-b") == 0


def test_nodes_open_a_crawl_one_after_the_other(meeting: Meeting) -> None:
    inside: list[str] = []

    def second() -> None:
        with meeting.two.opening():
            inside.append("two")

    with meeting.one.opening():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        inside.append("one")
    thread.join(10)
    assert inside == ["one", "two"]


def test_the_clock_is_the_servers(postgres_url: str) -> None:
    store = PostgresFrontier(postgres_url, RULES, create=True)
    with psycopg.connect(postgres_url) as db:
        before = db.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000").fetchall()[0][0]
        assert before <= store.now_ms() + 1
    store.close()


# -- what the user can get wrong ------------------------------------------------------------------


def test_urls_with_typos_say_so_without_the_password() -> None:
    for url in (
        "postgresql://me:s3cret@host:port/db",
        "postgresql://me:s3cret@host/db?sslmod=require",
        "postgresql://me:s3c/ret@x:1:2@host/db",
        "postgresql://me:s3c/ret@host/db",
        "postgresql://me:53/s3cret@host/db",
    ):
        with pytest.raises(UserError) as caught:
            open_reader(Path("none"), url)
        assert "s3c" not in str(caught.value)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"at 127.0.0.1:1 can't be reached"):
        open_reader(tmp_path, "postgresql://me:s3cret@127.0.0.1:1/db")
    with pytest.raises(StoreGone, match="can't be reached") as caught:
        open_frontier("postgresql://me:s3cret@127.0.0.1:1/db", tmp_path, RULES, lambda: 0)
    assert "s3cret" not in str(caught.value)


def test_no_such_database(postgres_server: str, tmp_path: Path) -> None:
    url = postgres_server.replace("/postgres?", "/nothere?")
    with pytest.raises(UserError, match="There is no database nothere"):
        open_reader(tmp_path, url)


def test_a_database_without_a_crawl(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no crawl"):
        open_reader(tmp_path, postgres_url)
    with pytest.raises(UserError, match="There is no crawl"):
        open_frontier(postgres_url, tmp_path, RULES, lambda: 0)


def test_a_schema_from_a_newer_version(postgres_url: str, tmp_path: Path) -> None:
    PostgresFrontier(postgres_url, RULES, create=True).close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(UserError, match="newer lycosa"):
        PostgresFrontier(postgres_url, RULES, create=True)


def test_a_user_without_rights(postgres_server: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS lycosa_poor")
        db.execute("CREATE ROLE lycosa_poor LOGIN")
    try:
        url = postgres_url.replace("//postgres:@", "//lycosa_poor:@")
        with pytest.raises(UserError, match="may not do"):
            PostgresFrontier(url, RULES, create=True)
    finally:
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute("DROP ROLE lycosa_poor")


def test_a_server_too_old(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.frontier.postgres.connection.OLDEST", 99)
    with pytest.raises(UserError, match="lycosa needs 99 or newer"):
        connect(postgres_url, "test")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.DiskFull("x"), DiskFull),
        (psycopg.errors.AdminShutdown("x"), StoreGone),
        (psycopg.errors.QueryCanceled("x"), StoreGone),
        (psycopg.errors.IdleInTransactionSessionTimeout("x"), StoreGone),
        (psycopg.errors.ReadOnlySqlTransaction("x"), StoreGone),
        (psycopg.errors.TooManyConnections("x"), StoreGone),
        (psycopg.OperationalError("x"), StoreGone),
        (psycopg.errors.InsufficientPrivilege("x"), UserError),
        (psycopg.errors.UndefinedTable("x"), StoreError),
    ],
)
def test_errors_in_our_words(error: psycopg.Error, kind: type[Exception]) -> None:
    assert type(mapped(error, "here")) is kind


# -- details --------------------------------------------------------------------------------------


def test_arrays_arrive_as_they_were_sent(postgres_url: str) -> None:
    db = connect(postgres_url, "test")
    numbers = [0, -1, 2**63 - 1, -(2**63)]
    words = ["", "é", "a\0b", "\ud800"]
    row = db.execute("SELECT %s, %s, %s", (int8s(numbers), texts(words), int8s([]))).fetchall()[0]
    assert row == (numbers, ["", "é", "ab", "?"], [])
    db.close()


def test_nodes_that_start_at_once_make_one_schema(postgres_url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(6) as pool:
        stores = list(
            pool.map(lambda _: PostgresFrontier(postgres_url, RULES, create=True), range(6))
        )
    for store in stores:
        store.close()


def test_the_reader_says_where_output_lies(postgres_url: str) -> None:
    store = PostgresFrontier(postgres_url, RULES, create=True)
    engine_id = store.register("host-a", 7, "node-a", "/data/a")
    store.put_settings({"started_ms": 1, "settings": "{}"})
    reader = Reader(PostgresSource(postgres_url))
    assert reader.place(engine_id) == ("host-a", "/data/a", "node-a")
    (engine,) = reader.status()["engines"]
    assert (engine["host"], engine["directory"], engine["alive"]) == ("host-a", "/data/a", True)
    reader.close()
    store.close()


def test_a_wrong_password(tmp_path: Path) -> None:
    for server in servers():
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute("CREATE ROLE lycosa_pw LOGIN PASSWORD 'right'")
            (path,) = db.execute("SHOW hba_file").fetchall()[0]
            rules = Path(path)
            rules.write_text(f"local all lycosa_pw scram-sha-256\n{rules.read_text()}")
            db.execute("SELECT pg_reload_conf()")
        for password in ("s3cret", ""):
            url = server.url.replace("//postgres:@", f"//lycosa_pw:{password}@")
            with pytest.raises(UserError, match="refuses lycosa_pw") as caught:
                open_reader(tmp_path, url)
            assert "s3cret" not in str(caught.value)
        url = server.url.replace("//postgres:@", "//nobody:@")
        with pytest.raises(UserError, match=r"nobody"):
            open_reader(tmp_path, url)


def test_whoever_may_not_use_a_table_is_told_before_a_crawl(postgres_url: str) -> None:
    """All tables of a crawl are looked at, new ones too."""
    store = PostgresFrontier(postgres_url, StoreRules(), create=True)
    rows = store.db.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = current_schema()::regnamespace"
    ).fetchall()
    store.close()
    looked_at = set(re.findall(r"'(\w+)'", queries.load("postgres")["tables_unusable"]))
    assert {name for (name,) in rows} - looked_at == set()
