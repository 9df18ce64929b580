"""`retry`: what failed for good is tried again, exactly once, on every store."""

import json
from pathlib import Path

import pytest

from commands.stores import Stored, make, visit
from lycosa.records import Origin

FAILED = ["https://a.test/1", "https://a.test/2", "https://b.test/1"]
OTHER = ["https://a.test/ok", "https://c.test/", "https://d.test/"]
DEAD = Origin("https://a.test", failures=0, retry_ms=1 << 50, reason="private-address")


@pytest.fixture(params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    made = make(tmp_path / "data", store, FAILED + OTHER)
    outcomes = dict.fromkeys(FAILED, "private-address")
    visit(made, {**outcomes, OTHER[0]: "ok", OTHER[1]: "timeout"}, [DEAD])
    assert made.queued() == {OTHER[2]}
    return made


def pages(crawl: Stored) -> dict[str, str]:
    return dict(crawl.rows("SELECT url, outcome FROM pages"))


def test_it_tells_asks_and_queues_once(crawl: Stored) -> None:
    words = ["retry", "--outcome", "private-address"]
    told = crawl.run(*words, "--dry-run")
    assert told == "There are 3 pages with the outcome private-address. Nothing was changed.\n"
    refused = crawl.run(*words, code=2)
    assert "This would queue 3 pages with the outcome private-address again: add --yes" in refused
    assert len(pages(crawl)) == 5 and crawl.queued() == {OTHER[2]}
    assert "3 URLs are queued again" in crawl.run(*words, "--yes")
    assert crawl.queued() == {*FAILED, OTHER[2]}
    assert pages(crawl) == {OTHER[0]: "ok", OTHER[1]: "timeout"}
    told = crawl.run(*words, "--yes")
    assert told == "There are 0 pages with the outcome private-address. Nothing was changed.\n"
    status = json.loads(crawl.run("status", "--json"))
    assert status["queued"] == 4 and status["outcomes"] == {"ok": 1, "timeout": 1}
    assert crawl.seen() == 6


def test_the_mark_of_a_dead_origin_goes(crawl: Stored) -> None:
    crawl.run("retry", "--outcome", "private-address", "--yes")
    marks = crawl.rows("SELECT reason, retry_ms FROM origins WHERE origin = 'https://a.test'")
    assert ("", 0) in marks


def test_of_one_domain(crawl: Stored) -> None:
    words = ["retry", "--outcome", "private-address", "--domain"]
    told = json.loads(crawl.run(*words, "b.test", "--yes", "--json"))
    assert (told["pages"], told["queued_again"]) == (1, 1)
    assert crawl.queued() == {FAILED[2], OTHER[2]}
    assert "did you mean" in crawl.run(*words, "aa.test", "--yes", code=2)


def test_mistakes(crawl: Stored) -> None:
    assert "--outcome NAME" in crawl.run("retry", code=2)
    assert "did you mean timeout" in crawl.run("retry", "--outcome", "timout", code=2)
    assert "did not fail" in crawl.run("retry", "--outcome", "ok", "--yes", code=2)


def test_a_finished_crawl_goes_on(crawl: Stored) -> None:
    frontier = crawl.open()
    frontier.put_settings({"finished": 1})
    frontier.close()
    crawl.run("retry", "--outcome", "timeout", "--yes")
    assert not json.loads(crawl.run("status", "--json"))["finished"]
