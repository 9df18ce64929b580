"""The sites that bench/real_files.py makes of a folder of files, and its refusal to run outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from measure import namespace
from real.serve import FilePages
from real.sites import Sites

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    links = (
        *("two.html", "../b/three.html#here", "../a/two.html", "../b/", "../b", "nowhere.html"),
        *("https://www.example.org/", "../../up.html", "mailto:a@b.example", "#top", "/root.html"),
    )
    text = "".join(f'<p><a class="x" href="{link}">link</a>' for link in links)
    for path in ("a/one.html", "a/two.html", "b/three.html", "b/index.html"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"<title>{path}</title>{text}")
    return tmp_path


def body(pages: FilePages, url: str) -> str:
    parts = urlsplit(url)
    assert parts.hostname
    reply = pages.respond(parts.scheme, parts.hostname, parts.path, gzip=False, keep=True)
    head, _, data = reply.data.partition(b"\r\n\r\n")
    return data.decode() if b" 200 " in head[:20] else ""


def test_links_between_directories_lead_from_site_to_site(folder: Path) -> None:
    sites = Sites(folder, 3)
    pages = FilePages(sites)
    assert sites.files == 4
    assert len(set(sites.hosts())) == 6
    start = f"https://{sites.hosts()[4]}/"  # site a, the third copy
    seen, todo = {start}, [start]
    titles = set()
    while todo:
        url = todo.pop()
        text = body(pages, url)
        if not text:
            continue
        titles.add(text[7 : text.index("</title>")])
        found = {urljoin(url, link).partition("#")[0] for link in re.findall('href="(.*?)"', text)}
        todo += [each for each in found - seen if each.startswith("http")]
        seen |= found
    assert titles == {"a/one.html", "a/two.html", "b/three.html", "b/index.html"}
    ours = [urlsplit(url).hostname or "" for url in seen if ".test/" in url]
    assert {host.rpartition("-c")[2] for host in ours} == {"2.test"}  # all in one copy
    assert "https://www.example.org/" in seen  # what leads outside stays


def test_unknown_names_and_files_are_not_served(folder: Path) -> None:
    sites = Sites(folder, 1)
    pages = FilePages(sites)
    host = sites.hosts()[0]
    assert body(pages, f"http://{host}/one.html")
    for url in (f"http://{host}/robots.txt", f"http://{host}/../b/three.html", "http://b.test/"):
        assert not body(pages, url)
    for name in ("www.example.org", host.replace("-c0", "-c1"), "test", f"x.{host}"):
        assert sites.find(name) is None


def test_it_refuses_to_run_outside_of_a_namespace() -> None:
    """Without root or unshare it can't enter one; the variable that says so is not believed."""
    env = {key: value for key, value in os.environ.items() if key != namespace.INSIDE}
    env["PATH"] = "/nowhere"
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    claims = [{}, {namespace.INSIDE: "1"}] if any(r.split()[1] == "0" * 8 for r in routes) else [{}]
    for claim in claims:
        done = subprocess.run(
            [sys.executable, BENCH / "real_files.py", "--quick"],
            env={**env, **claim}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 2
        assert "only in a network namespace" in done.stderr
