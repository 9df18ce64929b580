"""What the core wants is carried out in order: the ledger before the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_ledger_thread import SlowDisk, disk, ledger, request, until

from lycosa.archive.ledger import Ledger, read_visits, tail
from lycosa.clock import engine_now
from lycosa.engine.actions import NOTHING, Actions
from lycosa.engine.dispatch import Dispatcher
from lycosa.engine.ledger_thread import LedgerLines, LedgerThread
from lycosa.engine.scheduler import Held
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit_result import Result
from lycosa.fetch.dns import Answer
from lycosa.records import Failure, Request, Response
from support.made import held as made_held

__all__ = ["disk", "ledger"]  # fixtures
DELAY = 70.0


class Network:
    """Notes what was on file when a request was sent; a look-up is answered by the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sent: list[tuple[Request, list[str]]] = []
        self.finished: list[Response] = []
        self.asked: dict[str, Callable[[Answer], None]] = {}

    def start(self, request: Request) -> None:
        self.sent.append((request, sorted(visit.domain for visit in read_visits(self.root))))

    def resolve(self, host: str, callback: Callable[[Answer], None]) -> None:
        self.asked[host] = callback


class Bench:
    def __init__(self, ledger: Ledger, root: Path) -> None:
        self.network = Network(root)
        self.thread = LedgerThread(ledger, lambda: None)
        self.lapsed = False
        ledger_lines = LedgerLines(ledger, DELAY, StoreClock(0.0))
        self.dispatch = Dispatcher(
            ledger_lines, self.thread, self.network, self.network, lambda: self.lapsed  # type: ignore[arg-type]
        )  # fmt: skip

    def sends(self, number: int) -> list[tuple[Request, list[str]]]:
        def look() -> bool:
            self.dispatch.send_written(engine_now() + 1.0)
            return len(self.network.sent) == number and not self.thread.busy

        until(look)
        return self.network.sent


@pytest.fixture
def bench(ledger: Ledger, tmp_path: Path) -> Bench:
    return Bench(ledger, tmp_path)


def started(number: int) -> Actions:
    return Actions(starts=((f"d{number}.test", 1000),), requests=(request(number),))


def held(number: int, delay: float) -> Held:
    return made_held(f"d{number}.test", delay=delay)


def test_a_request_is_sent_when_the_start_of_its_visit_is_on_file(
    bench: Bench, disk: SlowDisk
) -> None:
    bench.dispatch.carry_out(started(1) + started(2))
    assert disk.asked.wait(10)
    bench.dispatch.send_written(engine_now() + 1.0)
    assert bench.network.sent == []
    disk.works.set()
    assert [on_file for _, on_file in bench.sends(2)] == [["d1.test", "d2.test"]] * 2


def test_no_request_overtakes_what_was_noted_before_it(bench: Bench, disk: SlowDisk) -> None:
    first, second = request(1), request(2)
    bench.dispatch.carry_out(Actions(requests=(first,)))
    assert bench.network.sent == [(first, [])], "of a visit that began long ago"
    bench.dispatch.carry_out(started(3))
    bench.dispatch.carry_out(Actions(requests=(second,)))
    assert len(bench.network.sent) == 1
    disk.works.set()
    assert [each.host for each, _ in bench.sends(3)] == ["d1.test", "d3.test", "d2.test"]


def test_a_longer_delay_is_on_file_before_the_next_request_and_soon_after_the_last(
    bench: Bench, disk: SlowDisk, ledger: Ledger, tmp_path: Path
) -> None:
    disk.works.set()
    bench.dispatch.carry_out(started(1))
    bench.sends(1)
    disk.works.clear()
    slow = held(1, 90.0)
    bench.dispatch.carry_out(Actions(delays=(slow,), requests=(request(1),)))
    assert len(bench.network.sent) == 1
    disk.works.set()
    bench.sends(2)
    assert tail(tmp_path, {}, [1])["d1.test"].delay_ms == 90_000
    result = Result(slow, 1.0, 2.0, 2000, requests=2, pause=600.0)
    bench.dispatch.carry_out(Actions(ends=(result,)))
    until(lambda: not ledger._waiting)
    assert tail(tmp_path, {}, [1])["d1.test"].delay_ms == 600_000


def test_an_end_alone_waits_for_the_next_write(bench: Bench, ledger: Ledger) -> None:
    result = Result(held(1, DELAY), 1.0, 2.0, 2000, requests=2)
    bench.dispatch.carry_out(Actions(ends=(result,)))
    assert not bench.thread.busy and ledger._waiting[-1].startswith(b'["e","d1.test"')


def test_past_the_lease_nothing_is_sent_and_the_visits_hear_of_it(
    bench: Bench, disk: SlowDisk
) -> None:
    bench.dispatch.carry_out(started(1))
    bench.lapsed = True
    disk.works.set()
    assert bench.sends(0) == []

    def heard() -> bool:
        bench.dispatch.send_written(engine_now() + 1.0)
        return bool(bench.network.finished)

    until(heard)
    assert [each.failure for each in bench.network.finished] == [Failure.STOPPED]


def test_what_follows_from_an_address_is_carried_out_as_well(bench: Bench, disk: SlowDisk) -> None:
    disk.works.set()
    heard: list[str] = []

    def found(address: str, now: float) -> Actions:
        heard.append(address)
        return started(1) if address else NOTHING

    bench.dispatch.carry_out(Actions(lookups=(("d0.test", found), ("d1.test", found))))
    bench.network.asked["d0.test"](Answer((), "nxdomain"))
    bench.network.asked["d1.test"](Answer(("192.0.2.1",)))
    assert heard == ["", "192.0.2.1"]
    assert [on_file for _, on_file in bench.sends(1)] == [["d1.test"]]
