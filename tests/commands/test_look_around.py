"""`lycosa domains`, `domain`, `queue` and `top` as a person and a program read them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands.stores import Stored, make, visit
from lycosa.archive.ledger import Ledger
from lycosa.clock import wall_now
from lycosa.commands.domains import domain_lines, list_lines
from lycosa.commands.top import snapshot_of, top_line, top_lines
from lycosa.node.datadir import become_node
from lycosa.politeness.robots import parse_robots
from lycosa.reading.values import Domain, DomainLine, DomainVisit, RobotsFile
from lycosa.records import Origin

NOW = 1_800_000_000_000
ROBOTS = parse_robots(b"User-agent: *\nDisallow: /private\nCrawl-delay: 120\n").dump()
URLS = [f"https://a.example/{n}" for n in range(4)] + ["https://www.b.example/tag/1"]


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    """Two of four pages of a.example failed; b.example has not been visited."""
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    made = make(tmp_path / "data", store, URLS, delay=70.0)
    if store:
        become_node(made.root, "0" * 32)
    origin = Origin("https://a.example", wall_now(), 200, ROBOTS)
    visit(made, {URLS[0]: "ok", URLS[1]: "timeout", URLS[2]: "timeout"}, [origin])
    return made


def test_domains(stored: Stored) -> None:
    text = stored.run("domains", "--sort", "failing")
    assert text.startswith("Domains by URLs that failed, the first 1, from all URLs that are done:")
    assert re.search(r"^  a\.example +2 .*", text, re.M)
    told = json.loads(stored.run("domains", "--sort", "queued", "--json"))
    assert (told["sort"], told["of"]) == ("queued", "all 2 domains")
    assert {each["name"] for each in told["domains"]} == {"a.example", "b.example"}
    assert "No domain is in the list by pages" in stored.run("domains")
    said = stored.run("domains", "--sort", "page", code=2)
    assert "--sort must be one of pages, queued, failing, delay, slowest, not 'page'" in said


def test_a_domain(stored: Stored) -> None:
    ledger = Ledger(stored.root, 1, 1 << 20)
    ledger.note_started([("a.example", NOW)])
    ledger.ended("a.example", NOW, NOW + 1500, 2, "192.0.2.7", "fetched")
    ledger.note_started([("a.example", NOW + 80_000)])
    ledger.close()
    text = stored.run("domain", "www.a.example")
    assert "domain     a.example\n" in text
    assert "delay      1:10 min between visits (--delay)" in text
    assert "outcomes   timeout 2, ok 1\n" in text
    assert "robots.txt https://a.example/robots.txt: read 20" in text
    assert "           Disallow: /private\n           Crawl-delay: 120\n" in text
    assert "queue      depth 0  https://a.example/3\n" in text
    assert "cut off, it runs, or a kill ended it, 78.5 s after the one before" in text
    assert "1.5 s, 2 requests, fetched, 192.0.2.7\n" in text
    told = json.loads(stored.run("domain", "a.example", "--json"))
    assert told["origins"][0]["lines"] == ["Disallow: /private", "Crawl-delay: 120"]
    assert [each["finished"] for each in told["visits"]] == [False, True]
    assert "did you mean a.example" in stored.run("domain", "a.exmaple", code=2)


def test_the_queue(stored: Stored) -> None:
    text = stored.run("queue", "--domain", "a.example")
    assert text == (
        "1 queued URLs, from the queue of a.example, in its order:\n"
        "  depth 0  https://a.example/3\n"
    )
    told = json.loads(stored.run("queue", "--pattern", "*/tag/*", "--json"))
    assert [each["url"] for each in told["urls"]] == ["https://www.b.example/tag/1"]
    assert len(stored.run("queue").splitlines()) == 3
    assert "0 queued URLs, from all 2 queued URLs" in stored.run("queue", "--pattern", "*/no/*")
    assert "is no pattern" in stored.run("queue", "--pattern", "a b", code=2)


def test_a_domain_in_words() -> None:
    """What is rare: an overloaded domain, a robots.txt that fails, many rules, a sample."""
    robots = (
        RobotsFile("https://a.test", 0, 0, 3, "timed out"),
        RobotsFile("http://a.test", NOW, 404, 0, ""),
        RobotsFile(
            "http://b.a.test", NOW, 200, 0, "", tuple(f"Disallow: /{n}" for n in range(150))
        ),
    )
    found = Domain(
        "a.test", "waiting", True, 9000, 5, NOW + 30_000, 0.0, 2, {"ok": 4000}, {"": 4000},
        {"content": 4000}, robots, 4000, 70.0, "overloaded",
        visits=(DomainVisit(NOW, NOW, 1, "", "ok", True, 1, None),),
    )  # fmt: skip
    text = "\n".join(domain_lines(found, NOW))
    assert "a.test, a seed" in text and "next visit in 30 s" in text
    assert "and more now: it said 2 times in a row that it is overloaded" in text
    assert "ok 4,000, counted of 4,000 by chance" in text and "none 4,000" in text
    assert "https://a.test/robots.txt: timed out" in text
    assert "status 404; it has no rule for this crawl" in text
    assert "Disallow: /99\n           … and 50 more" in text
    assert "queue      empty" in text


# -- top ------------------------------------------------------------------------------------------

FIGURES: dict[str, Any] = {
    "at": 1_800_000_000.0, "run": 1_799_999_000.0, "node": "", "state": "running", "pages": 1200,
    "ok": 1000, "bytes": 5_000_000, "queued": 9000, "domains": 700, "in_flight": 44, "ready": 3,
    "pages_per_s": 9.8, "bytes_per_s": 400_000.0, "ceiling": 10.0, "outcomes": {"timeout": 20},
    "labels": {"content": 900}, "limit_text": "politeness: 700 domains / 70 s",
    "engines": [{"id": 1, "rss_mb": 100.0}, {"id": 2, "rss_mb": 90.0}],
    "politeness": {"visits": 5000, "least": 70.1, "needed": 70.0, "violations": 0},
    "top": {"pages": [["a.test\x1b[31m", 90], ["b.test", 80]]},
}  # fmt: skip


def test_the_view_of_a_crawl_elsewhere() -> None:
    lines = top_lines(FIGURES, 1_800_000_002.0, 100)
    text = "\n".join(lines)
    assert lines[0].strip() == "state  running  (q ends this view)"
    for part in (
        "1,200  1,000 ok  900 real  5.0 MB",
        "9.8 pages/s  400 kB/s",
        "44 fetches  2 engines  190 MB",
        "limited by  politeness: 700 domains / 70 s",
        "10.0 pages/s by politeness",
        "5,000 visits proven, smallest pause 70.1 s of 70 s, violations 0",
        "most pages  a.test\\x1b[31m 90, b.test 80",
    ):
        assert part in text, part
    assert "as of 1:00 min ago" in top_lines(FIGURES, 1_800_000_060.0, 100)[0]
    assert max(map(len, top_lines(FIGURES, 0, 40))) <= 40
    assert snapshot_of({"at": 5.0, "state": "running"}).pages == 0
    line = top_line(FIGURES)
    assert line.startswith("2027-01-15T08:00:00Z running pages=1200 ok=1000 real=900 per_s=9.8")
    assert 'limit="politeness: 700 domains / 70 s"' in line


def test_top_prints_what_the_crawl_wrote_or_what_the_store_counts(stored: Stored) -> None:
    told = json.loads(stored.run("top", "--once", "--json"))
    assert (told["pages"], told["ok"], told["state"]) == (1, 1, "stopped")
    assert " stopped pages=1 ok=1 " in stored.run("top")  # it is over: one line
    (stored.root / "history").mkdir()
    figures = {**FIGURES, "at": time.time()}
    (stored.root / "history" / "now.json").write_text(json.dumps(figures))
    told = json.loads(stored.run("top", "--once", "--json"))
    assert {name: told[name] for name in figures if name != "top"} == {
        name: value for name, value in figures.items() if name != "top"
    }
    assert told["top"]["pages"] == FIGURES["top"]["pages"]
    assert told["end"].startswith("not known")
    (stored.root / "history" / "now.json").write_text(json.dumps({**figures, "at": 5.0}))
    assert json.loads(stored.run("top", "--once", "--json"))["state"] == "stopped"


def put(path: Path, figures: dict[str, Any]) -> None:
    """As a node does: nobody reads half of it."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(figures))
    draft.replace(path)


def on_a_terminal(data: Path, until: str) -> tuple[int, int]:
    """`lycosa top` on a terminal of its own, once it has shown something."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "lycosa", "top", "--data-dir", str(data)])
    seen, end = "", time.monotonic() + 60
    while until not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 1.0)[0]:
            seen += os.read(fd, 65536).decode()
    assert until in seen, seen
    return pid, fd


def ended(pid: int, fd: int) -> tuple[int, str]:
    rest, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if select.select([fd], [], [], 0.2)[0]:
                rest += os.read(fd, 65536)
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), rest.decode()


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_q_and_ctrl_c_end_the_view(tmp_path: Path, key: bytes) -> None:
    made = make(tmp_path / "data", "", URLS)
    (made.root / "history").mkdir()
    now = made.root / "history" / "now.json"
    put(now, {**FIGURES, "at": time.time()})
    pid, fd = on_a_terminal(made.root, "1,200")
    put(now, {**FIGURES, "at": time.time(), "pages": 4321})
    seen, end = "", time.monotonic() + 30
    while "4,321" not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 1.0)[0]:
            seen += os.read(fd, 65536).decode()
    assert "4,321" in seen and "\x1b[" in seen  # redrawn in place
    os.write(fd, key)
    code, rest = ended(pid, fd)
    assert code == 0
    assert "\x1b[?25h" in rest  # the cursor is back
    assert "Traceback" not in rest


def test_without_a_terminal_each_new_figure_is_a_line(tmp_path: Path) -> None:
    made = make(tmp_path / "data", "", URLS)
    (made.root / "history").mkdir()
    now = made.root / "history" / "now.json"
    put(now, {**FIGURES, "at": time.time()})
    words = [sys.executable, "-m", "lycosa", "top", "--data-dir", str(made.root)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    put(now, {**FIGURES, "at": time.time(), "pages": 4321})
    second = process.stdout.readline()
    assert "pages=1200" in first and "pages=4321" in second
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    process.stdout.close()


def test_a_domain_far_behind_in_line_says_behind_how_many() -> None:
    found = Domain("a.test", "waiting", True, 0, 1, NOW + 9000, 0.0, 0, behind=20_000)
    assert "now        waits behind 20,000 other domains or more" in domain_lines(found, NOW)
    near = replace(found, behind=0)
    assert "now        next visit in 9 s" in domain_lines(near, NOW)
    row = DomainLine("a.test", 5, "waiting", True, 5, 1, 0.0, 0, NOW, behind=20_000)
    assert "waits behind 20,000" in list_lines([row], "pages", "all 2 domains", NOW)[-1]


def test_the_view_of_several_nodes_has_a_line_for_each() -> None:
    one = {"at": 1_800_000_000.0, "node": "abcdef0123456789", "state": "running", "pages": 700,
           "pages_per_s": 5.2, "in_flight": 30, "engines": [{}]}  # fmt: skip
    two = {**one, "node": "fedcba", "state": "stopped", "at": 1_799_000_000.0, "pages": 500}
    late = {**one, "node": "late", "at": 1_799_999_940.0}
    now = {**FIGURES, "nodes": [one, two, late], "end": "about 2027-01-15 09:00 UTC"}
    text = "\n".join(top_lines(now, 1_800_000_002.0, 120))
    assert "node  abcdef01  running  5.2 pages/s  700 pages  30 fetches  1 engines\n" in text
    assert "node  fedcba  stopped  5.2 pages/s  500 pages  30 fetches  1 engines\n" in text
    assert text.endswith("1 engines  heard 1:02 min ago")
    assert "ends  about 2027-01-15 09:00 UTC" in text
