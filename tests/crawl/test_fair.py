"""The real program against hosts that fail, forbid or share: what it says of them is true."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.dns_server import DnsServer
from support.http_server import HttpServer, Script, reply, say
from support.program import EMAIL, lycosa, status

ROBOTS, PAGE = "/robots.txt", say(reply(b"<title>t</title><p>hello"), stay=True)


class NoTls:
    """What a web server says to a TLS handshake that it did not expect."""

    def wrap_socket(self, sock: socket.socket, server_side: bool) -> socket.socket:
        sock.recv(4096)
        sock.sendall(reply(b"what?", "400 Bad Request"))
        raise OSError


class Net:
    """A server for all names, with a name server."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.dns = DnsServer()
        self.web = HttpServer()
        self.web.paths["/"] = PAGE

    def crawl(
        self, seeds: list[str], *flags: str, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        (self.root / "seeds.txt").write_text("\n".join(seeds))
        return lycosa(
            "crawl", self.root / "seeds.txt", "--email", EMAIL, "--data-dir", self.data,
            "--allow-private-addresses", "--nameserver", self.dns.address,
            "--port-map", f"80={self.web.port},443={self.web.port}", "--delay", "0.05", *flags,
            timeout=timeout,
        )  # fmt: skip

    @property
    def data(self) -> Path:
        return self.root / "data"

    def status(self) -> dict[str, Any]:
        return status(self.data)

    def ask(self, *words: str) -> str:
        done = lycosa(words[0], "--data-dir", self.data, *words[1:])
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Net]:
    made = Net(tmp_path)
    yield made
    made.dns.close()
    made.web.close()


def test_a_crawl_delay_of_three_thousand_years_ends_in_an_outcome(net: Net) -> None:
    net.dns.add("slow.test", "127.0.0.1")
    slow = b"User-agent: *\nCrawl-delay: 99999999999\n"
    net.web.paths[ROBOTS] = say(reply(slow), stay=True)
    done = net.crawl([f"http://slow.test/{n}" for n in range(20)], "--engines", "1")
    assert done.returncode == 0, done.stderr
    told = net.status()
    assert told["finished"] and told["queued"] == 0
    assert told["outcomes"] == {"crawl-delay-too-long": 20}
    assert b"".join(net.web.requests).count(b"GET /") == 1, "robots.txt, and nothing else"
    assert "more than 24 hours between visits" in net.ask("why", "http://slow.test/7")


def test_a_crawl_in_which_everything_fails_says_so_at_once(net: Net) -> None:
    """The web server speaks no TLS: libcurl's reason is kept, shown and logged."""
    net.web.close()
    net.web = HttpServer(tls=NoTls())
    seeds = [f"https://s{n}.test/" for n in range(20)]
    for n in range(20):
        net.dns.add(f"s{n}.test", "127.0.0.1")
    flags = ("--delay", "30", "--log-level", "debug", "--log-interval", "1", "--max-duration", "8")
    done = net.crawl(seeds, *flags, "--ip-delay", "0")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert any("crawling" in each and "errors=0 retries=tls:20" in each for each in lines)
    failures = [each for each in lines if "DEBUG" in each and "failure=tls" in each]
    assert len(failures) >= 20 and all("reason=" in each for each in failures)
    (warned,) = [each for each in lines if "WARNING" in each]
    assert "Not one of the first 20 visits succeeded (tls 20)." in warned
    assert net.status()["retries"] == {"tls": 20}
    assert "retries  tls 20" in net.ask("status")
    (told,) = [each for each in net.ask("why", seeds[0]).splitlines() if "last failure" in each]
    assert "robots.txt: tls: " in told and len(told.partition("tls: ")[2]) > 10, told


def slow(seconds: float, moments: list[tuple[float, float]]) -> Script:
    """A page that takes a while, and when it was asked for and done."""

    def script(sock: socket.socket) -> bool:
        begin = time.monotonic()
        time.sleep(seconds)
        moments.append((begin, time.monotonic()))
        sock.sendall(reply(b"<p>hello"))
        return True

    return script


def test_engines_of_a_node_take_turns_at_an_address(net: Net) -> None:
    """Three engines, sixty domains, one address: seen from the server, no two requests at once."""
    moments: list[tuple[float, float]] = []
    net.web.paths["/"] = slow(0.03, moments)
    net.web.paths[ROBOTS] = slow(0.0, [])
    for n in range(60):
        net.dns.add(f"s{n}.test", "127.0.0.1")
    seeds = [f"http://s{n}.test/" for n in range(60)]
    done = net.crawl(seeds, "--engines", "3", "--ip-delay", "0.1", "--log-interval", "0.5")
    assert done.returncode == 0, done.stderr
    assert net.status()["outcomes"] == {"ok": 60}
    moments.sort()
    gaps = [start - end for (_, end), (start, _) in pairwise(moments)]
    assert len(moments) == 60 and min(gaps) >= 0.1, sorted(gaps)[:5]
    told = json.loads(net.ask("audit", "--json"))
    assert told["addresses"]["too_close"] == 0 and told["addresses"]["smallest_gap_ms"] >= 98
    assert "one address" in done.stderr and "wait for 127.0.0.1 (--ip-delay)" in done.stderr
    assert "one address was 0." in net.ask("audit")
