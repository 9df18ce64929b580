"""What engines note: bounded, exact where it says so, and a pause that is too short is seen."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import orjson
import pytest

from lycosa.engine import summaries
from lycosa.engine.notes import LE, EngineNotes, Pauses, Reservoir
from lycosa.engine.scheduler import Held
from lycosa.engine.top_domains import ROOM, TOP, Frequent, Largest
from lycosa.engine.visit_result import Result
from lycosa.metrics import Stats
from lycosa.records import PageRow, Response, Url
from support.made import made_request


def held(name: str = "a.test", **more: Any) -> Held:
    plain: dict[str, Any] = {
        "id": 1, "name": name, "seeded": True, "delay": 1.0, "failures": 0, "pages": 0,
        "queued": 0, "ready": 0.0, "run": [], "origins": {},
    }  # fmt: skip
    return Held(**(plain | more))


def row(url: str, outcome: str = "ok", ms: int = 1, **more: Any) -> PageRow:
    return PageRow(1, 2, Url(url), 0, 0, ms, 200, outcome, **more)


def test_durations_go_to_their_buckets() -> None:
    notes = EngineNotes()
    for seconds in (0.0005, 0.001, 0.0011, 100.0):
        response = Response(made_request("https://a.test/"), 200, started=1.0, ended=1.0 + seconds)
        notes.fetched(response)
    found = notes.summary(1.0)["durations"]["fetch"]
    assert found["le"] == list(LE) and len(found["n"]) == len(LE) + 1
    assert (found["n"][0], found["n"][1], found["n"][-1]) == (2, 1, 1)
    assert found["sum"] == pytest.approx(100.0026)


def test_a_phase_that_was_not_there_is_not_noted() -> None:
    notes = EngineNotes()
    notes.fetched(Response(made_request("https://a.test/"), failure="tls", connect=0.2, ended=9.0))
    found = notes.summary(1.0)["durations"]
    assert sum(found["connect"]["n"]) == 1
    assert sum(found["tls"]["n"]) == sum(found["fetch"]["n"]) == 0


def test_the_newest_examples_of_each_outcome_stay() -> None:
    notes = EngineNotes()
    for number in range(30):
        notes.rows([row(f"https://a.test/{number}", "ok" if number % 3 else "timeout", number)])
    found = notes.summary(1.0)["examples"]
    assert [each["url"] for each in found["timeout"]][-1] == "https://a.test/27"
    assert len(found["ok"]) == len(found["timeout"]) == 10


def test_notes_are_bounded_whatever_pages_send() -> None:
    notes = EngineNotes()
    for number in range(3000):
        long = row(f"https://a.test/{'x' * 1900}{number}")
        wide = row(f"https://a.test/{'x' * 450}{number}", f"outcome-{number}", title="t" * 300)
        notes.rows([long, wide])
        notes.text(wide, "\U0001f577" * 100_000)
        notes.dropped({f"reason-{number}": f"https://b.test/{'y' * 450}{number}"})
    assert len(orjson.dumps(notes.summary(1.0))) < 200_000


def test_a_reservoir_gives_every_url_the_same_chance() -> None:
    chosen: Counter[int] = Counter()
    for seed in range(300):
        reservoir = Reservoir(88172645463325252 + seed * 7919)
        for number in range(100):
            reservoir.offer(str(number))
        chosen.update(int(each) // 25 for each in reservoir.kept)
    for quarter in range(4):
        assert 600 < chosen[quarter] < 900, chosen  # 750 each on average


def test_the_largest_are_exact_for_values_that_grow() -> None:
    chance, table, pages = random.Random(5), Largest(), Counter[str]()
    for visit in range(60_000):
        name = f"d{int(chance.paretovariate(0.7)) % 3000}.test"
        pages[name] += 1
        table.note(name, pages[name], float(visit) / 1000)
    top = table.top(60.0)
    assert len(top) == TOP
    assert [n for _, n in top] == sorted(pages.values(), reverse=True)[:TOP]


def test_a_domain_that_is_elsewhere_is_forgotten() -> None:
    table = Largest()
    table.note("old.test", 900, 0.0)
    table.note("new.test", 3, 5000.0)
    assert table.top(5000.0) == [["new.test", 3]]
    table.note("new.test", 0, 5001.0)
    assert table.top(5001.0) == []


def test_the_frequent_are_found_in_bounded_memory() -> None:
    chance, table = random.Random(7), Frequent()
    for number in range(50_000):
        table.note("often.test" if chance.random() < 0.05 else f"d{number}.test")
    assert len(table._counts) <= ROOM
    assert table.top()[0][0] == "often.test"


def test_a_pause_is_told_against_the_one_that_was_needed() -> None:
    pauses, domain = Pauses(), held(delay=70.0)
    assert pauses.begins(domain, 100.0, 0)
    assert pauses.summary() == {"least": None, "needed": None}
    domain.ended, domain.needed = 110.0, 70.0
    assert all(pauses.begins(domain, now, 0) for now in (185.0, 180.5, 300.0))
    assert pauses.summary() == {"least": 70.5, "needed": 70.0}


def test_a_pause_that_is_too_short_is_a_violation() -> None:
    pauses, domain = Pauses(), held(ended=110.0, needed=70.0)
    assert not pauses.begins(domain, 179.0, 0)
    assert pauses.summary() == {"least": 69.0, "needed": 70.0}
    stats, notes = Stats(), EngineNotes()
    notes.visit_begins(domain, 179.0, 0, stats)
    notes.visit_begins(domain, 180.0, 0, stats)
    assert (stats.polite_visits, stats.violations) == (1, 1)


def test_the_pause_after_another_engine_is_by_what_the_store_allows() -> None:
    pauses, domain = Pauses(), held(delay=2.0, pages=4, allowed_ms=50_000)
    assert pauses.begins(domain, 1.0, 50_300)
    assert pauses.summary() == {"least": 2.3, "needed": 2.0}
    assert not pauses.begins(domain, 1.0, 49_000)


def test_a_visit_tells_of_its_domain() -> None:
    notes = EngineNotes()
    busy = held("busy.test", pages=5, queued=90, delay=30.0)
    notes.visit_ends(Result(busy, 10.0, 14.0, requests=2, pause=99.0), True, delay=1.0)
    assert (busy.ended, busy.needed) == (14.0, 99.0)
    assert notes.summary(14.0)["top"] == {
        "pages": [["busy.test", 5]],
        "queued": [["busy.test", 90]],
        "failing": [["busy.test", 1]],
        "slowest": [["busy.test", 2.0]],
        "delay": [["busy.test", 30.0]],
    }


def test_summaries_of_engines_become_one() -> None:
    one, two = EngineNotes(), EngineNotes()
    one.rows([row("https://a.test/1", ms=1000)])
    two.rows([row("https://a.test/2", ms=2000), row("https://a.test/1", ms=500)])
    one.text(row("https://a.test/1", ms=1000), "one")
    two.text(row("https://a.test/2", ms=2000), "two")
    one.dropped({"scope": "https://b.test/1"})
    two.dropped({"scope": "https://b.test/2", "trap": "https://b.test/3"})
    one.parsed(0.3)
    two.parsed(0.3)
    for notes in (one, two):
        notes.visit_ends(Result(held(queued=7, pages=3), 1.0, 2.0, requests=1), True, 1.0)
    found = summaries.merged([one.summary(2.0), {}, two.summary(2.0)])
    assert [each["url"] for each in found["examples"]["ok"]] == [
        "https://a.test/2",
        "https://a.test/1",
    ]
    assert found["latest"][0]["preview"] == "two"
    assert found["dropped"] == {
        "scope": ["https://b.test/1", "https://b.test/2"],
        "trap": ["https://b.test/3"],
    }
    assert sum(found["durations"]["parse"]["n"]) == 2 and found["sizes"]["1024"] == 3
    assert found["top"]["pages"] == [["a.test", 3]] and found["top"]["failing"] == [["a.test", 2]]
    assert summaries.merged([found, {}]) == found
    assert summaries.merged([]) == summaries.merged([{}])
