"""After an engine has died: delays remembered, files cut back, the page it died of noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.engine import poison
from lycosa.frontier.protocol import Batch, StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.node.presence import Presence
from lycosa.node.rescue import note_crash, take_over, take_over_earlier
from lycosa.records import Flag
from support.made import link

NOW_MS = 1_800_000_000_000


class Clock:
    ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteFrontier]:
    made = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), clock, create=True)
    yield made
    made.close()


def seed(store: SqliteFrontier, *urls: str) -> None:
    store.add([link(url, flags=Flag.SEED) for url in urls], rank=0)


def test_delays_learnt_in_the_last_second_hold_for_all_engines(
    store: SqliteFrontier, clock: Clock, tmp_path: Path
) -> None:
    seed(store, "https://a.test/", "https://b.test/", "https://c.test/")
    dead = [store.register("t", n) for n in range(3)]
    for engine_id in dead:
        (lease,) = store.lease(engine_id, 1)
        ledger = Ledger(tmp_path, engine_id, 1 << 20)
        ledger.started([(lease.name, NOW_MS)])
        if lease.name != "c.test":
            ledger.learned(lease.name, 500_000)
        ledger.close()
    assert take_over(Presence(store, tmp_path), dead) == 3
    heir = store.register("t", 9)
    clock.ms += 70_000
    assert [lease.name for lease in store.lease(heir, 9)] == ["c.test"]
    clock.ms += 430_000
    assert {lease.name for lease in store.lease(heir, 9)} == {"a.test", "b.test"}


def test_what_a_fenced_engine_wrote_is_cut_off(store: SqliteFrontier, tmp_path: Path) -> None:
    """It was declared dead before its process ended: its files must not be forgotten."""
    engine_id = store.register("t", 1)
    text = SegmentWriter(tmp_path, "text", engine_id, 1 << 20)
    text.append(b"committed")
    states: list[tuple[str, int, int, bool]]
    states = [(s.kind, s.id, s.length, s.closed) for s in text.sync()]
    store.commit(engine_id, Batch(number=1, segments=states))
    text.append(b" and not")
    text.sync()
    store.rescue([engine_id])
    (file,) = (tmp_path / "text").iterdir()
    assert file.read_bytes() == b"committed and not"
    take_over_earlier(Presence(store, tmp_path))
    assert file.read_bytes() == b"committed"


@pytest.fixture
def marks() -> Iterator[poison.Mark]:
    fd = poison.memory(2)
    yield poison.Mark(fd, 1)
    os.close(fd)


def test_a_page_that_killed_two_engines_is_poison(
    store: SqliteFrontier, marks: poison.Mark
) -> None:
    seed(store, "https://a.test/")
    engine_id = store.register("t", 1)
    (lease,) = store.lease(engine_id, 1)
    url = lease.urls[0]
    assert not note_crash(store, marks)
    for _ in range(2):
        marks.set(lease.domain_id, url.order, url.fp)
        assert note_crash(store, marks)
    (again,) = store.refill([lease.domain_id])[lease.domain_id]
    assert again.flags // Flag.KILL == 2


def test_an_engine_that_dies_before_its_first_page_is_not_blamed_on_the_last_one(
    store: SqliteFrontier, marks: poison.Mark
) -> None:
    seed(store, "https://a.test/")
    (lease,) = store.lease(store.register("t", 1), 1)
    url = lease.urls[0]
    marks.set(lease.domain_id, url.order, url.fp)
    assert note_crash(store, marks)
    assert not note_crash(store, marks)  # its successor made no mark
    marks.set(lease.domain_id, url.order, url.fp)
    marks.clear()  # another run begins
    assert not note_crash(store, marks)
    (again,) = store.refill([lease.domain_id])[lease.domain_id]
    assert again.flags // Flag.KILL == 1


def test_a_death_without_a_page_is_nobodys_fault(store: SqliteFrontier, marks: poison.Mark) -> None:
    marks.set(5, 6, 7)
    assert not note_crash(store, marks)  # no such URL is queued
    marks.set(0, 0, 0)
    assert not note_crash(store, marks)


def test_engines_have_marks_of_their_own() -> None:
    fd = poison.memory(2)
    first, second = poison.Mark(fd, 0), poison.Mark(fd, 1)
    first.set(1, 2, 3)
    assert (first.read(), second.read()) == ((1, 2, 3), None)
    second.set(4, 5, 6)
    first.clear()
    assert (first.read(), poison.Mark(fd, 1).read()) == (None, (4, 5, 6))
    os.close(fd)
