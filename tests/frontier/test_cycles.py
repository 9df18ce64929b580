"""What the store's verbs leave behind in memory: an engine looks for cycles among new objects only.

A cycle that lives a few seconds (an exchange's) may be found too late, and is then kept for ever.
"""

from __future__ import annotations

import gc

from conftest import Bench
from helpers import batch, release

from support.made import link, page_of

ROUNDS = 60


def exchanges(bench: Bench, engine_id: int, first: int) -> None:
    """What an engine does, again and again."""
    for number in range(first, first + ROUNDS):
        leases = bench.frontier.lease(engine_id, 5)
        found = [link(f"http://d{n}.test/{number}", 1) for n in range(20)]
        pages = [page_of(lease.urls[0]) for lease in leases]
        back = [release(lease, bench.clock.ms) for lease in leases]
        bench.frontier.commit(engine_id, batch(number, pages=pages, links=found, released=back))
        bench.frontier.refill([lease.domain_id for lease in leases])
        bench.frontier.watch()
        bench.clock.pass_seconds(1)


def test_exchanges_leave_no_cycles(bench: Bench) -> None:
    bench.frontier.add([link(f"http://d{n}.test/") for n in range(20)], rank=0)
    engine_id = bench.frontier.register("host", 1)
    exchanges(bench, engine_id, 1)  # what is made once is made
    gc.collect()
    gc.disable()
    try:
        exchanges(bench, engine_id, 1 + ROUNDS)
        lost = gc.collect()
    finally:
        gc.enable()
    assert lost <= ROUNDS / 2, f"{lost} objects in {ROUNDS} exchanges"
