"""Lists of domains, looks into the queue and examples: on every store, small crawl and large."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import lycosa
from lycosa.archive.ledger import Ledger
from lycosa.reading.values import Listed
from reading.conftest import Made
from support.made import link
from support.made_crawl import opened


@pytest.fixture
def queueing(made: Made) -> Made:
    """The finished crawl, with something to do again."""
    with opened(made.root, made.store or "sqlite", resume=True) as (frontier, _):
        frontier.add([link(f"https://d1.test/more/{n}", depth=2 + n) for n in range(5)])
        frontier.add([link("https://www.d2.test/tag/x", depth=1)])
    return made


def test_domains_by_pages(crawl: lycosa.Crawl) -> None:
    found = crawl.domains(limit=5)
    assert isinstance(found, list) and len(found) == 5
    assert [each.value for each in found] == [float(each.pages) for each in found] == [10.0] * 5
    assert found.of == "all 12 domains"
    assert {each.state for each in found} == {"idle"}


def test_domains_by_failures_and_by_time(crawl: lycosa.Crawl) -> None:
    failing = crawl.domains("failing")
    for each in failing:
        outcomes = crawl.domain(each.name).outcomes
        failed = {name: n for name, n in outcomes.items() if name not in ("ok", "redirect")}
        assert sum(failed.values()) == each.value
    assert failing.of == "all URLs that are done"
    slow = [each.value for each in crawl.domains("slowest")]
    assert slow == sorted(slow, reverse=True)


def test_a_word_that_is_no_order(crawl: lycosa.Crawl) -> None:
    with pytest.raises(lycosa.UserError, match="by 'page'; did you mean pages"):
        crawl.domains("page")


def test_domains_by_their_queues(queueing: Made) -> None:
    with queueing.open() as crawl:
        assert [(each.name, each.queued) for each in crawl.domains("queued")] == [
            ("d1.test", 5),
            ("d2.test", 1),
        ]


SPOILT = '{"at": 1, "top": {"pages": 7, "slowest": [["d1.test"]]}, "latest": [1], "examples": 5}'


def write_now(root: Path, **figures: Any) -> None:
    (root / "history").mkdir(exist_ok=True)
    now = {"at": 1_800_000_000.0, "state": "running", **figures}
    (root / "history" / "now.json").write_text(json.dumps(now))


def test_a_large_crawl_is_not_looked_through(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.reading.tops.DOMAINS_LOOKED_AT", 5)
    monkeypatch.setattr("lycosa.reading.tops.PAGES_LOOKED_AT", 50)
    with made.open() as crawl:
        assert crawl.domains().of == "5 of 12 domains, taken as the store has them"
        assert crawl.domains("slowest").of == "the 50 last URLs"
        tops = {"pages": [["d3.test", 70], ["gone.test", 9], ["d4.test", 30]]}
        write_now(made.root, top=tops)
        found = crawl.domains()
        assert [(each.name, each.value) for each in found] == [("d3.test", 70), ("d4.test", 30)]
        assert found.of == "what the engines of the last run noted, about"
        assert crawl.domains("slowest").of == "the 50 last URLs"


def test_a_spoilt_file_of_figures_is_none(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.reading.tops.DOMAINS_LOOKED_AT", 5)
    for text in (
        "",
        "{",
        "[]",
        '{"at": "x"}',
        '{"at": 1, "top": []}',
        '{"at": 1, "top": {}}',
        SPOILT,
    ):
        (made.root / "history").mkdir(exist_ok=True)
        (made.root / "history" / "now.json").write_text(text)
        with made.open() as crawl:
            assert crawl.domains().of.startswith("5 of 12 domains"), text


def test_the_queue(queueing: Made) -> None:
    with queueing.open() as crawl:
        found = crawl.queue("d1.test")
        assert [each.url for each in found] == [f"https://d1.test/more/{n}" for n in range(5)]
        assert [each.depth for each in found] == [2, 3, 4, 5, 6]
        assert {(each.attempts, each.domain) for each in found} == {(0, "d1.test")}
        assert found.of == "the queue of d1.test, in its order"
        assert len(crawl.queue("d1.test", limit=2)) == 2
        assert {each.domain for each in crawl.queue()} == {"d1.test", "d2.test"}
        assert crawl.queue("d5.test") == []
        with pytest.raises(lycosa.UserError, match=r"knows no domain 'd99x\.test'"):
            crawl.queue("d99x.test")


def test_the_queue_by_a_pattern(queueing: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with queueing.open() as crawl:
        tagged = crawl.queue(pattern="*/tag/*")
        assert [each.url for each in tagged] == ["https://www.d2.test/tag/x"]
        assert tagged.of == "all 6 queued URLs of all domains: those that fit */tag/*"
        ending = crawl.queue(pattern="d1.test/more/*3")
        assert [each.url[-1] for each in ending] == ["3"]
        assert "queued URLs of d1.test" in ending.of
        assert len(crawl.queue(pattern="d1.test", limit=2)) == 2
        assert crawl.queue("d1.test", "*/tag/*") == []
        with pytest.raises(lycosa.UserError, match="'a b' is no pattern: write one"):
            crawl.queue(pattern="a b")
        monkeypatch.setattr("lycosa.reading.queue.LOOKED_AT", 3)
        assert crawl.queue(pattern="*/nowhere/*").of.startswith("the first 3 queued URLs of all")


def test_examples(crawl: lycosa.Crawl) -> None:
    for outcome, count in crawl.status().outcomes.items():
        found = crawl.examples(outcome, 4)
        assert len(found) == min(4, count)
        assert {each.outcome for each in found} == {outcome}
        assert [each.id for each in found] == sorted((p.id for p in found), reverse=True)
    assert crawl.examples("dns") == []
    with pytest.raises(lycosa.UserError, match="no outcome 'timeuot'; did you mean timeout"):
        crawl.examples("timeuot")


def test_examples_of_a_large_crawl_come_from_its_end_and_from_notes(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa.reading.examples.PAGES_LOOKED_AT", 1)
    monkeypatch.setattr("lycosa.reading.examples.STEPS", 2)
    with made.open() as crawl:
        oldest = next(iter(crawl.pages(outcome="ok", limit=1)))
        few = crawl.examples("ok")
        assert len(few) <= 2 and few.of.startswith("the 2 last URLs")
        write_now(made.root, examples={"ok": [{"url": oldest.url, "at": 1}, {"url": 7, "at": 2}]})
        assert oldest.url in {each.url for each in crawl.examples("ok")}


def test_a_domain_in_full(queueing: Made) -> None:
    with queueing.open() as crawl:
        found = crawl.domain("d1.test")
        assert found.counted == sum(found.outcomes.values()) == 10
        assert [each.url[-1] for each in found.head] == list("01234")
        assert (found.pause, found.pause_from) == (0.0, "--delay")
        assert found.visits and all(each.finished for each in found.visits)
        starts = [each.started_ms for each in found.visits]
        assert starts == sorted(starts, reverse=True)


def test_figures_of_a_held_domain_are_those_of_now(queueing: Made) -> None:
    """Its log tells them; lists of many domains go by rows, and by what engines noted."""
    with opened(queueing.root, queueing.store or "sqlite", resume=True) as (frontier, node):
        engine_id = frontier.register("host", 2, node, str(queueing.root))
        assert {lease.name for lease in frontier.lease(engine_id, 10)} == {"d1.test", "d2.test"}
        frontier.add([link(f"https://d1.test/even-more/{n}", depth=2) for n in range(3)])
        with queueing.open() as crawl:
            held = crawl.domain("d1.test")
            assert (held.state, held.pages, held.queued) == ("held", 10, 8)
            before = crawl.domains("queued")
            assert before.of == "all 12 domains; those held by an engine as they were before"
            write_now(queueing.root, top={"pages": [["d1.test", 900]], "queued": [["d1.test", 8]]})
            first = crawl.domains("pages", 3)
            assert (first[0].name, first[0].value, first[0].queued) == ("d1.test", 900, 8)
            assert first.of.endswith("the largest of those held by an engine as it noted them")
            assert [each.value for each in crawl.domains("queued")] == [8, 1]


def test_no_pause_is_told_where_visits_may_be_missing(plain: Made) -> None:
    """Of each ledger the last visits are looked for. In the gap between those of one and of another
    there may be more."""
    first = 1_800_000_000_000
    for engine_id, begins in ((98, first), (99, first + 3_600_000)):
        ledger = Ledger(plain.root, engine_id, 1 << 20)
        for n in range(30):
            at = begins + 10_000 * n
            ledger.note_started([("d1.test", at)])
            ledger.ended("d1.test", 1, at + 500, 1, "192.0.2.1", "ok")
        ledger.close()
    with plain.open() as crawl:
        visits = crawl.domain("d1.test").visits
    assert [visit.pause for visit in visits] == 19 * [9.5] + [None]
    assert visits[-1].started_ms == first + 3_600_000 + 100_000


def test_visits_are_found_from_the_end_of_the_ledgers(plain: Made) -> None:
    ledger = Ledger(plain.root, 99, 1 << 20)
    for n in range(40):
        ledger.note_started([("d1.test", 1_800_000_000_000 + 100_000 * n), ("x.test", 5)])
        if n != 38:  # a kill came in between
            ledger.ended("d1.test", 1, 1_800_000_000_000 + 100_000 * n + 500, 1, "192.0.2.1", "ok")
    ledger.close()
    with plain.open() as crawl:
        visits = crawl.domain("d1.test").visits
    assert len(visits) == 20
    newest, cut_off, before = visits[:3]
    assert (newest.outcome, newest.address, newest.requests) == ("ok", "192.0.2.1", 1)
    assert (cut_off.finished, cut_off.pause, before.finished) == (False, 99.5, True)
    assert newest.pause == 100.0
    assert {each.engine_id for each in visits} == {99}


def test_a_torn_ledger_is_read_as_far_as_it_goes(plain: Made) -> None:
    ledger = Ledger(plain.root, 99, 1 << 20)
    ledger.note_started([("d1.test", 1_900_000_000_000)])
    ledger.close()
    (path,) = (p for p in (plain.root / "visits").iterdir() if "99" in p.name)
    with open(path, "ab") as file:
        file.write(b'["e","d1.test",19000')
    with plain.open() as crawl:
        assert crawl.domain("d1.test").visits[0].finished is False
    os.truncate(path, 0)
    with plain.open() as crawl:
        assert crawl.domain("d1.test").visits


def test_a_list_says_what_it_is_of() -> None:
    assert Listed([1, 2], "two").of == "two" and Listed([1, 2], "two") == [1, 2]
