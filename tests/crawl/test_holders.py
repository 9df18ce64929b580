"""Hosts that send nearly all of a large body and then hold: others are fetched all the same."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from support.dns_server import DnsServer
from support.http_server import HttpServer, reply, say, say_and_wait

HOLDERS, GOOD, PAGES = 160, 20, 6
SIZE = 4_900_000


@pytest.mark.timeout(400)
def test_hosts_that_hold_much_memory_do_not_stop_a_crawl(tmp_path: Path) -> None:
    dns, server = DnsServer(), HttpServer()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000000\r\n\r\n"
    held = head + b"<p>held</p>".ljust(SIZE)
    server.paths["/hold"] = say_and_wait(held)
    links = b"".join(b"<a href=/p%d>x</a>" % n for n in range(PAGES))
    for number in range(PAGES):
        server.paths[f"/p{number}"] = say(reply(links + b"<p>good"))
    holders = [f"http://hold{n}.test/hold" for n in range(HOLDERS)]
    good = [f"http://good{n}.test/p0" for n in range(GOOD)]
    for url in (*holders, *good):
        dns.add(url.split("/")[2], "127.0.0.1")
    (tmp_path / "seeds.txt").write_text("\n".join(holders + good))
    words = ["crawl", tmp_path / "seeds.txt", "--email", "tests@lycosa.example", "--data-dir",
             tmp_path / "data", "--delay", "1", "--ip-delay", "0", "--engines", "1",
             "--allow-private-addresses", "--nameserver", dns.address, "--port-map",
             f"80={server.port}", "--no-view", "--log-interval", "0.5", "--visit-timeout", "15",
             "--lease-time", "45", "--max-workers", "400"]  # fmt: skip
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=350)
    server.close()
    dns.close()
    assert done.returncode == 0, done.stderr[-2000:]
    with closing(sqlite3.connect(tmp_path / "data" / "crawl.sqlite")) as db:
        kept = db.execute("SELECT url FROM pages WHERE outcome = 'ok'").fetchall()
        (rss,) = db.execute("SELECT max(json_extract(stats, '$.rss_mb')) FROM engines").fetchone()
    assert sum("//good" in url for (url,) in kept) == GOOD * PAGES
    assert sum("//hold" in url for (url,) in kept) == HOLDERS, "what came of them is kept"
    assert rss < 900
    assert "open files" not in done.stderr, "it is not the files"
    assert "memory: responses under way hold" in done.stderr, "the true limit is named"
