"""What strangers wrote never reaches the terminal as it is: every command over a hostile crawl."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http_server import HttpServer, reply, say

# Escape sequences (C0 and C1), a title for the terminal, an override, isolates, joiners, a tag.
NASTY = "\x1b]0;owned\x07\x1b[31mred\x9b2J\x85\x7f\u202egpj.exe\u2066\u200b\u200d\ufeff\U000e0041\r"
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
PAGE = f"<title>Ti{NASTY}tle</title><p>first{NASTY}</p><p>second</p><a href='/a%1b?{NASTY}'>x</a>"
ROBOTS = f"User-agent: *\nDisallow: /secret{NASTY}\nDisallow: /secret\n"


def lycosa(*words: str, ok: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", *words], capture_output=True, timeout=100
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert done.returncode in ok, err
    assert not UNSEEN.search(out), ascii(out)
    assert not UNSEEN.search(err), ascii(err)
    return subprocess.CompletedProcess(words, done.returncode, out, err)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    server = HttpServer()
    head = "Content-Type: text/html;\tcharset=utf-8 \x1b[31m"
    server.paths["/robots.txt"] = say(reply(ROBOTS.encode(), "200 OK", "Content-Type: text/plain"))
    server.paths["/"] = say(reply(PAGE.encode(), "200 O\x1b[31mK", head, "Server: \x1b]0;x\x07"))
    server.paths["/moved"] = say(reply(b"", "302 F", "Location: /to\x1b[31m\u202e"))
    server.paths["/bad"] = say(b"\x1b[31mHTTP/9 hello\r\n\r\n")
    root = tmp_path_factory.mktemp("hostile")
    base = f"http://127.0.0.1:{server.port}"
    seeds = root / "seeds.txt"
    lines = [f"{base}/", f"{base}/moved", f"{base}/bad", f"{base}/secret", f"bad{NASTY}line"]
    seeds.write_bytes("\n".join(lines).encode())
    for fmt in ("text", "json"):
        data = root / fmt
        words = ["crawl", str(seeds), "--email", "t@example.org", "--data-dir", str(data)]
        flags = ["--delay", "0.05", "--allow-private-addresses", "--log-level", "debug"]
        lycosa(*words, *flags, "--engines", "1", "--log-format", fmt)
    yield root / "text", base
    server.close()


def test_a_log_shows_what_it_was_sent(crawled: tuple[Path, str]) -> None:
    assert crawled[0].exists()  # the fixture has looked at everything that was printed


def test_the_text_of_a_page_keeps_its_lines(crawled: tuple[Path, str]) -> None:
    root, base = crawled
    shown = lycosa("show", f"{base}/", "--data-dir", str(root)).stdout
    assert "first]0;owned[31mred" in shown  # controls that nobody sees are no text
    assert "\\x9b2J \\x7fgpj.exe\\U000e0041" in shown  # the others are written out
    assert re.search(r"first.*\n+second", shown)
    assert len([line for line in shown.splitlines() if line.startswith("title ")]) == 1


def test_json_is_the_same_value(crawled: tuple[Path, str]) -> None:
    root, base = crawled
    told = json.loads(lycosa("show", f"{base}/", "--data-dir", str(root), "--json").stdout)
    assert "\x9b2J" in told["text"]
    assert "\u202e" in told["title"]
    assert "\U000e0041" in told["text"]


def commands(root: Path, base: str) -> list[list[str]]:
    data = ["--data-dir", str(root)]
    looks = [
        ["status"], ["pages", "--limit", "1000"], ["audit"], ["exclude", "--list"],
        ["why", f"{base}/"], ["why", f"{base}/secret"], ["why", f"{base}/moved"],
        ["domains"], ["domains", "--sort", "failing"], ["domain", "127.0.0.1"], ["queue"],
        ["queue", "--pattern", "*/a*"], ["top", "--once"], ["audit", "--domain", "127.0.0.1"],
        ["why", f"{base}/bad"], ["why", f"{base}/{NASTY}"], ["show", f"{base}/moved"],
    ]  # fmt: skip
    wrong = [
        ["show", f"{base}/{NASTY}"], ["show", NASTY], ["why", NASTY], ["pages", "--outcome", NASTY],
        ["pages", "--domain", NASTY], ["domain", NASTY], ["queue", "--domain", NASTY],
        ["queue", "--pattern", NASTY], ["domains", "--sort", NASTY], ["audit", "--domain", NASTY],
        ["exclude", NASTY], ["exclude", f"a.example/{NASTY}"],
        ["status", f"--{NASTY}"], [NASTY], ["status", "--store", f"postgresql://{NASTY}@127.0.0.1:1/"],
    ]  # fmt: skip
    return [[*words, *data, *how] for words in (*looks, *wrong) for how in ([], ["--json"])]


def test_no_command_lets_it_through(crawled: tuple[Path, str]) -> None:
    for words in commands(*crawled):
        lycosa(*words, ok=(0, 1, 2))


def test_nor_if_it_stands_in_the_database(crawled: tuple[Path, str]) -> None:
    """Whatever the other doors let in."""
    root, base = crawled
    db = sqlite3.connect(root / "crawl.sqlite")
    columns = [row[1] for row in db.execute("PRAGMA table_info(pages)") if row[2] == "TEXT"]
    for column in columns:
        db.execute(f"UPDATE pages SET {column} = {column} || ?", (NASTY + "\nforged 200 ok",))
    db.execute("UPDATE domains SET name = name || ?", (NASTY,))
    db.execute("UPDATE origins SET reason = ?, retry_ms = 1 << 50, failures = 3", (NASTY,))
    db.execute("UPDATE engines SET host = ?", (NASTY,))
    db.execute("INSERT INTO exclusions VALUES (?)", (f"a.example/{NASTY}*",))
    db.commit()
    db.close()
    for words in commands(root, base):
        lycosa(*words, ok=(0, 1, 2))
    lines = lycosa("pages", "--data-dir", str(root)).stdout.splitlines()
    assert lines and not [line for line in lines if line.startswith("forged")]
