"""--max-bandwidth in virtual time: the limit is kept and used, and engines share it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from lycosa.engine.bandwidth import BURST, HANDSHAKE, SHORTEST, Bandwidth, memory
from lycosa.records import Response
from support.cpu import cpu_seconds
from support.made import made_request

LIMIT = 1_000_000


@pytest.fixture
def shared() -> Iterator[int]:
    fd = memory(4)
    yield fd
    os.close(fd)


class Node:
    """Engines that always have a visit to begin, each of which takes a while."""

    def __init__(self, fd: int, engines: int, sizes: random.Random, busy: int = 99) -> None:
        self.flights: list[list[tuple[float, int]]] = [[] for _ in range(engines)]
        self.received = [0] * engines
        self.times: list[tuple[float, int]] = []
        self.chance = sizes
        self.busy = busy  # engines with something to do
        self.accounts = [
            Bandwidth(LIMIT, fd, index, self._counting(index)) for index in range(engines)
        ]

    def _counting(self, index: int):  # type: ignore[no-untyped-def]
        return lambda: (len(self.flights[index]), 0)

    def run(self, until: float, mean: int = 40_000) -> None:
        now = 1000.0
        while now < 1000.0 + until:
            now += 0.01
            for index, account in enumerate(self.accounts[: self.busy]):
                flights = self.flights[index]
                for end, size in [each for each in flights if each[0] <= now]:
                    flights.remove((end, size))
                    account.note(answered(size))
                    self.received[index] += size
                    self.times.append((now - 1000.0, size))
                count = account.visits(now, 8)
                account.begun(count)
                for _ in range(count):
                    size = int(self.chance.lognormvariate(0, 1) * mean / 1.65)
                    flights.append((now + self.chance.uniform(0.05, 1.0), size))


def answered(size: int) -> Response:
    return Response(made_request("http://a.test/"), status=200, body=bytes(size))


@pytest.mark.parametrize("engines", [1, 2, 4])
def test_the_limit_is_kept_and_used_by_all_alike(shared: int, engines: int) -> None:
    node = Node(shared, engines, random.Random(engines))
    node.run(60)
    total = sum(node.received)
    assert 0.9 * LIMIT < total / 60 < 1.03 * LIMIT
    assert min(node.received) > 0.7 * max(node.received)


def test_it_is_smooth(shared: int) -> None:
    """Over any two seconds after the first few it is near the limit, with bodies of all sizes."""
    node = Node(shared, 2, random.Random(3))
    node.run(60)
    for second in range(5, 57):
        got = sum(size for at, size in node.times if second <= at < second + 2)
        assert 0.5 * LIMIT < got / 2 < 1.5 * LIMIT, second


def test_what_one_engine_leaves_others_use(shared: int) -> None:
    node = Node(shared, 4, random.Random(4), busy=1)
    node.run(60)
    assert node.received[0] / 60 > 0.9 * LIMIT


def test_a_large_body_is_paid_for_afterwards(shared: int) -> None:
    account = Bandwidth(LIMIT, shared, 0, lambda: (0, 0))
    assert account.visits(1.0, 8) == 0  # nothing was saved up
    assert account.visits(2.0, 8) >= 1
    account.note(answered(5_000_000))
    assert account.visits(2.1, 8) == 0
    assert 4.0 < account.opens_in(2.1) < 5.0
    assert account.visits(8.0, 8) >= 1 and account.opens_in(8.0) == 0.0


def test_a_long_pause_saves_nothing_up(shared: int) -> None:
    account = Bandwidth(LIMIT, shared, 0, lambda: (0, 0))
    account.visits(1.0, 8)
    account.visits(1000.0, 8)
    account.note(answered(int(BURST * LIMIT) + 20_000))
    assert account.visits(1000.01, 8) == 0
    assert account.opens_in(1000.01) == pytest.approx(SHORTEST)


def test_an_engine_that_is_replaced_goes_on_with_its_account(shared: int) -> None:
    first = Bandwidth(LIMIT, shared, 1, lambda: (0, 0))
    other = Bandwidth(LIMIT, shared, 0, lambda: (0, 0))
    first.note(answered(10_000_000))
    assert first.visits(1.0, 8) == other.visits(1.0, 8) == 0
    second = Bandwidth(LIMIT, shared, 1, lambda: (0, 0))
    second.visits(2.0, 8)
    assert second.visits(3.0, 8) > 0  # it owes nothing, and what it receives counts for the other
    assert other.visits(3.0, 8) == 0


def test_handshakes_count(shared: int) -> None:
    account = Bandwidth(LIMIT, shared, 0, lambda: (0, 0))
    secure = Response(made_request("https://a.test/"), status=200, body=b"x" * 100)
    secure.connects = 2
    account.note(secure)
    assert account._received == 100 + 2 * HANDSHAKE


def test_without_a_limit_there_is_none() -> None:
    account = Bandwidth(0, -1, 0, lambda: (0, 0))
    account.note(answered(10**6))
    account.begun(8)
    assert account.visits(1.0, 8) == 8 and account.opens_in(1.0) == 0.0


def test_it_costs_little(shared: int) -> None:
    account = Bandwidth(LIMIT, shared, 0, lambda: (5, 0))
    response, now = answered(1000), iter(range(1, 10**9))

    def pages() -> None:
        for _ in range(1000):
            account.note(response)
            account.visits(next(now) * 0.001, 8)
            account.begun(1)
            account.opens_in(1.0)

    cost = cpu_seconds(pages) / 1000
    print(f"{cost * 1e6:.2f} µs a page")
    assert cost < 10e-6
