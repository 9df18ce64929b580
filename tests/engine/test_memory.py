"""Memory ends: every cache is bounded, cycles are found a few objects at a time, none is left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from lycosa.engine import harvest, loop
from lycosa.engine.errands import KEPT as SHARED_KEPT
from lycosa.engine.memory import EASY, YOUNG
from lycosa.engine.scheduler import RECENT, Scheduler
from lycosa.engine.sent_links import SentLinks
from lycosa.fetch.addresses import Allowed, SharedAddresses, public
from lycosa.fetch.dns import Answer, Resolver
from lycosa.fetch.poller import Poller
from lycosa.metrics import Rates, Stats
from lycosa.urls import domains
from lycosa.urls.links import LinkResolver
from lycosa.urls.scope import Scope, ScopeRules
from support.made import lease, queued

MANY = 300_000


def names() -> tuple[int, int]:
    most = getattr(loop, "NAMES", 200_000)
    resolver = Resolver(Poller(), ["127.0.0.1:9"], lambda: 0.0, cache_entries=most)
    for number in range(most + 1000):
        resolver.remember(f"h{number}.test", Answer(("127.0.0.1",)), 60.0)
    return len(resolver._cache), 50_000


def links() -> tuple[int, int]:
    resolver = LinkResolver(getattr(harvest, "LINKS", 100_000))
    for number in range(3000):
        base = f"http://h{number}.test/"
        resolver.resolve([f"http://o{number}.test/{n}?a&b" for n in range(60)], base)
    return len(resolver), 60_000


def hosts_of_scope() -> tuple[int, int]:
    scope = Scope(ScopeRules(exclude=("bad.test",)))
    for number in range(120_000):
        scope.host_by_shape(f"h{number}.test", 0, True)
    return len(scope._exclusions._known_hosts), 50_000


def places() -> tuple[int, int]:
    for number in range(150_000):
        domains.place_of_origin(f"http://h{number}.test")
    return (
        domains._place.cache_info().currsize + domains.place_of_origin.cache_info().currsize,
        1 << 17,
    )


def addresses() -> tuple[int, int]:
    allowed, shared = Allowed(False, ()), SharedAddresses(())
    for number in range(100_000):
        address = f"11.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        allowed(address)
        shared.exempt(address)
    return max(public.cache_info().currsize, shared._look.cache_info().currsize), 65_536


def sent_links() -> tuple[int, int]:
    sent = SentLinks()
    for number in range(MANY):
        sent.add(number * 7919)
    return sent.slots.itemsize * len(sent.slots), 8 << 20


def done_urls() -> tuple[int, int]:
    scheduler = Scheduler(70.0, 10)
    scheduler.add([lease("a.test", [queued("http://a.test/")], ident=1)], 1, 0.0, 0)
    held = scheduler.held[1]
    for number in range(MANY):
        held.remember(number)
    return len(held.recent), RECENT


def samples() -> tuple[int, int]:
    rates = Rates(window=10.0)
    for second in range(10_000):
        rates.add(second * 0.5, Stats(pages=second))
    return len(rates._samples), 25


@pytest.mark.parametrize(
    "fill",
    [names, links, hosts_of_scope, places, addresses, sent_links, done_urls, samples],
)
def test_every_cache_ends(fill: Callable[[], tuple[int, int]]) -> None:
    size, most = fill()
    assert 0 < size <= most


def test_shared_answers_are_few() -> None:
    assert SHARED_KEPT * 500 * 1024 <= 32 << 20


COLLECTING = """
import gc, sys, time, weakref
try:
    from lycosa.engine.memory import Collector
except ImportError:  # an engine that leaves it to the interpreter
    class Collector:
        def __init__(self):
            gc.collect()
            gc.freeze()
            gc.set_threshold(300_000, 50, 100)

        def turn(self):
            pass

class Thing:
    pass

def cycle():
    one, two = Thing(), Thing()
    one.other, two.other = two, one
    return weakref.ref(one)

kept = [[] for _ in range(300_000)]  # an engine that holds much
collector = Collector()
longest, lost, begun, most = 0.0, [], 0.0, 0

def watch(phase, info):
    global longest, begun, most
    if phase == "start":
        most = max(most, gc.get_count()[0])
        begun = time.thread_time()
    else:
        longest = max(longest, time.thread_time() - begun)

gc.callbacks.append(watch)
def turns(faulty):
    for turn in range(400):
        global kept
        kept += [[number] for number in range(1500)]
        if faulty:
            lost.append(cycle())
        looked.append(collector.turn())

looked = []
turns(faulty=False)  # nothing to find: most looks are left out
looks = sum(looked)
turns(faulty=True)
alive = sum(ref() is not None for ref in lost)
print(longest * 1000, alive, most, looks)
"""


def test_looking_for_cycles_never_holds_the_loop() -> None:
    """With a million objects held, each look is at a few thousand new ones; once one has found
    something, all that is lost is found."""
    done = subprocess.run([sys.executable, "-c", COLLECTING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    longest, alive, most, looks = map(float, done.stdout.split())
    assert longest < 50, f"{longest} ms"
    assert 0 < looks <= 400 * 1500 / YOUNG / EASY + 1, "of those that found nothing"
    assert alive <= 10 + EASY * (YOUNG / 1500 + 1), "those before the first was found"
    assert most <= 10_000, "objects that one look went through"


def test_the_store_thread_shares_the_loops_heap() -> None:
    """Where glibc says how many heaps there are, there is one."""
    code = (
        "import sys, threading; from lycosa.engine.memory import share_heap; share_heap();"
        "t = threading.Thread(target=lambda: bytes(100_000) * 3); t.start(); t.join();"
        "import ctypes; ctypes.CDLL(None).malloc_stats()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count("Arena ") <= 1
