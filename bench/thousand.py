"""A model of a thousand engines on one server: what is full first, and how far to trust it.

    python bench/thousand.py
    python bench/thousand.py --cores 32 --engines 10 100 1000 3000 --pages-a-second 11574

Nothing is measured here: the model takes the figures of docs/performance.md (`capacity/inputs.py`
has the table) and plays engines against a machine event by event (`capacity/queueing.py`). The
first table predicts what `bench/frontier.py` measured with 1, 2 and 4 engines on two cores. The
second has a server of its own and engines on machines of theirs: each exchanges once a second, a
commit with all pages since the last one and a lease of as many domains. The third computes how
many engines fill each part of the server.

What it leaves out: waits for locks inside PostgreSQL (an engine writes its own row of `engines`,
and a lease skips rows of `ready` that another has locked), vacuum (the cores that are left free are
for it), the network, and that the measured figures are of 10 M URLs at most.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from capacity.inputs import (
    CRAWL,
    DRIVEN,
    EXCHANGES,
    HARDWARE,
    SERVER,
    SESSION,
)
from capacity.queueing import CPU, DONE, GIVE, TAKE, WAIT, Machine, Step

US = 1e-6
BATCH = 500  # pages of a commit of bench/frontier.py
PERIOD = 1.0  # seconds between two exchanges of an engine
SIBLINGS = "SQLite 1 M", 2  # the case that tells what two cores of one physical core do together
MANY = 100  # engines for which exchanges were measured; more made them no dearer
MOST_WAITING = 8_000  # pages: 64 MB of text, with which an engine waits for the store
SECONDS = 60.0  # that are played


# -- what was measured, predicted ---------------------------------------------------------------


def two_cores(together: float) -> Callable[[int], float]:
    """Two that are siblings of one physical core."""
    return lambda wanted: min(wanted, 1) if wanted < 2 else together


def driven(store: str, making: float) -> Iterator[Step]:
    """An engine of bench/frontier.py: it makes pages up, commits, and begins anew."""
    found = {name: figure.value * US * BATCH for name, figure in DRIVEN[store, 1].items()}
    lock, lock_cpu = found.get("lock", 0.0), found.get("lock cpu", 0.0)
    while True:
        yield CPU, making * BATCH + found["client"] - lock_cpu
        yield TAKE, 0.0
        yield CPU, lock_cpu
        yield WAIT, lock - lock_cpu
        yield GIVE, 0.0
        yield CPU, found.get("server", 0.0)
        yield DONE, BATCH


def rate_of(store: str, engines: int, making: float, together: float) -> float:
    """Pages a second of so many engines on two cores."""
    machine = Machine(two_cores(together))
    offsets = (n / 7 for n in range(engines))  # they do not begin together
    machine.run(
        [itertools.chain([(WAIT, at)], driven(store, making)) for at in offsets], seconds=300
    )
    return machine.pages / machine.now


def making_of(store: str) -> float:
    """What is not the store's in a page of bench/frontier.py, from the run of one engine."""
    found = {name: figure.value for name, figure in DRIVEN[store, 1].items()}
    off_cpu = found.get("lock", 0.0) - found.get("lock cpu", 0.0)
    rest = 1e6 / found["pages/s"] - found["client"] - found.get("server", 0.0) - off_cpu
    return rest * US


def together_of() -> float:
    """What two sibling cores do together, so that the case SIBLINGS comes out as measured."""
    store, engines = SIBLINGS
    low, high, making = 1.0, 2.0, making_of(store)
    for _ in range(12):
        middle = (low + high) / 2
        if rate_of(store, engines, making, middle) < DRIVEN[SIBLINGS]["pages/s"].value:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def compare() -> list[tuple[str, int, float, float]]:
    """Store, engines, pages a second as measured and as predicted, where nothing was fitted."""
    together, found = together_of(), []
    for (store, engines), figures in DRIVEN.items():
        if engines > 1 and (store, engines) != SIBLINGS:
            predicted = rate_of(store, engines, making_of(store), together)
            found.append((store, engines, figures["pages/s"].value, predicted))
    return found


# -- many engines, one server -------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """What an exchange costs a server of so many engines, in seconds of CPU."""

    fixed: float
    page: float

    @staticmethod
    def of(engines: int, state: str) -> Costs:
        """`fixed` grows with engines as it did up to MANY, and by what each adds for all others; a
        page costs what the frontier's table says for that state of the caches, less the part of a
        batch of BATCH that is fixed."""
        few, many = (_fixed(count) for count in (1, MANY))
        fixed = few + (many - few) * min(1.0, (engines - 1) / (MANY - 1))
        fixed += HARDWARE["engine's row"].value * US * engines
        page = SERVER[state]["server"].value * US - few / BATCH
        return Costs(fixed, page)


def _fixed(engines: int) -> float:
    """Of an exchange with pages, as if it had none: a line through two measured points."""
    small, large = (EXCHANGES[engines, pages].value * US for pages in (5, 100))
    return small - 5 * (large - small) / 95


class Server(Machine):
    """A machine that notes how long each exchange took."""

    def __init__(self, cores: int) -> None:
        super().__init__(lambda wanted: min(wanted, cores))
        self.answers: list[float] = []


def exchanging(costs: Costs, rate: float, server: Server, at: float) -> Iterator[Step]:
    """An engine that fetches so many pages a second, and its exchanges."""
    chance, last = Random(round(at * 1e6)), at - PERIOD
    yield WAIT, at
    while True:
        begun = server.now
        pages = min(MOST_WAITING, rate * (begun - last) * chance.uniform(0.5, 1.5))
        last = begun
        yield CPU, costs.fixed + costs.page * pages
        server.answers.append(server.now - begun)
        yield DONE, pages
        yield WAIT, max(0.0, begun + PERIOD - server.now)


@dataclass(frozen=True)
class Row:
    """What so many engines make of a server."""

    engines: int
    offered: float  # pages a second
    pages: float
    busy: float  # share of all cores
    half: float  # seconds that half of the exchanges took at most
    most: float  # and 99 of 100


def play(engines: int, rate: float, state: str, cores: int) -> Row:
    server, costs = Server(cores), Costs.of(engines, state)
    chance = Random(engines)
    starts = [chance.random() * PERIOD for _ in range(engines)]
    server.run([exchanging(costs, rate, server, at) for at in starts], SECONDS)
    pages, busy, begun = server.pages, server.busy, server.now  # by then it is in its stride
    server.answers.clear()
    server.go_on(2 * SECONDS)
    seconds, answers = server.now - begun, sorted(server.answers) or [0.0]
    half, most = (answers[int(len(answers) * share)] for share in (0.5, 0.99))
    pages, busy = (server.pages - pages) / seconds, (server.busy - busy) / seconds / cores
    return Row(engines, engines * rate, pages, busy, half, most)


def full_speed() -> float:
    """Pages a second of an engine with a core of its own, over https."""
    return 1e6 / CRAWL["https"].value


def limits(state: str, rate: float, cores: int, memory_gb: float) -> list[tuple[str, float]]:
    """How many engines fill each part of a server, each with so many pages a second."""
    server, many = SERVER[state], 1
    usable = cores * HARDWARE["busy cores"].value
    while many < 1_000_000:
        costs = Costs.of(many, state)
        if many * (costs.fixed / PERIOD + costs.page * rate) > usable:
            break
        many += max(1, many // 100)
    disk = HARDWARE["disk write"].value * 1000
    reads = server["reads"].value if "reads" in server else 0.0
    return [
        ("CPU", many),
        ("disk, bytes written", disk / server["written"].value / rate),
        ("disk, reads", HARDWARE["disk reads"].value / reads / rate if reads else float("inf")),
        ("flushes of the log, one by one", 1000 / HARDWARE["flush"].value * PERIOD),
        ("memory of sessions", memory_gb * 1000 / 4 / SESSION.value),
    ]


# -- printed ------------------------------------------------------------------------------------


def show_comparison() -> None:
    print(
        "what was measured on two sibling cores, and what the model says (fitted: one engine of"
        f"\neach store, and {SIBLINGS[0]} with {SIBLINGS[1]} engines: the two cores do the work of"
        f" {together_of():.2f})"
    )
    for store, engines, measured, predicted in compare():
        print(
            f"  {store:15} {engines} engines: measured {measured:5,.0f} pages/s, predicted"
            f" {predicted:5,.0f}: {predicted / measured:.2f}"
        )


def show_table(counts: list[int], state: str, cores: int, rates: Callable[[int], float]) -> None:
    print("  engines  pages/s wanted  pages/s  CPU busy  an exchange: half  99 of 100")
    for count in counts:
        row = play(count, rates(count), state, cores)
        print(
            f"  {row.engines:7,} {row.offered:14,.0f} {row.pages:9,.0f} {row.busy:8.0%}"
            f" {row.half * 1000:14,.1f} ms {row.most * 1000:8,.1f} ms"
        )


def show_limits(rate: float, cores: int, memory_gb: float) -> None:
    for state in SERVER:
        found = sorted(limits(state, rate, cores, memory_gb), key=lambda each: each[1])
        parts = [f"{name} {count:,.0f}" for name, count in found if count < 1e6]
        print(f"  {state + ':':20} {'; '.join(parts)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", type=int, nargs="+", default=[1, 16, 100, 250, 1000])
    parser.add_argument("--cores", type=int, default=16, help="of the server")
    parser.add_argument("--memory", type=float, default=128, help="of the server, GB")
    parser.add_argument("--pages-a-second", type=float, default=1e9 / 86_400, help="of all engines")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.engines = [1, 10]
    return args


def main() -> None:
    args = arguments()
    show_comparison()
    shared = args.pages_a_second
    where = f"a server of {args.cores} cores, 10 M URLs"
    for state in ("warm", "cold"):
        print(f"{where}, {state}; together {shared:,.0f} pages/s, as politeness may allow:")
        show_table(args.engines, state, args.cores, lambda count: min(full_speed(), shared / count))
    print(f"{where}, warm; each engine at full speed, {full_speed():.0f} pages/s:")
    show_table(args.engines, "warm", args.cores, lambda count: full_speed())
    print("engines at full speed that fill each part of the server, the first to be full first:")
    show_limits(full_speed(), args.cores, args.memory)
    print(f"the same with {shared / 1000:.1f} pages/s an engine:")
    show_limits(shared / 1000, args.cores, args.memory)
    lock = DRIVEN["SQLite 10 M", 1]["lock"].value
    print(
        f"on SQLite the write lock is first: held {lock:.0f} us a page, full at"
        f" {1e6 / lock:,.0f} pages/s, which {1e6 / lock / full_speed():.1f} engines at full speed"
        " bring"
    )


if __name__ == "__main__":
    main()
