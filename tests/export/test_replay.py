"""Web archives as the programs take them for which they are made: pywb and the validator of WACZ,
in an environment of their own (pywb brings a brotli that would shadow ours)."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from export.commands import run
from lycosa.export.surt import surt_key
from lycosa.urls.canonical import canonical
from support.program import wait_for
from support.rich_crawl import first_copy, is_ok, text_of, url_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PACKAGES = ("pywb", "wacz", "setuptools<81")
OK = [n for n in range(200) if is_ok(n)]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pywb, wacz and surt are installed."""
    place = tmp_path_factory.mktemp("others") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [str(place / "bin/python"), "-m", "pip", "install", "-q", *PACKAGES]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs a package registry: {done.stderr[-300:]}")
    return place / "bin"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def replayed(others: Path, place: Path) -> Iterator[str]:
    """A pywb that serves the collection `c` below a directory."""
    port = free_port()
    with (place / "log").open("wb") as log:
        server = subprocess.Popen(
            [others / "wayback", "-b", "127.0.0.1", "-p", str(port)],
            cwd=place, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_for(lambda: _answers(port), 60)
        yield f"http://127.0.0.1:{port}/c"
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def get(base: str, url: str) -> tuple[int, bytes]:
    """What pywb answers for a URL, as it was recorded."""
    try:
        with urllib.request.urlopen(f"{base}/20300101000000id_/{url}", timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def check(base: str) -> None:
    """Every page says what it said, revisits too."""
    for number in OK[:40]:
        status, body = get(base, url_of(number))
        assert (status, body) == (200, f"<title>Title</title><p>{text_of(number)}".encode()), number
    assert sum(first_copy(n) == 5 for n in OK[:40]) > 1
    assert get(base, url_of(13))[0] == 404
    assert b"not found" in get(base, "https://nowhere.example/")[1].lower()


def test_pywb_replays_warc_files_by_their_index(rich: Path, tmp_path: Path, others: Path) -> None:
    run("export", "warc", tmp_path / "out", "--data-dir", rich, "--file-size", "20k")
    place = tmp_path / "pywb/collections/c"
    (place / "archive").mkdir(parents=True)
    (place / "indexes").mkdir()
    for path in (tmp_path / "out").glob("*.warc.gz"):
        shutil.copy(path, place / "archive")
    shutil.copy(tmp_path / "out/index.cdxj", place / "indexes")
    with replayed(others, tmp_path / "pywb") as base:
        check(base)


def test_pywb_replays_the_crawls_own_segments_by_cdxj(
    rich: Path, tmp_path: Path, others: Path
) -> None:
    place = tmp_path / "pywb"
    place.mkdir()
    run("export", "cdxj", place / "index.cdxj", "--data-dir", rich)
    config = {
        "collections": {
            "c": {"index_paths": str(place / "index.cdxj"), "archive_paths": f"{rich}/"}
        }
    }
    (place / "config.yaml").write_text(json.dumps(config))
    with replayed(others, place) as base:
        check(base)


def test_the_validator_takes_a_wacz_file(rich: Path, tmp_path: Path, others: Path) -> None:
    out = tmp_path / "out.wacz"
    run("export", "wacz", out, "--data-dir", rich, "--file-size", "20k")
    done = subprocess.run(
        [others / "wacz", "validate", "-f", out], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation succeeded" in done.stdout


def test_keys_are_those_of_the_package_surt(others: Path) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    pieces = ["a", "B", "%41", "%2F", "%C3%BC", "/", "//", "&", "=", "?", "x=1", "sid=", ";", "+"]
    pieces += ["www.", "~", "%25", "index.html", "0123456789abcdef0123456789abcdef", "(", ")", "."]
    hosts = ("www.example.com", "www3.a.co.uk:8080", "192.0.2.1", "example.org.", "m.www.x.net")
    made = (
        canonical(f"https://{chance.choice(hosts)}/{''.join(chance.choices(pieces, k=9))}")
        for _ in range(3_000)
    )
    urls = [url for url in made if url]
    script = "import sys, surt\nfor line in sys.stdin: print(surt.surt(line.rstrip('\\n')))"
    done = subprocess.run(
        [others / "python", "-c", script], input="\n".join(urls), capture_output=True, text=True
    )
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(urls), done.stderr
    wrong = [(u, surt_key(u), t) for u, t in zip(urls, theirs, strict=True) if surt_key(u) != t]
    assert len(wrong) <= len(urls) / 100, (seed, wrong[:5])
