"""Which domain is visited next, and which is kept."""

from __future__ import annotations

import random

import pytest

from lycosa.engine.scheduler import Scheduler
from lycosa.engine.store_clock import StoreClock
from lycosa.records import Lease, Origin
from support.made import lease as made_lease
from support.made import queued

NOW_MS = 1_800_000_000_000
CLOCK = StoreClock(NOW_MS)


def lease(number: int, ready_in: float = 0.0, urls: int = 2, rules: int = 0) -> Lease:
    found = [queued(f"https://d{number}.test/{n}", order=n) for n in range(urls)]
    origins = [Origin(f"https://d{number}.test", 1, 200, b"r" * rules)] if rules else []
    ready = NOW_MS + round(ready_in * 1000)
    return made_lease(f"d{number}.test", found, ident=number, ready_ms=ready, origins=origins)


def scheduler(*leases: Lease, fetches: int = 10, asked: int = 100) -> Scheduler:
    made = Scheduler(70.0, fetches)
    made.add(leases, asked, 0.0, NOW_MS)
    return made


def test_no_domain_before_its_time_and_the_earliest_first() -> None:
    made = scheduler(lease(1, 5.0), lease(2, 1.0), lease(3, 3.0))
    assert made.next(0.9) is None
    assert made.next_time() == 1.0
    order = [made.next(10.0) for _ in range(3)]
    assert [held.id for held in order if held] == [2, 3, 1]
    assert made.next(10.0) is None


def test_a_domain_occupies_at_most_one_slot() -> None:
    """Bursts of one domain can't fill the fetches: it comes once until its visit has ended."""
    made = scheduler(lease(1, urls=8))
    held = made.next(0.0)
    assert held is not None
    assert made.next(1e9) is None
    made.visited(held, 5.0, 75.0)
    assert made.next(74.9) is None
    assert made.next(75.0) is held


def test_a_visited_domain_is_kept_while_nobody_waits() -> None:
    made = scheduler(lease(1))
    held = made.next(0.0)
    assert held is not None
    made.visited(held, 1.0, 71.0)
    assert made.take_leaving(CLOCK) == []


def test_a_visited_domain_is_given_back_while_others_wait() -> None:
    made = scheduler(lease(1), lease(2), asked=2)
    held = made.next(0.0)
    assert held is not None
    made.visited(held, 1.0, 71.0)
    (release,) = made.take_leaving(CLOCK)
    assert release.domain_id == held.id
    assert release.polite_ms >= NOW_MS + 71_000
    assert held.id not in made.held


def test_one_that_has_plenty_shares_with_one_that_has_little() -> None:
    made = scheduler(*(lease(n) for n in range(20)))
    made.least_held = 6  # half of twenty, but for the spare ones
    first = made.next(0.0)
    assert first is not None
    made.visited(first, 1.0, 71.0)
    assert made.take_leaving(CLOCK) == []
    made.least_held = 1
    second = made.next(1.0)
    assert second is not None
    made.visited(second, 2.0, 72.0)
    assert [each.domain_id for each in made.take_leaving(CLOCK)] == [second.id]
    assert made.domains_to_ask_for(2.0, 0.0) == 0


def test_an_engine_that_stops_gives_its_domains_back_in_several_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lycosa.engine.scheduler.LEAVE_MOST", 8)
    made = scheduler(*(lease(n) for n in range(1, 21)))
    made.give_back_all()
    groups = []
    while made.held:
        assert made.many_leaving == (len(made.held) > 8)
        groups.append([release.domain_id for release in made.take_leaving(CLOCK)])
    assert list(map(len, groups)) == [8, 8, 4]
    assert sorted(each for group in groups for each in group) == list(range(1, 21))
    assert made.take_leaving(CLOCK) == [] and not made.many_leaving


def test_long_waits_and_heavy_rules_are_not_kept_in_memory() -> None:
    made = scheduler(lease(1), lease(2, rules=20_000))
    one, two = made.next(0.0), made.next(0.0)
    assert one is not None and two is not None
    made.visited(one, 1.0, 1000.0)
    made.visited(two, 1.0, 71.0)
    assert {release.domain_id for release in made.take_leaving(CLOCK)} == {one.id, two.id}


def test_an_empty_run_asks_for_a_refill_and_leaves_if_there_is_none() -> None:
    made = scheduler(lease(1), lease(2))
    for _ in range(2):
        held = made.next(0.0)
        assert held is not None
        held.run.clear()
        made.visited(held, 1.0, 71.0)
    assert sorted(made.to_refill()) == [1, 2]
    made.refilled({1: [queued("https://d1.test/9", order=9)], 2: []})
    assert made.to_refill() == []
    assert [release.domain_id for release in made.take_leaving(CLOCK)] == [2]
    assert made.next(71.0) is not None


def test_wanted_is_bounded_by_free_slots_and_what_is_ready() -> None:
    made = scheduler(*(lease(n) for n in range(6)), fetches=10)
    assert made.domains_to_ask_for(0.0, 0.0) == 4
    for _ in range(6):
        made.next(0.0)
    assert made.domains_to_ask_for(0.0, 0.0) == 4
    made.rate = 100.0  # until the answer to the next question, and as much again
    assert made.domains_to_ask_for(0.0, 0.0) == 4 + 200
    assert made.domains_to_ask_for(0.0, 0.5) == 4 + 300
    made.rate = 1e9
    assert made.domains_to_ask_for(0.0, 0.0) == 1000


def test_a_slow_store_is_asked_for_what_is_visited_until_it_answers_up_to_a_limit() -> None:
    made = scheduler(fetches=10)
    made.rate = 450.0
    assert made.domains_to_ask_for(0.0, 2.3) >= 450 * (1.0 + 2.3)  # not 1,000, as from a quick one
    made.rate = 1e9
    assert made.domains_to_ask_for(0.0, 0.5) == 1500
    assert made.domains_to_ask_for(0.0, 60.0) == 2000


def test_stopping_gives_everything_back_but_what_is_visited() -> None:
    made = scheduler(lease(1), lease(2, 50.0), lease(3, urls=0))
    held = made.next(0.0)
    assert held is not None
    made.give_back_all()
    assert {release.domain_id for release in made.take_leaving(CLOCK)} == {2, 3}
    made.visited(held, 1.0, 71.0)
    made.give_back_all()
    assert {release.domain_id for release in made.take_leaving(CLOCK)} == {1}


def test_random_histories_keep_every_domain_in_one_place() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        made = scheduler(fetches=5)
        now, number, visiting = 0.0, 0, []
        for _ in range(300):
            now += chance.random()
            act = chance.random()
            if act < 0.2:
                number += 1
                new = lease(number, chance.random() * 5, chance.randrange(3))
                made.add([new], chance.choice([1, 9]), now, NOW_MS + round(now * 1000))
            elif act < 0.6 and made.visiting < 5 and (held := made.next(now)):
                assert held.ready <= now + 0.002, f"seed {seed}"
                if held.run:
                    held.run.pop(0)
                visiting.append(held)
            elif act < 0.8 and visiting:
                made.visited(visiting.pop(), now, now + 70)
            elif act < 0.9:
                made.refilled({ident: [] for ident in made.to_refill()})
            else:
                made.take_leaving(CLOCK)
            assert made.visiting == len(visiting)
        made.refilled({ident: [] for ident in made.to_refill()})
        made.give_back_all()
        made.take_leaving(CLOCK)
        assert set(made.held) == {held.id for held in visiting}, f"seed {seed}"


def test_what_is_due_but_not_started_is_no_reason_to_look_again_at_once() -> None:
    """With all slots taken, an engine that asked when to wake would never sleep."""
    made = scheduler(lease(1), lease(2, 1.0), lease(3, 9.0), fetches=1)
    assert made.next(0.0) is not None
    made.move_due(5.0)
    assert made.next_time() == 9.0
    assert made.ready_count == 1
