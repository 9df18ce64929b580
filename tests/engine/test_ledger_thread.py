"""The loop notes what goes into the ledger and never waits for the disk; requests wait instead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lycosa.archive.ledger import Ledger, read_visits
from lycosa.archive.segments import SegmentWriter
from lycosa.engine.ledger_thread import LedgerThread
from lycosa.errors import DiskFull
from lycosa.records import Request
from support.made import made_request

SECONDS = 10.0  # a test waits no longer for a thread


class SlowDisk(SegmentWriter):
    """A disk that writes only while `works` is set."""

    works: threading.Event
    asked: threading.Event

    def append(self, *parts: bytes) -> tuple[int, int]:
        self.asked.set()
        assert self.works.wait(SECONDS)
        return super().append(*parts)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SlowDisk]:
    made = SlowDisk(tmp_path, "visits", 1, 1 << 20)
    made.works, made.asked = threading.Event(), threading.Event()
    yield made
    made.works.set()


@pytest.fixture
def ledger(disk: SlowDisk, tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path, 1, 1 << 20)
    made._writer = disk
    return made


def request(number: int) -> Request:
    return made_request(f"https://d{number}.test/")


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.001)


def hand_back(thread: LedgerThread, sent: list[Request], number: int) -> None:
    """Wait until so many requests may be sent."""

    def all_there() -> bool:
        sent.extend(thread.written())
        return len(sent) == number

    until(all_there)


def test_a_request_is_handed_back_only_when_its_start_is_on_file(
    ledger: Ledger, disk: SlowDisk, tmp_path: Path
) -> None:
    woken = threading.Event()
    thread = LedgerThread(ledger, woken.set)
    first, second = request(1), request(2)
    ledger.note_started([("d1.test", 1000)])
    thread.write_before([first])
    assert disk.asked.wait(SECONDS)
    # The disk is busy: nothing is on file, and all that the loop does goes on at once.
    ledger.note_started([("d2.test", 1001)])
    thread.write_before([second])
    ledger.learned("d1.test", 90_000)
    ledger.ended("d1.test", 1000, 1500, 1, "192.0.2.1", "ok")
    thread.write_before([])
    assert thread.written() == [] and not woken.is_set()
    assert disk.asked.is_set() and not disk.works.is_set(), "the loop did not wait for the disk"
    assert list(read_visits(tmp_path)) == []
    disk.works.set()
    sent: list[Request] = []
    hand_back(thread, sent, 2)
    assert sent == [first, second] and woken.is_set()
    until(lambda: len(list(read_visits(tmp_path))) == 2 and not ledger._waiting)
    one, two = sorted(read_visits(tmp_path), key=lambda visit: visit.domain)
    assert (one.start_ms, one.end_ms, one.learned_ms) == (1000, 1500, 90_000)
    assert (two.start_ms, two.unfinished) == (1001, True)


def test_a_disk_that_refuses_keeps_the_lines_and_sends_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*parts: bytes) -> tuple[int, int]:
        raise DiskFull("no room")

    thread = LedgerThread(ledger, lambda: None)
    working = SegmentWriter(tmp_path, "visits", 1, 1 << 20)
    monkeypatch.setattr(ledger, "_writer", working)
    monkeypatch.setattr(working, "append", refuse)
    ledger.note_started([("d1.test", 1000)])
    thread.write_before([request(1)])

    def failed() -> bool:
        try:
            assert thread.written() == []
        except DiskFull:
            return True
        return False

    until(failed)
    monkeypatch.undo()
    ledger._writer = working
    ledger.close()
    assert [visit.domain for visit in read_visits(tmp_path)] == ["d1.test"]


@pytest.mark.parametrize("seed", range(5))
def test_lines_keep_their_order_whoever_writes_them(tmp_path: Path, seed: int) -> None:
    """The loop notes, its thread writes, the store thread syncs, all at the same time."""
    ledger = Ledger(tmp_path, 1, 4000)
    thread = LedgerThread(ledger, lambda: None)
    ended = threading.Event()

    def sync() -> None:
        while not ended.is_set():
            ledger.sync()

    store = threading.Thread(target=sync)
    store.start()
    sent: list[Request] = []
    try:
        for number in range(2000):
            ledger.note_started([(f"d{number}.test", number)])
            thread.write_before([request(number)])
            ledger.ended(f"d{number}.test", number, number + seed, 1, "", "ok")
            sent += thread.written()
        hand_back(thread, sent, 2000)
    finally:
        ended.set()
        store.join()
    assert [each.host for each in sent] == [f"d{number}.test" for number in range(2000)]
    ledger.close()
    visits = list(read_visits(tmp_path))
    assert len(visits) == 2000
    assert all(visit.end_ms == visit.start_ms + seed for visit in visits)
