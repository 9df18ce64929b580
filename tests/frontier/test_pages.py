"""Where the page of a URL is, on SQLite: whatever was recorded, merged and taken back, each page is
found by its URL and by its domain, and no other one is."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from conftest import Bench
from helpers import batch, part_of, release

from lycosa.frontier import queries
from lycosa.frontier.filters import Filter
from lycosa.frontier.log.format import DONES, HEAD
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite import pages as pages_of_sqlite
from lycosa.frontier.sqlite.connection import migrate
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.pages import Pages
from lycosa.records import PageRow, Url
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint
from support.made import link, page_of
from support.tokens import check_pages

pytestmark = pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
NAMES = [f"{letter}.test" for letter in "abcdefg"]
SEEDS = range(12)


def database(bench: Bench) -> sqlite3.Connection:
    assert isinstance(bench.frontier, SqliteFrontier)
    return bench.frontier.db


def table(bench: Bench) -> Pages:
    found = part_of(bench.frontier.requeue)._pages
    assert isinstance(found, Pages)
    return found


def rows_of(urls: list[str]) -> list[PageRow]:
    return [
        PageRow(domain_id(url.split("/")[2]), fingerprint(url), Url(url), -1, 0, 1, 200, "ok")
        for url in urls
    ]


def recorded(bench: Bench, urls: list[str]) -> list[str]:
    """These become pages, in a transaction of their own; returns those that did."""
    store = part_of(bench.frontier.requeue)._store
    with store.transaction():
        return [row.url for row in table(bench).record(rows_of(urls))]


def taken_back(bench: Bench, urls: list[str]) -> None:
    store, found = part_of(bench.frontier.requeue)._store, table(bench).ids(map(key, urls))
    with store.transaction():
        table(bench).delete(list(found.values()))


def key(url: str) -> tuple[int, int]:
    return domain_id(url.split("/")[2]), fingerprint(url)


def rolls(bench: Bench) -> list[tuple[int, int, bool]]:
    """Run, level, and whether it is being merged into another."""
    query = "SELECT roll, level, goes_to IS NOT NULL FROM page_rolls ORDER BY roll"
    return [(roll, level, bool(goes)) for roll, level, goes in database(bench).execute(query)]


def fresh() -> Iterator[str]:
    """URLs that were never there, of few domains."""
    chance = random.Random(1)
    for number in range(1_000_000):
        yield f"https://{chance.choice(NAMES)}/{number}"


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_a_page_is_found(bench: Bench, reader: Reader, seed: int) -> None:
    chance, urls = random.Random(seed), fresh()
    there: dict[str, int] = {}
    given: set[int] = set()
    levels, merging = set(), False
    for _ in range(60):
        new = [next(urls) for _ in range(chance.randrange(1, 20))]
        gone = [url for url in new[:3] if chance.random() < 0.2]  # and again, with another id
        assert recorded(bench, new) == new
        there |= dict.fromkeys(new, 0)
        back = [*gone, *chance.sample(sorted(there), chance.choice((0, 0, 1, min(9, len(there)))))]
        if chance.random() < 0.3:
            back += new[-2:]  # the newest of all
        before = table(bench).ids(map(key, there))
        given |= set(before.values())
        taken_back(bench, back)
        for url in back:
            there.pop(url, None)
        again = sorted(set(gone))
        if again:
            recorded(bench, again)
            there |= dict.fromkeys(again, 0)
            new_ids = set(table(bench).ids(map(key, again)).values())
            assert new_ids.isdisjoint(given), "an id was given twice"
        check_pages(database(bench))
        levels |= {level for _, level, _ in rolls(bench)}
        merging |= any(goes for *_, goes in rolls(bench))
        asked = [*chance.sample(sorted(there), min(5, len(there))), *back[:2]]
        for url in asked:
            found = reader.find(url)["page"]
            assert (found is not None) == (url in there), url
            assert found is None or found.url == url
    assert len(levels) > 2 and merging, (levels, merging)
    everything = table(bench).ids(map(key, [*there, "https://a.test/never"]))
    assert set(everything) == set(map(key, there))
    for names in ([NAMES[0]], NAMES[2:5], NAMES, ["nowhere.test"]):
        wanted = {url for url in there if url.split("/")[2] in names}
        rows = list(reader.pages(Filter(domains=tuple(names)), limit=10_000))
        assert {row.url for row in rows} == wanted and len(rows) == len(wanted)
        newest = reader.newest_page()
        half = reader.page_chunk(Filter(domains=tuple(names)), newest // 2, newest, 10_000)
        assert [number for number, _ in half] == sorted(number for number, _ in half)
        assert {row.url for _, row in half} == {
            url for url in wanted if everything[key(url)] > newest // 2
        }
    counts = reader.survey.counts(domain_id(NAMES[0]), 10)
    assert sum(row["pages"] for row in counts) == sum("//a.test/" in url for url in there)


def test_runs_stay_few(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging keeps up, whatever the size of commits; no roll is left that holds nothing."""
    monkeypatch.setattr(pages_of_sqlite, "ROLL", 16)
    monkeypatch.setattr(pages_of_sqlite, "MANY", 4)
    urls, chance = fresh(), random.Random(5)
    for _ in range(400):
        recorded(bench, [next(urls) for _ in range(chance.choice((1, 7, 15)))])
        by_level = Counter(level for _, level, _ in rolls(bench))
        assert max(by_level.values(), default=0) <= 2 * 4 + 2, by_level
    assert max(by_level) >= 3, by_level  # levels 0 to 3: 16, 64, 256, 1,024 pages
    empty = "SELECT roll FROM page_rolls WHERE roll NOT IN (SELECT roll FROM page_keys)"
    unfinished = "SELECT goes_to FROM page_rolls WHERE goes_to IS NOT NULL"
    found = database(bench).execute(f"{empty} AND roll NOT IN ({unfinished})").fetchall()
    assert len(found) <= 1, found  # a source may be empty before its merge ends
    check_pages(database(bench))


@pytest.mark.parametrize("sites", [1, 16, 400])
def test_rolls_stay_few_when_sites_are_crawled_one_after_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sites: int
) -> None:
    """Then the first keys of all that are merged are those of one roll."""
    monkeypatch.setattr(pages_of_sqlite, "ROLL", 32)
    monkeypatch.setattr(pages_of_sqlite, "MANY", 16)
    for number in range(400):
        site = number * sites // 400
        recorded(bench, [f"https://s{site}.test/{number}/{page}" for page in range(8)])
        assert len(rolls(bench)) <= 3 * 16, Counter(level for _, level, _ in rolls(bench))
    assert any(level == 1 and not goes for _, level, goes in rolls(bench))
    check_pages(database(bench))


def test_a_url_that_is_taken_back_often_does_not_hold_up_rolls(bench: Bench) -> None:
    """Its keys stand one behind the other, more of them than a small commit merges."""
    often = min((f"https://a.test/often/{number}" for number in range(1000)), key=key)
    for number in range(400):
        if number % 2:
            recorded(bench, [f"https://b.test/{number}"])
        else:
            taken_back(bench, [often])
            recorded(bench, [often])
        assert len(rolls(bench)) <= 24, Counter(level for _, level, _ in rolls(bench))
    check_pages(database(bench))


def test_small_commits_merge_now_and_then(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge of one key would write as many places in the file as one of hundreds."""
    monkeypatch.setattr(pages_of_sqlite, "ROLL", 32)
    monkeypatch.setattr(pages_of_sqlite, "TURN", 8)
    urls, db, wrote = fresh(), database(bench), 0
    for _ in range(800):
        before = db.total_changes
        recorded(bench, [next(urls)])
        wrote += db.total_changes > before + 1  # more than the page
        assert len(rolls(bench)) <= 16
    assert 800 / 32 < wrote <= 800 / 8
    assert any(level > 1 for _, level, _ in rolls(bench))
    check_pages(db)


def test_a_commit_that_is_undone_leaves_runs_as_they_were(bench: Bench) -> None:
    urls = fresh()
    recorded(bench, [next(urls) for _ in range(30)])
    before = list(database(bench).iterdump())
    store = part_of(bench.frontier.requeue)._store
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), store.transaction():
            table(bench).record(rows_of([next(urls) for _ in range(9)]))
            raise ZeroDivisionError
    assert list(database(bench).iterdump()) == before


def test_rolls_that_were_lost_are_made_again(bench: Bench) -> None:
    """As docs/resume.md tells whoever saved a damaged database without them."""
    urls = list(islice(fresh(), 300))
    for at in range(0, 300, 20):
        recorded(bench, urls[at : at + 20])
    before = len(rolls(bench))
    for lost in ("page_keys", "page_rolls"):
        database(bench).execute(f"DELETE FROM {lost}")
    assert set(table(bench).ids(map(key, urls))) == set(map(key, urls))
    more = islice(fresh(), len(urls), None)
    for _ in range(2 * before):
        recorded(bench, [next(more)])
    assert len(rolls(bench)) > 1
    assert set(table(bench).ids(map(key, urls))) == set(map(key, urls))
    check_pages(database(bench))


def test_the_id_of_the_newest_page_is_not_given_again(bench: Bench, reader: Reader) -> None:
    """Who reads on behind the newest page, as an export does, would miss what is fetched again."""
    bench.frontier.add([link("https://a.test/1"), link("https://a.test/2")])
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = [page_of(url, "connect", status=0) for url in lease.urls]
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(1, pages=done, released=[back]))
    newest = reader.newest_page()
    assert bench.frontier.requeue([key("https://a.test/2")]) == {"connect": 1}
    bench.clock.pass_seconds(100)
    (lease,) = bench.frontier.lease(engine_id, 1)
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(2, pages=[page_of(lease.urls[0])], released=[back]))
    assert reader.newest_page() == newest + 1


@pytest.mark.parametrize("pages_behind", [0, 40])
def test_a_url_whose_mark_was_lost_is_not_recorded_twice(bench: Bench, pages_behind: int) -> None:
    """By the log alone it would be: the chunk that said it is done can't be read any more. Its page
    is in a roll, or among the newest."""
    bench.frontier.add([link("https://z.test/1"), link("https://z.test/2")])
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done], released=[release(lease, 0)]))
    recorded(bench, list(islice(fresh(), pages_behind)))
    assert bool(rolls(bench)) == bool(pages_behind)
    db = database(bench)
    for number, data in db.execute("SELECT key, data FROM log").fetchall():
        if HEAD.unpack_from(data)[1] & DONES:
            db.execute("UPDATE log SET data = ? WHERE key = ?", (b"?" + data[1:], number))
    bench.clock.pass_seconds(200)
    (lease,) = bench.frontier.lease(engine_id, 1)
    assert [url.url[-1] for url in lease.urls] == ["1", "2"]  # what is done is fetched once more
    pages = [page_of(url) for url in lease.urls]
    bench.frontier.commit(engine_id, batch(2, pages=pages, released=[release(lease, 0)]))
    rows = db.execute("SELECT url FROM pages WHERE url LIKE 'https://z%' ORDER BY 1").fetchall()
    assert rows == [("https://z.test/1",), ("https://z.test/2",)]


def test_an_older_crawl_keeps_its_pages(tmp_path: Path, bench: Bench) -> None:
    """The index of the format before becomes a roll."""
    path = tmp_path / "older.sqlite"
    with sqlite3.connect(path, isolation_level=None) as db:
        for number, text in enumerate(queries.migrations("sqlite")[:8], start=1):
            db.executescript(f"BEGIN;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;")
        zeros = {row[1]: 0 for row in db.execute("PRAGMA table_info(pages)")}
        for number, url in zip(range(1, 200, 3), fresh(), strict=False):
            ident, fp = key(url)
            row = {**zeros, "id": number, "domain_id": ident, "fp": fp, "url": url}
            marks = ", ".join(f":{name}" for name in row)
            db.execute(f"INSERT INTO pages ({', '.join(row)}) VALUES ({marks})", row)
        assert migrate(db) == 8
        check_pages(db)
        count = db.execute("SELECT count(*) FROM page_keys").fetchone()
        assert count == db.execute("SELECT count(*) FROM pages").fetchone() == (67,)
        assert db.execute("SELECT roll, last, goes_to FROM page_rolls").fetchall() == [
            (1, 199, None)
        ]
        indexes = db.execute("SELECT name FROM sqlite_master WHERE tbl_name = 'pages'").fetchall()
        assert indexes == [("pages",)]
