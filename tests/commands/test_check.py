"""`lycosa check`: what stands in the way, and how fast a crawl can be."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lycosa.cli import main
from lycosa.commands.check import Readings, ceilings, findings, look_up, speed_lines
from lycosa.frontier.protocol import ServerFacts

STORE = ServerFacts(
    where="at db.example", version="16.2", round_trip_ms=0.4, crawl=False, connections=5
)
GOOD = Readings(
    files=65_536,
    ports=28_232,
    cores=4,
    memory=8 * 10**9,
    disk=10**12,
    now_ms=1_800_000_000_000,
    dns_name="example.org",
    dns_ms=12.3,
    domains=1_000_000,
    engines=4,
)


@pytest.mark.parametrize(
    ("changes", "name", "words"),
    [
        ({"files": 300}, "open files", "300 open files per process, 350 needed: raise the limit"),
        ({"ports": 500}, "ports", "500 local ports: widen"),
        ({"dns_error": "Timeout"}, "DNS", "no answer for example.org (Timeout): name a working"),
        ({"memory": 10**9}, "memory", "1.0 GB available, about 1.1 GB needed: lower"),
        ({"disk": 10**6}, "disk", "1.0 MB free: free some space"),
        ({"now_ms": 1000}, "clock", "1970-01-01T00:00:01Z: set the clock"),
        ({"store": STORE}, "store", "5 connections free, 7 needed by this node: raise max_conn"),
    ],
)
def test_what_stands_in_the_way(changes: dict[str, Any], name: str, words: str) -> None:
    assert all(each.ok for each in findings(GOOD))
    bad = [each for each in findings(replace(GOOD, **changes)) if not each.ok]
    assert [each.name for each in bad] == [name]
    assert words in bad[0].text


def test_the_ceiling_of_politeness() -> None:
    lines = "\n".join(speed_lines(replace(GOOD, domains=7_000)))
    assert "7,000 domains / 70 s = 100 visits/s = 8.64 million pages a day at most" in lines
    assert "limited first by politeness, at 8.64 million pages a day" in lines
    assert ceilings(GOOD)["politeness"] == pytest.approx(14285.7, rel=1e-4)


def test_what_limits_first() -> None:
    assert "limited first by concurrency" in speed_lines(GOOD)[-1]
    assert "limited first by CPU" in speed_lines(replace(GOOD, max_workers=100_000))[-1]
    without = speed_lines(replace(GOOD, domains=0))
    assert not any("politeness" in line for line in without)
    assert "politeness" not in ceilings(replace(GOOD, delay=0.0))
    few = speed_lines(replace(GOOD, domains=7))
    assert "limited first by politeness, at 8,640 pages a day" in few[-1]


@pytest.fixture
def name_server() -> Iterator[tuple[str, int]]:
    """Answers every question: the name exists and has no address."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            query, client = server.recvfrom(512)
            if not query:
                return
            question = query[12 : query.index(b"\0", 12) + 5]
            server.sendto(query[:2] + b"\x81\x80\0\1\0\0\0\0\0\0" + question, client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()
    server.sendto(b"", server.getsockname())
    thread.join(5)
    server.close()


def test_the_name_server_is_asked(name_server: tuple[str, int]) -> None:
    took, problem = look_up("www.example.org", (name_server,))
    assert problem == ""
    assert 0 < took < 5000


def test_a_name_server_that_is_not_there() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        address = unused.getsockname()
    assert look_up("www.example.org", (address,))[1] != ""


def test_the_command(
    name_server: tuple[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("example.org\nhttps://www.example.org/a\nexample.com\n")
    server = f"{name_server[0]}:{name_server[1]}"
    words = ["check", str(seeds), "--nameserver", server, "--data-dir", str(tmp_path / "new")]
    code = main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["ok"] else 1)
    assert found["readings"]["domains"] == 2
    assert found["readings"]["dns_name"] == "example.org"
    assert {each["name"]: each["ok"] for each in found["findings"]}["DNS"]
    assert main(words) == code
    assert "2 domains / 70 s = 0.029 visits/s" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
