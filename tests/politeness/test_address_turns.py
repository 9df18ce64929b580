"""Turns at an address: never two visits at once, a pause between them, everybody gets one."""

from __future__ import annotations

import heapq
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from lycosa.engine.address_table import SharedTable, memory
from lycosa.politeness.address_turns import NOWHERE, AddressTable, AddressTurns, OwnTable


def made(shared: bool, free_from: float = 0.0) -> AddressTable:
    return SharedTable(memory(free_from)) if shared else OwnTable(free_from)


class Shy:
    """A table that another engine looks at now and then."""

    def __init__(self, table: AddressTable, dice: random.Random) -> None:
        self._table, self._dice = table, dice

    def take(self, address: str) -> tuple[float, float] | None:
        return None if self._dice.random() < 0.2 else self._table.take(address)

    def put(self, address: str, next_turn: float, busy_until: float) -> None:
        self._table.put(address, next_turn, busy_until)

    def prune(self, now: float) -> None:
        self._table.prune(now)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_visits_never_overlap_and_everybody_gets_a_turn(seed: int, shared: bool) -> None:
    dice = random.Random(seed)
    table = made(shared)
    pause, count = dice.choice((0.01, 0.1, 1.0)), 200
    engines = [AddressTurns(pause, 90.0, Shy(table, dice)) for _ in range(dice.choice((1, 2, 5)))]
    events = [(1000 + dice.random(), n, "ask", NOWHERE) for n in range(count)]
    heapq.heapify(events)
    visits: list[tuple[float, float]] = []
    asked = 0
    while events:
        now, n, what, place = heapq.heappop(events)
        mine = engines[n % len(engines)]
        asked += 1
        if what == "end":
            if not mine.over("192.0.2.1", now):
                heapq.heappush(events, (now + 0.001, n, "end", NOWHERE))
            continue
        again, place = mine.ask("192.0.2.1", place, now)
        if again:
            assert again > now
            heapq.heappush(events, (again, n, "ask", place))
        else:
            visits.append((now, now + dice.expovariate(1 / pause)))
            heapq.heappush(events, (visits[-1][1], n, "end", NOWHERE))
    assert len(visits) == count
    visits.sort()
    gaps = [start - end for (_, end), (start, _) in pairwise(visits)]
    assert min(gaps) >= pause - 1e-6
    assert asked < 40 * count, "they do not ask all the time"
    took = visits[-1][1] - visits[0][0]
    assert took < 3 * sum(end - start + pause for start, end in visits), "and no turn is wasted"
    assert not any(each.crowded() for each in engines)


def test_those_who_wait_are_counted_by_address() -> None:
    turns = AddressTurns(1.0, 90.0, OwnTable())
    for n in range(5):
        turns.ask("192.0.2.1", NOWHERE, 1000.0 + n / 100)
    turns.ask("192.0.2.2", NOWHERE, 1000.0)
    turns.ask("192.0.2.2", NOWHERE, 1000.0)
    assert turns.crowded() == {"192.0.2.1": 4, "192.0.2.2": 1}


def test_an_engine_that_died_holds_an_address_no_longer_than_a_visit() -> None:
    table = OwnTable()
    assert AddressTurns(1.0, 90.0, table).ask("192.0.2.1", NOWHERE, 1000.0)[0] == 0.0
    other = AddressTurns(1.0, 90.0, table)
    when, place = other.ask("192.0.2.1", NOWHERE, 1001.0)
    while when:
        last = when
        when, place = other.ask("192.0.2.1", place, when)
    assert last == 1090.0


@pytest.mark.parametrize("shared", [False, True])
def test_what_was_visited_before_is_not_known_so_everybody_waits(shared: bool) -> None:
    """After a restart, or the death of an engine whose table died with it."""
    turns = AddressTurns(5.0, 90.0, made(shared, free_from=1005.0))
    when, place = turns.ask("192.0.2.1", NOWHERE, 1000.0)
    assert when == 1005.0
    assert turns.ask("192.0.2.1", place, when)[0] == 0.0
    assert turns.ask("192.0.2.2", NOWHERE, 1005.0)[0] == 0.0


ENGINE = """
import random, sys, time
from lycosa.clock import engine_now
from lycosa.engine.address_table import SharedTable
from lycosa.politeness.address_turns import AddressTurns
turns = AddressTurns(0.01, 90.0, SharedTable(int(sys.argv[1])))
for _ in range(15):
    again, place = turns.ask("192.0.2.1", 0, engine_now())
    while again:
        time.sleep(max(0.0, again - engine_now()))
        again, place = turns.ask("192.0.2.1", place, engine_now())
    start = engine_now()
    time.sleep(random.uniform(0, 0.01))
    end = engine_now()
    print(start, end)
    while not turns.over("192.0.2.1", end):
        pass
"""


def test_processes_share_a_table() -> None:
    fd = memory(0.0)
    command = [sys.executable, "-c", ENGINE, str(fd)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=(fd,))
        for _ in range(4)
    ]
    lines = [line for each in running for line in each.communicate(timeout=60)[0].splitlines()]
    visits = sorted(tuple(map(float, line.split())) for line in lines)
    assert len(visits) == 60
    gaps = [start - end for (_, end), (start, _) in pairwise(visits)]
    assert min(gaps) >= 0.01


def test_a_visit_that_ends_late_does_not_end_the_one_after_it() -> None:
    """Its engine was stopped for longer than a visit may take, and another took its turn."""
    table = OwnTable()
    stopped, other, third = (AddressTurns(1.0, 90.0, table) for _ in range(3))
    assert stopped.ask("192.0.2.1", NOWHERE, 1000.0)[0] == 0.0
    assert other.ask("192.0.2.1", NOWHERE, 1100.0)[0] == 0.0
    assert stopped.over("192.0.2.1", 1101.0)
    assert third.ask("192.0.2.1", NOWHERE, 1110.0)[0] > 0.0
    assert other.over("192.0.2.1", 1120.0)
    assert not third.begin("192.0.2.1", 1120.9)
