"""Fetching over real sockets from servers that behave well, badly, slowly or not at all."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lycosa.fetch.fetcher import Fetcher, FetchLimits
from lycosa.records import Failure, Kind, Response, Truncated
from support.http_server import (
    Backlog,
    HttpServer,
    say,
    say_and_reset,
    say_and_wait,
    say_for_ever,
    self_signed,
)
from support.loop import AGENT, Loop, verdict
from support.malformed import HEAD, MALFORMED, OK, PAGE


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_page(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    request = loop.request(server.port)
    response = loop.get(fetcher, request)
    assert verdict(response) == ("", "", 200)
    assert response.body == PAGE and response.head == OK.removesuffix(PAGE)
    assert response.header(b"content-type") == "text/html"
    assert (response.address, response.connects) == ("127.0.0.1", 1)
    assert response.started <= response.ended <= loop.clock()
    wait = fetcher.timeout()
    assert wait is None or wait >= 0


ODD_TARGETS = [
    "/",
    "/?q",
    "/a/../b/./c",
    "/a/../b/./c%2e%3a%2F",
    "/a|b[c]~!$&'()*+,;=:@-._",
    "/p?x={y}|^`[]\\&z=%e4%F6'",
    "/a//b//?/?//",
    "/%00%20",
    "/;p=1?a=b;c",
]


@pytest.mark.parametrize("target", ODD_TARGETS)
def test_the_request_is_sent_as_it_is_recorded(loop: Loop, server: HttpServer, target: str) -> None:
    fetcher = loop.fetcher()
    request = loop.request(server.port, target, host="www.localhost")
    loop.get(fetcher, request)
    plain = loop.request(server.port, "/plain", host="www.localhost")
    loop.get(fetcher, plain)  # on the same handle, which must not remember the first target
    assert server.requests == [fetcher.request_head(request), fetcher.request_head(plain)]
    begin = f"GET {target} HTTP/1.1\r\nHost: www.localhost:{server.port}\r\n".encode()
    assert server.requests[0].startswith(begin) and AGENT.encode() in server.requests[0]


def test_default_ports_are_not_shown(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher(port_map={80: server.port})
    request = loop.request(80, "/", host="a.localhost")
    assert loop.get(fetcher, request).status == 200
    assert server.requests == [fetcher.request_head(request)]
    assert b"\r\nHost: a.localhost\r\n" in server.requests[0]


# Time.


def test_connect_limit(loop: Loop) -> None:
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    port = full.getsockname()[1]
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:  # fill the backlog: further connections get no answer
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
    time.sleep(0.05)
    fetcher = loop.fetcher(FetchLimits(connect=0.3))
    response = loop.get(fetcher, loop.request(port))
    assert verdict(response) == (Failure.CONNECT_TIMEOUT, "", 0)
    assert 0.3 <= response.ended - response.started < 2
    for sock in (*fillers, full):
        sock.close()


def test_tls_handshake_counts_as_connecting(loop: Loop) -> None:
    silent = Backlog()
    fetcher = loop.fetcher(FetchLimits(connect=0.3))
    response = loop.get(fetcher, loop.request(silent.port, https=True))
    assert verdict(response) == (Failure.CONNECT_TIMEOUT, "", 0)
    silent.close()


def test_first_byte_limit_counts_from_the_connection(loop: Loop, server: HttpServer) -> None:
    server.paths["/mute"] = say_and_wait(b"")
    server.paths["/drip"] = say_and_wait(b"HTTP/1.1 200")
    fetcher = loop.fetcher(FetchLimits(connect=9, first_byte=0.3, total=20))
    for path in ("/mute", "/drip"):
        response = loop.get(fetcher, loop.request(server.port, path))
        assert verdict(response) == (Failure.FIRST_BYTE, "", 0)
        assert 0.3 <= response.ended - response.started < 4


def test_default_limits_on_a_clock_pushed_on(loop: Loop, server: HttpServer) -> None:
    server.paths["/mute"] = say_and_wait(b"")
    server.paths["/stall"] = say_and_wait(HEAD + b"Content-Length: 9\r\n\r\nhello")
    fetcher = loop.fetcher()
    fetcher.start(loop.request(server.port, "/mute"))
    fetcher.start(loop.request(server.port, "/stall"))
    loop.until(lambda: len(server.requests) == 2)
    end = time.monotonic() + 0.1
    loop.until(lambda: time.monotonic() > end)
    for ahead, left in ((9.0, 2), (19.5, 2), (21.0, 1), (59.0, 1), (61.0, 0)):
        loop.clock.ahead = ahead
        loop.turn()
        loop.turn()
        assert fetcher.in_flight == left
    mute, stall = fetcher.take(5)
    assert verdict(mute) == (Failure.FIRST_BYTE, "", 0)
    assert verdict(stall) == ("", Truncated.TIME, 200) and stall.body == b"hello"


def test_total_limit(loop: Loop, server: HttpServer) -> None:
    server.paths["/headers"] = say_and_wait(HEAD)
    server.paths["/empty"] = say_and_wait(HEAD + b"Content-Length: 9\r\n\r\n")
    server.paths["/moved"] = say_and_wait(
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n"
    )
    fetcher = loop.fetcher(FetchLimits(total=0.3))
    for path in ("/headers", "/empty"):
        response = loop.get(fetcher, loop.request(server.port, path))
        assert verdict(response) == (Failure.TIMEOUT, "", 0)
    response = loop.get(fetcher, loop.request(server.port, "/moved"))
    assert verdict(response) == ("", Truncated.TIME, 302)


def test_the_request_s_own_deadline_counts(loop: Loop, server: HttpServer) -> None:
    server.paths["/mute"] = say_and_wait(b"")
    fetcher = loop.fetcher()
    response = loop.get(fetcher, loop.request(server.port, "/mute", seconds=0.2))
    assert verdict(response) == (Failure.TIMEOUT, "", 0)
    assert response.ended - response.started < 2
    seen = len(server.requests)
    late = loop.get(fetcher, loop.request(server.port, "/", seconds=0))
    assert late.failure == Failure.TIMEOUT and len(server.requests) == seen


def test_a_deadline_during_the_lookup(loop: Loop) -> None:
    loop.dns.add("mute.test", silent=True)
    response = loop.get(loop.fetcher(), loop.request(80, host="mute.test", seconds=0.2))
    assert verdict(response) == (Failure.DNS, "", 0)


# Names and addresses.


def test_names_are_looked_up(loop: Loop, server: HttpServer) -> None:
    loop.dns.add("a.test", "127.0.0.1")
    fetcher = loop.fetcher()
    response = loop.get(fetcher, loop.request(server.port, host="a.test"))
    assert (response.status, response.address) == (200, "127.0.0.1")
    missing = loop.get(fetcher, loop.request(server.port, host="no.test"))
    assert verdict(missing) == (Failure.NXDOMAIN, "", 0) and missing.address == ""
    loop.dns.add("bad.test", rcode=2)
    bad = loop.get(fetcher, loop.request(server.port, host="bad.test"))
    assert verdict(bad) == (Failure.DNS, "", 0)


def test_private_addresses_get_no_packet(loop: Loop, server: HttpServer) -> None:
    loop.dns.add("inner.test", "127.0.0.1")
    loop.dns.add("mixed.test", "192.88.98.1", "127.0.0.1")
    loop.dns.add("six.test", "::1")
    fetcher = loop.fetcher(allow_private=False)
    hosts = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost", "x.localhost", "0.0.0.0"]
    hosts += ["inner.test", "mixed.test", "six.test", "169.254.169.254", "inner.test."]
    loop.dns.add("inner.test.", "127.0.0.1")
    for host in hosts:
        response = loop.get(fetcher, loop.request(server.port, host=host))
        assert verdict(response) == (Failure.PRIVATE, "", 0), host
        assert (response.address, response.connects) == ("", 0)
    assert server.connections == 0


def test_numbers_that_are_no_address_are_not_guessed_at(loop: Loop, server: HttpServer) -> None:
    for host in ("2130706433", "127.1"):
        response = loop.get(loop.fetcher(), loop.request(server.port, host=host))
        assert response.failure == Failure.NXDOMAIN
    assert server.connections == 0


def test_a_connection_to_another_address_than_the_one_checked_is_refused(
    loop: Loop, server: HttpServer
) -> None:
    fetcher = loop.fetcher()
    request = loop.request(server.port)
    fetcher.start(request)
    fetcher._flights[id(request)].address = "192.0.2.1"  # as if libcurl had gone elsewhere
    loop.until(lambda: fetcher.finished)
    assert fetcher.take(1)[0].failure == Failure.PRIVATE
    assert server.requests == [] and server.received == 0


def test_the_next_address_is_tried(loop: Loop, server: HttpServer) -> None:
    loop.dns.add("two.test", "127.0.0.2", "127.0.0.1")  # nobody listens on the first
    loop.dns.add("three.test", "127.0.0.2", "127.0.0.3", "127.0.0.1")
    fetcher = loop.fetcher()
    response = loop.get(fetcher, loop.request(server.port, host="two.test"))
    assert (response.status, response.address) == (200, "127.0.0.1")
    response = loop.get(fetcher, loop.request(server.port, host="three.test"))
    assert verdict(response) == (Failure.CONNECT, "", 0)


def test_a_request_for_one_address_goes_to_no_other(loop: Loop, server: HttpServer) -> None:
    """An errand has the slot of one address: the name's others may be busy with somebody else's."""
    loop.dns.add("two.test", "127.0.0.2", "127.0.0.1")
    fetcher = loop.fetcher()
    for address, failure in (("127.0.0.2", Failure.CONNECT), ("127.0.0.3", Failure.DNS)):
        request = loop.request(server.port, host="two.test")
        request.only = address
        assert loop.get(fetcher, request).failure == failure
    assert server.connections == 0
    request = loop.request(server.port, host="two.test")
    request.only = "127.0.0.1"
    assert loop.get(fetcher, request).status == 200


def test_a_silent_first_address_leaves_time_for_the_second(loop: Loop) -> None:
    server = HttpServer("127.0.0.1")
    full = socket.socket()
    full.bind(("127.0.0.2", server.port))
    full.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.2", server.port))
    time.sleep(0.05)
    loop.dns.add("two.test", "127.0.0.2", "127.0.0.1")
    fetcher = loop.fetcher(FetchLimits(connect=0.6))
    response = loop.get(fetcher, loop.request(server.port, host="two.test"))
    assert (response.status, response.address) == (404, "127.0.0.1")
    assert response.ended - response.started >= 0.3
    for sock in (*fillers, full):
        sock.close()
    server.close()


def test_refused(loop: Loop, server: HttpServer) -> None:
    server.close()
    response = loop.get(loop.fetcher(), loop.request(server.port))
    assert verdict(response) == (Failure.CONNECT, "", 0)


def test_ipv6(loop: Loop) -> None:
    server = HttpServer("::1")
    server.paths["/"] = say(OK)
    response = loop.get(loop.fetcher(), loop.request(server.port, host="::1"))
    assert (response.status, response.address) == (200, "::1")
    loop.dns.add("six.test", "::1")
    assert loop.get(loop.fetcher(), loop.request(server.port, host="six.test")).status == 200
    server.close()


def test_port_map(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher(port_map={8080: server.port})
    response = loop.get(fetcher, loop.request(8080, host="a.localhost"))
    assert response.status == 200
    assert b"\r\nHost: a.localhost:8080\r\n" in server.requests[0]


def test_only_http_and_whole_urls(loop: Loop) -> None:
    fetcher = loop.fetcher()
    for url in (
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1/",
        "http://",
        "",
        "é",
    ):
        request = loop.request(80)
        request.url = url
        assert loop.get(fetcher, request).failure in (Failure.PROTOCOL, Failure.CONNECT), url


def test_proxies_of_the_environment_are_ignored(
    loop: Loop, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1/")
    assert loop.get(loop.fetcher(), loop.request(server.port)).status == 200


# Connections.


def test_robots_and_page_share_a_connection(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    robots = loop.request(server.port, "/robots.txt", kind=Kind.ROBOTS, keep_alive=True)
    assert loop.get(fetcher, robots).connects == 1
    assert loop.get(fetcher, loop.request(server.port)).connects == 0
    assert server.connections == 1
    assert loop.get(fetcher, loop.request(server.port)).connects == 1  # the page closed it
    assert server.connections == 2


def test_no_sharing_between_names_or_addresses(loop: Loop, server: HttpServer) -> None:
    loop.dns.add("a.test", "127.0.0.1", ttl=0)
    loop.dns.add("b.test", "127.0.0.1", ttl=0)
    fetcher = loop.fetcher()
    for host in ("a.test", "b.test"):
        request = loop.request(server.port, host=host, keep_alive=True)
        assert loop.get(fetcher, request).connects == 1
    loop.dns.add("a.test", "127.0.0.2")
    loop.clock.ahead = 4000
    moved = loop.request(server.port, host="a.test", keep_alive=True)
    response = loop.get(fetcher, moved)
    assert (response.failure, response.address) == (Failure.CONNECT, "127.0.0.2")


def test_https(loop: Loop, tmp_path: Path) -> None:
    server = HttpServer(tls=self_signed(tmp_path, "a.localhost")[0])
    server.paths["/"] = say(OK, stay=True)
    fetcher = loop.fetcher()
    for connects, keep in ((1, True), (0, False)):
        request = loop.request(server.port, host="a.localhost", https=True, keep_alive=keep)
        response = loop.get(fetcher, request)
        assert verdict(response) == ("", "", 200) and response.body == PAGE
        assert response.connects == connects
    assert server.requests[0] == fetcher.request_head(request)
    server.close()


def test_https_to_a_server_without_tls(loop: Loop, server: HttpServer) -> None:
    response = loop.get(loop.fetcher(), loop.request(server.port, https=True, seconds=0.3))
    assert response.failure in (Failure.TLS, Failure.CONNECT_TIMEOUT)


# Cancelling.


def test_cancel_all_sends_nothing(loop: Loop) -> None:
    backlog = Backlog()
    fetcher = loop.fetcher()
    for _ in range(20):
        fetcher.start(loop.request(backlog.port))
        fetcher.start(loop.request(backlog.port, host="nobody.test"))
    fetcher.turn(loop.clock())  # the connections are begun
    ready = loop.poller.poll(1)
    assert len(ready) >= 20  # and made: one more step would send the requests
    fetcher.cancel_all()
    loop.poller.serve(ready)
    fetcher.turn(loop.clock())
    assert fetcher.in_flight == 0 and {r.failure for r in fetcher.take(99)} == {Failure.STOPPED}
    assert set(backlog.received()) == {b""}
    loop.until(lambda: loop.resolver.pending == 0)  # the late answers start nothing
    assert fetcher.in_flight == 0 and not fetcher.finished
    backlog.close()


def test_cancel_one(loop: Loop, server: HttpServer) -> None:
    server.paths["/mute"] = say_and_wait(b"")
    fetcher = loop.fetcher()
    mute, page = loop.request(server.port, "/mute"), loop.request(server.port)
    fetcher.start(mute)
    loop.until(lambda: server.requests)
    fetcher.start(page)
    fetcher.cancel(mute)
    fetcher.cancel(mute)
    loop.until(lambda: len(fetcher.finished) == 2)
    stopped, good = fetcher.take(9)
    assert (stopped.request, stopped.failure) == (mute, Failure.STOPPED)
    assert (good.request, good.status) == (page, 200)


def test_cancel_all_closes_idle_connections(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    before = settled(loop)
    loop.get(fetcher, loop.request(server.port, keep_alive=True))
    assert open_files() > before
    fetcher.cancel_all()
    loop.until(lambda: open_files() <= before)
    assert loop.get(fetcher, loop.request(server.port)).status == 200


def test_take_gives_what_was_asked_for(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    for _ in range(5):
        fetcher.start(loop.request(server.port))
    loop.until(lambda: len(fetcher.finished) == 5)
    assert fetcher.timeout() == 0.0
    assert [len(fetcher.take(n)) for n in (2, 2, 2, 2)] == [2, 2, 1, 0]


# Many.


def test_a_thousand_slow_ones(loop: Loop) -> None:
    """Or fewer, where the hard limit of open files is lower than an ordinary one."""
    backlog = Backlog()
    fetcher = loop.fetcher(capacity=1000)
    before = settled(loop)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(1000, hard - before - 100)
    for _ in range(count):
        fetcher.start(loop.request(backlog.port))
    loop.until(lambda: all(t.connected for t in fetcher._flights.values()))
    assert fetcher.in_flight == count and open_files() >= count  # others close theirs meanwhile
    loop.clock.ahead = 31
    loop.until(lambda: len(fetcher.finished) == count)
    assert {r.failure for r in fetcher.take(count)} == {Failure.FIRST_BYTE}
    assert fetcher.in_flight == 0 and settled(loop) <= before
    backlog.close()


def spread(loop: Loop, fetcher: Fetcher, port: int, count: int) -> list[Response]:
    """`count` requests over every kind of failure, fifty at a time."""
    loop.dns.add("h1.test", "127.0.0.1")
    loop.dns.add("mute.test", silent=True)
    paths = ["/", "/mute", "/reset", "/endless", *(f"/m{i}" for i in range(len(MALFORMED)))]
    hosts = ["127.0.0.1", "127.0.0.9", "a.localhost", "no.test", "h1.test", "mute.test"]
    responses: list[Response] = []
    for i in range(count):
        host = hosts[(i // 7) % len(hosts)] if i % 7 == 0 else "127.0.0.1"
        request = loop.request(
            port, paths[i % len(paths)], host, i % 97 == 0, keep_alive=i % 3 == 0
        )
        fetcher.start(request)
        if i % 53 == 0:
            fetcher.cancel(request)
        while fetcher.in_flight >= 50:
            loop.turn()
        responses += fetcher.take(50)
    loop.until(lambda: fetcher.in_flight == 0)
    return responses + fetcher.take(count)


def test_nothing_leaks_whatever_goes_wrong(loop: Loop, server: HttpServer) -> None:
    for i, name in enumerate(MALFORMED):
        server.paths[f"/m{i}"] = say(MALFORMED[name][0])
    server.paths["/mute"] = say_and_wait(b"")
    server.paths["/reset"] = say_and_reset(HEAD)
    server.paths["/endless"] = say_for_ever(HEAD + b"\r\n", b"x" * 4096)
    limits = FetchLimits(connect=0.2, first_byte=0.1, total=0.3, body=20_000)
    fetcher = loop.fetcher(limits)
    spread(loop, fetcher, server.port, 200)
    fetcher.cancel_all()
    fetcher.take(999)
    before = settled(loop)
    responses = spread(loop, fetcher, server.port, 2000)
    assert len(responses) == 2000
    failures = {r.failure for r in responses}
    assert failures >= {"", *("protocol", "reset", "connect", "stopped", "dns-nxdomain")}
    assert failures >= {"first-byte-timeout", "connect-timeout"} or "tls" in failures
    assert (fetcher.in_flight, fetcher.buffered, fetcher.mishaps) == (0, 0, 0)
    fetcher.cancel_all()
    assert settled(loop) <= before


def settled(loop: Loop) -> int:
    """Open files once the server's threads have closed theirs."""
    count, since = open_files(), time.monotonic()
    while time.monotonic() - since < 0.3:
        loop.turn()
        if open_files() != count:
            count, since = open_files(), time.monotonic()
    return count


def test_too_many_open_files_is_our_own_trouble() -> None:
    code = """if True:
        import os, resource, sys
        sys.path.insert(0, "tests")
        from support.http_server import Backlog
        from support.loop import Loop, verdict
        loop, backlog = Loop(), Backlog()
        fetcher = loop.fetcher()
        loop.get(fetcher, loop.request(1))
        used = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 10, used + 10))
        for _ in range(30):
            fetcher.start(loop.request(backlog.port))
        loop.until(lambda: len(fetcher.finished) >= 15)
        found = {r.failure for r in fetcher.take(99)}
        print(sorted(found), fetcher.in_flight > 0)
        fetcher.cancel_all()
        print(fetcher.in_flight, fetcher.mishaps)
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=root
    )
    assert (done.stdout, done.stderr) == ("['local'] True\n0 0\n", "")


def test_nothing_is_printed_when_a_callback_goes_wrong(
    loop: Loop, server: HttpServer, capfd: pytest.CaptureFixture[str]
) -> None:
    fetcher = loop.fetcher()
    request = loop.request(server.port)
    fetcher.start(request)
    fetcher.limits = None  # type: ignore[assignment]
    loop.until(lambda: fetcher.finished)
    assert fetcher.take(1)[0].failure == Failure.LOCAL
    assert fetcher.mishaps == 1
    assert capfd.readouterr() == ("", "")


def test_a_burst_of_answers_and_limits_is_spread_over_turns(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of names answered, or hosts given up, in one moment: no turn takes long for it."""
    from lycosa.fetch import fetcher as fetch

    monkeypatch.setattr(fetch, "_BUDGET", 0.002)
    fetcher = loop.fetcher(capacity=500)
    backlog = Backlog()
    for number in range(400):
        loop.dns.add(f"h{number}.test", "127.0.0.1")
        fetcher.start(loop.request(backlog.port, host=f"h{number}.test"))
    longest = 0.0
    while len(fetcher.finished) < 400:
        loop.poller.serve(loop.poller.poll(0.01))
        loop.resolver.turn()
        before = time.thread_time()
        fetcher.turn(loop.clock())
        longest = max(longest, time.thread_time() - before)
        if all(t.connected for t in fetcher._flights.values()):
            loop.clock.ahead = 31.0
    assert {r.failure for r in fetcher.take(400)} == {Failure.FIRST_BYTE}
    assert longest < 0.030
    backlog.close()
