"""Names to addresses against a real DNS server on loopback; also the poller beneath it."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from lycosa.clock import engine_now
from lycosa.errors import UserError
from lycosa.fetch import dns
from lycosa.fetch.dns import Answer, Resolver
from lycosa.fetch.poller import Poller
from lycosa.records import Failure
from support.dns_server import AAAA, REFUSED, SERVFAIL, A
from support.loop import Lookups


class Bench(Lookups):
    """Asks for one name after the other."""

    def ask(self, resolver: Resolver, host: str) -> Answer:
        got: list[Answer] = []
        resolver.resolve(host, got.append)
        self.until(lambda: got)
        assert len(got) == 1
        return got[0]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_an_address_is_found_and_kept(bench: Bench) -> None:
    bench.server.add("a.test", "192.0.2.1", "192.0.2.2", ttl=300)
    resolver = bench.resolver()
    assert bench.ask(resolver, "a.test") == Answer(("192.0.2.1", "192.0.2.2"))
    assert resolver.pending == 0
    again: list[Answer] = []
    resolver.resolve("a.test", again.append)
    assert again == [Answer(("192.0.2.1", "192.0.2.2"))]
    assert bench.server.queries["a.test", A] == 1


def test_an_alias_is_followed(bench: Bench) -> None:
    bench.server.add("www.test", "192.0.2.3", cname="edge.cdn.test")
    assert bench.ask(bench.resolver(), "www.test").addresses == ("192.0.2.3",)


@pytest.mark.parametrize(
    ("ttl", "kept", "gone"), [(0, 59.0, 61.0), (300, 299.0, 301.0), (86_400, 3_599.0, 3_601.0)]
)
def test_lifetimes_are_clamped(bench: Bench, ttl: int, kept: float, gone: float) -> None:
    bench.server.add("a.test", "192.0.2.1", ttl=ttl)
    resolver = bench.resolver()
    bench.ask(resolver, "a.test")
    bench.clock.ahead = kept - 0.5
    assert resolver.cached("a.test") is not None
    bench.clock.ahead = gone
    assert resolver.cached("a.test") is None


def test_absence_is_kept_for_a_minute(bench: Bench) -> None:
    bench.server.add("empty.test")
    resolver = bench.resolver()
    for host, failure in (("no.test", Failure.NXDOMAIN), ("empty.test", Failure.DNS)):
        assert bench.ask(resolver, host) == Answer((), failure)
        assert resolver.cached(host) == Answer((), failure)
    bench.clock.ahead = 61
    assert resolver.cached("no.test") is None and resolver.cached("empty.test") is None


@pytest.mark.parametrize("rcode", [SERVFAIL, REFUSED])
def test_trouble_is_soon_forgotten(bench: Bench, rcode: int) -> None:
    bench.server.add("bad.test", rcode=rcode)
    resolver = bench.resolver()
    assert bench.ask(resolver, "bad.test") == Answer((), Failure.DNS)
    bench.clock.ahead = 6
    bench.server.add("bad.test", "192.0.2.1")
    assert bench.ask(resolver, "bad.test") == Answer(("192.0.2.1",))


def test_ipv6_only_when_there_is_no_ipv4(bench: Bench) -> None:
    bench.server.add("six.test", "2001:db8::6")
    bench.server.add("both.test", "192.0.2.1", "2001:db8::6")
    bench.server.add("none.test")
    resolver = bench.resolver(ipv6=True)
    assert bench.ask(resolver, "six.test") == Answer(("2001:db8::6",))
    assert bench.ask(resolver, "both.test") == Answer(("192.0.2.1",))
    assert bench.ask(resolver, "none.test") == Answer((), Failure.DNS)
    assert bench.server.queries["both.test", AAAA] == 0
    assert bench.server.queries["none.test", AAAA] == 1
    assert bench.ask(bench.resolver(), "six.test") == Answer((), Failure.DNS)


def test_lookups_of_one_name_are_joined(bench: Bench) -> None:
    bench.server.add("a.test", "192.0.2.1", delay=0.05)
    resolver = bench.resolver()
    got: list[Answer] = []
    for _ in range(5):
        resolver.resolve("a.test", got.append)
    assert resolver.pending == 1 and not got
    bench.until(lambda: len(got) == 5)
    assert bench.server.queries["a.test", A] == 1


def test_truncated_replies_are_asked_again_over_tcp(bench: Bench) -> None:
    bench.server.add("big.test", "192.0.2.1", truncate=True)
    assert bench.ask(bench.resolver(), "big.test") == Answer(("192.0.2.1",))


def test_our_deadline_ends_a_silent_lookup(bench: Bench) -> None:
    bench.server.add("mute.test", "192.0.2.1", silent=True)
    resolver = bench.resolver()
    got: list[Answer] = []
    resolver.resolve("mute.test", got.append)
    bench.until(lambda: bench.server.queries["mute.test", A])
    assert not got
    bench.clock.ahead = 10.1
    bench.turn()
    assert got == [Answer((), Failure.DNS)] and resolver.pending == 0
    assert resolver.timeout() is None


def test_a_slow_name_among_fast_ones_is_not_given_up_early(bench: Bench) -> None:
    resolver = bench.resolver()
    for i in range(50):
        bench.server.add(f"f{i}.test", "192.0.2.1")
        bench.ask(resolver, f"f{i}.test")
    bench.server.add("slow.test", "192.0.2.1", delay=0.9)
    assert bench.ask(resolver, "slow.test") == Answer(("192.0.2.1",))


def test_a_late_reply_is_not_delivered_twice(bench: Bench) -> None:
    bench.server.add("late.test", "192.0.2.1", delay=0.2)
    resolver = bench.resolver()
    got: list[Answer] = []
    resolver.resolve("late.test", got.append)
    bench.clock.ahead = 11
    bench.turn()
    bench.clock.ahead = 0
    end = time.monotonic() + 0.4
    bench.until(lambda: time.monotonic() > end)
    assert got == [Answer((), Failure.DNS)]


BAD = ["a" * 64 + ".test", "a." * 130 + "test", "a..b", "a b.test", "", "ü.test", "a\0b", "a\\.b"]


@pytest.mark.parametrize("host", BAD)
def test_bad_names_are_answered_once(bench: Bench, host: str) -> None:
    resolver = bench.resolver()
    got: list[Answer] = []
    resolver.resolve(host, got.append)
    bench.turn()
    assert got == [Answer((), Failure.NXDOMAIN)] and resolver.pending == 0
    assert not bench.server.queries


PLAIN = [
    ("192.0.2.7", "192.0.2.7"),
    ("::1", "::1"),
    ("2001:DB8:0:0::1", "2001:db8::1"),
    ("localhost", "127.0.0.1"),
    ("a.b.localhost", "127.0.0.1"),
]


@pytest.mark.parametrize(("host", "address"), PLAIN)
def test_literals_and_local_names_are_not_asked(bench: Bench, host: str, address: str) -> None:
    assert bench.resolver().cached(host) == Answer((address,))


@pytest.mark.parametrize("host", ["2130706433", "127.1", "1.2.3.256", "a.1", "1::2::3"])
def test_numbers_that_are_no_address_do_not_exist(bench: Bench, host: str) -> None:
    assert bench.resolver().cached(host) == Answer((), Failure.NXDOMAIN)


def test_the_cache_is_bounded(bench: Bench) -> None:
    resolver = bench.resolver(cache_entries=10)
    for i in range(25):
        bench.server.add(f"h{i}.test", "192.0.2.1")
        bench.ask(resolver, f"h{i}.test")
    kept = [i for i in range(25) if resolver.cached(f"h{i}.test")]
    assert kept == list(range(15, 25))


def test_no_name_server_is_our_own_trouble(bench: Bench) -> None:
    bench.server.close()
    assert bench.ask(bench.resolver(), "a.test") == Answer((), Failure.NAMESERVER)


def test_a_name_server_must_be_an_address() -> None:
    poller = Poller()
    with pytest.raises(UserError):
        Resolver(poller, ["not an address"], engine_now)
    Resolver(poller, ["[::1]:5353"], engine_now).close()
    Resolver(poller, None, engine_now).close()
    poller.close()


def test_the_inner_cache_is_emptied_with_lookups_under_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns, "_REINIT_EVERY", 7)
    resolver = bench.resolver()
    got: list[Answer] = []
    for i in range(100):
        bench.server.add(f"h{i}.test", "192.0.2.1", delay=0.02)
        resolver.resolve(f"h{i}.test", got.append)
    bench.until(lambda: len(got) == 100)
    assert set(got) == {Answer(("192.0.2.1",))}


def test_a_burst_of_answers_is_handed_out_in_groups(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may begin a connection: a hundred at once would hold the loop. None of them is late."""
    monkeypatch.setattr(dns, "_DELIVER", 3)
    resolver = bench.resolver()
    got: list[Answer] = []
    for i in range(60):
        bench.server.add(f"h{i}.test", "192.0.2.1")
        resolver.resolve(f"h{i}.test", got.append)
    end = time.monotonic() + 10
    while bench.server.queries.total() < 60 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)  # until the replies are at the socket
    handed_out = []
    while len(got) < 60 and time.monotonic() < end:
        before = len(got)
        bench.turn()
        bench.clock.ahead = 60.0  # long past what a lookup may take
        handed_out.append(len(got) - before)
    assert max(handed_out) <= 6 and resolver.pending == 0, handed_out
    assert set(got) == {Answer(("192.0.2.1",))}


def test_an_asker_may_ask_again(bench: Bench) -> None:
    bench.server.add("b.test", "192.0.2.2")
    resolver = bench.resolver()
    got: list[Answer] = []
    resolver.resolve("no.test", lambda _: resolver.resolve("b.test", got.append))
    bench.until(lambda: got)
    assert got == [Answer(("192.0.2.2",))]


def test_close_calls_nobody_and_frees_everything(bench: Bench) -> None:
    before = len(os.listdir("/proc/self/fd"))
    bench.server.add("mute.test", silent=True)
    resolver = bench.resolver()
    got: list[Answer] = []
    for i in range(20):
        resolver.resolve("mute.test" if i == 0 else f"m{i}.mute.test", got.append)
    resolver.close()
    resolver.close()
    bench.until(lambda: len(os.listdir("/proc/self/fd")) <= before)
    assert not got and len(bench.poller) == 0


# The poller.


def test_events_of_a_forgotten_descriptor_reach_no_new_owner() -> None:
    poller = Poller()
    pairs = [socket.socketpair(), socket.socketpair()]
    spare = socket.socketpair()
    served: list[str] = []

    def first(fd: int, _events: int) -> None:
        """Closes the other pair's socket, whose number then belongs to a new one."""
        served.append("first")
        poller.forget(fd)
        other = next(a for a, _ in pairs if a.fileno() != fd)
        poller.forget(other.fileno())
        os.dup2(spare[0].fileno(), other.fileno())
        poller.watch(other.fileno(), True, False, lambda *_: served.append("new"))

    for near, far in pairs:
        far.send(b"x")
        poller.watch(near.fileno(), True, False, first)
    ready = poller.poll(1)
    assert len(ready) == 2
    poller.serve(ready)
    assert served == ["first"]
    spare[1].send(b"y")
    poller.serve(poller.poll(1))
    assert served == ["first", "new"]
    poller.close()
    for sock in (*pairs[0], *pairs[1], *spare):
        sock.close()


def test_a_descriptor_closed_unseen_can_be_watched_anew() -> None:
    poller = Poller()
    a, b = socket.socketpair()
    c, d = socket.socketpair()
    number = a.fileno()
    poller.watch(number, True, False, lambda *_: None)
    os.dup2(c.fileno(), number)  # closes the old socket behind the poller's back
    called: list[int] = []
    poller.watch(number, True, False, lambda fd, _e: called.append(fd))
    d.send(b"x")
    poller.serve(poller.poll(1))
    assert called == [number]
    poller.close()
    for sock in (a, b, c, d):
        sock.close()


def test_descriptors_that_cannot_be_polled_are_refused(tmp_path: object) -> None:
    poller = Poller()
    with open(f"{tmp_path}/plain", "w") as file, pytest.raises(OSError):
        poller.watch(file.fileno(), False, True, lambda *_: None)
    with pytest.raises(OSError):
        poller.watch(987_654, True, False, lambda *_: None)
    assert len(poller) == 0
    poller.forget(987_654)
    poller.close()


class FullEpoll:
    """An epoll whose kernel table has no room left."""

    def __init__(self) -> None:
        self._real = select.epoll()
        self._entries = 0

    def register(self, fd: int, mask: int) -> None:
        self._entries += 1
        if self._entries > 1:  # the wake-up pipe was let in
            raise OSError(errno.ENOSPC, "no room")
        self._real.register(fd, mask)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def test_without_room_in_the_kernel_sockets_are_still_served() -> None:
    poller = Poller(FullEpoll())  # type: ignore[arg-type]
    a, b = socket.socketpair()
    called: list[int] = []
    poller.watch(a.fileno(), True, False, lambda fd, _e: called.append(fd))
    assert poller.poll(None) == []  # looks again soon, though told to wait for ever
    b.send(b"x")
    poller.serve(poller.poll(None))
    assert called == [a.fileno()]
    poller.forget(a.fileno())
    poller.wake()
    assert poller.poll(None) == []
    poller.close()
    a.close()
    b.close()


def test_wake_from_another_thread() -> None:
    poller = Poller()
    threading.Timer(0.05, poller.wake).start()
    begun = time.monotonic()
    assert poller.poll(5) == []
    assert time.monotonic() - begun < 2
    for _ in range(100_000):  # more than the pipe holds
        poller.wake()
    poller.poll(0)
    assert select.select([poller._wake_read], [], [], 0)[0] == []
    poller.close()


def test_signals_end_a_poll() -> None:
    code = """if True:
        import os, signal, threading, time
        from lycosa.fetch.poller import Poller
        poller, seen = Poller(), []
        signal.signal(signal.SIGTERM, lambda *_: seen.append(time.monotonic()))
        signal.set_wakeup_fd(poller.wake_fd)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        begun = time.monotonic()
        poller.poll(10)
        print(bool(seen), time.monotonic() - begun < 3)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.stdout.strip(), done.stderr) == ("True True", "")
    assert done.returncode == 0 and signal.SIGTERM
