"""Nothing enters the frontier that is not canonical, whichever way it comes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from test_visit import CLOCK, NOW, reply

from lycosa.engine import errands
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.visit import Visit
from lycosa.engine.visit_result import VisitRules
from lycosa.frontier.protocol import Batch
from lycosa.metrics import Stats
from lycosa.node.seed_file import Seed, read
from lycosa.politeness import robots
from lycosa.records import Flag, Url
from lycosa.urls.canonical import canonical, over_http
from lycosa.urls.scope import Scope, ScopeRules
from support.cpu import cpu_seconds
from support.harvest_bench import Bench
from support.made import held, queued

SOURCE = Path(__file__).parents[2] / "src" / "lycosa"
XML = "Content-Type: application/xml"

BAD = [
    "x", "https://", "http://", "http://h:bad/", "http://a.test:99999/", "", " ", "/\\",
    "//", "///",
    "file:///etc/passwd", "ftp://a.test/x", "javascript:alert(1)", "mailto:a@a.test", "data:,x",
    "https://a b.test/", "https://[::1/", "https://a.test:-1/", "http://[bad]/", "http://%zz/",
    "https://a..test:x/", "http:// /", "https://\0/", "https://a\0.test/", "https:", "https:///",
    "http://a.test/" + "y" * 2_100, "http://" + "a." * 200 + "test/", "ht tp://a.test/",
    "http//a.test",
]  # fmt: skip
# As it is written, and what it means.
GOOD = {
    "https://a.test/1": "https://a.test/1",
    "HTTPS://A.TEST/2": "https://a.test/2",
    "https://a.test:443/3": "https://a.test/3",
    "http://a.test:80/4": "http://a.test/4",
    "https://a.test/5#part": "https://a.test/5",
    "https://user:secret@a.test/6": "https://a.test/6",
    "  https://a.test/7  ": "https://a.test/7",
    "https://a.test/x/../8": "https://a.test/8",
    "https://a.test/ü9": "https://a.test/%C3%BC9",
    "https://ü.a.test/10": "https://xn--tda.a.test/10",
    "https://a.test/1\r\n1": "https://a.test/11",
    "https://a.test/12 b": "https://a.test/12%20b",
    "//a.test/13": "https://a.test/13",
    "/14": "https://a.test/14",
    "https:\\\\a.test\\15": "https://a.test/15",
    "https:/a.test/16": "https://a.test/16",
    "https://a.test?17": "https://a.test/?17",
    "https://a.test?u=/18": "https://a.test/?u=/18",
    "https://sub.a.test:8443/19": "https://sub.a.test:8443/19",
    "https://a.test/%2e%2e/20": "https://a.test/20",
    "https://a.test/2\x001": "https://a.test/2%001",
    "https://a.test/24\0": "https://a.test/24",
    "/\\a.test/25": "https://a.test/25",
    "https://a.test./22": "https://a.test./22",
    "https://A%2etest/23": "https://a.test/23",
}


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def listing(kind: str, texts: list[str]) -> bytes:
    if kind == "text":
        return "\n".join(texts).encode()
    if kind == "feed":
        return ("<rss>" + "".join(f"<link>{escaped(t)}</link>" for t in texts)).encode()
    if kind == "atom":
        links = (f'<link rel="alternate" href="{escaped(t)}"/>' for t in texts)
        return ("<feed>" + "".join(links)).encode()
    inner = "".join(f"<loc>{escaped(t)}</loc>" for t in texts)
    return f"<{kind}>{inner}</{kind}>".encode()


def sitemap(kind: str, texts: list[str]) -> Bench:
    bench = Bench()
    bench.page(listing(kind, texts), XML, flags=Flag.SITEMAP, url="/map.xml")
    assert bench.batch.pages[0].outcome == "sitemap"
    return bench


KINDS = ["urlset", "sitemapindex", "feed", "atom"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_one_costs_nothing_but_itself(kind: str, bad: str) -> None:
    bench = sitemap(kind, ["https://a.test/before", bad, "https://a.test/after"])
    assert bench.urls == ["https://a.test/before", "https://a.test/after"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written", GOOD)
def test_a_good_one_in_another_spelling_is_taken(kind: str, written: str) -> None:
    assert sitemap(kind, [written]).urls == [GOOD[written]]
    assert sitemap(kind, [*BAD, written]).urls == [GOOD[written]]


@pytest.mark.parametrize("kind", [*KINDS, "text"])
def test_all_at_once_and_what_is_no_url_is_counted(kind: str) -> None:
    bench = sitemap(kind, [*BAD, *GOOD, "https://other.test/x", "https://nota.test/"])
    if kind != "text":  # where only lines that begin like a URL are looked at
        assert set(bench.urls) == set(GOOD.values())
        assert bench.stats.drops["not-a-url"] >= 20
    assert_canonical(bench.urls)


def assert_canonical(urls: list[str]) -> None:
    assert urls
    for url in urls:
        assert canonical(url) == url
        assert "#" not in url and url.isascii() and url.isprintable()


def test_many_bad_ones_leave_room_for_the_good_ones() -> None:
    texts = [f"x{i}" for i in range(400)] + [f"https://a.test/{i}" for i in range(400)]
    assert len(sitemap("urlset", texts).urls) == 400
    hosts = [f"https://h{i}.a.test/" for i in range(400)] + ["https://a.test/last"]
    found = sitemap("urlset", hosts)
    assert found.urls[-1] == "https://a.test/last"
    assert found.stats.drops["host-cap"] == 200


# -- every way in ---------------------------------------------------------------------------------


def visited(answers: dict[str, tuple[int, str, bytes]], first: str = "https://a.test/") -> Batch:
    """What a visit of a domain sends to the store."""
    domain = held("a.test", [queued(first, order=1)])
    scope = Scope(ScopeRules())
    visit = Visit(domain, VisitRules(70.0, sitemaps=True), scope, NOW, CLOCK)
    request, now = visit.begin(), NOW
    while request is not None:
        now += 1
        request = visit.resume(reply(request, answers.get(request.url, (404, "", b"")), now))
    batch = Batch()
    harvest = Harvest(HarvestRules(), scope, lambda request: b"GET", iter(()))
    harvest.take(visit.result, batch, Stats())
    batch.errands += [errands.link(url, depth) for url, depth in visit.result.errands]
    return batch


def sent(batch: Batch) -> list[str]:
    rows = [page.url for page in batch.pages] + [page.redirect for page in batch.pages]
    links = batch.all_links() + batch.errands
    return [link[2] for link in links] + [url for url in rows if url]


@pytest.mark.parametrize("text", [*BAD, *GOOD, "https://other.test:443/x#y", "HTTP://ü.test"])
def test_every_way_in(text: str) -> None:
    page = (200, "Content-Type: text/html", b"<a href=/ok>ok</a>")
    quoted = text.replace("&", "&amp;").replace('"', "&quot;")
    links = f'<base href="{quoted}"><a href="{quoted}">x</a><link rel=canonical href="{quoted}">'
    answers = [
        {"https://a.test/": (200, "Content-Type: text/html", f"{links}<a href=/ok>x".encode())},
        {"https://a.test/": (302, f"Location: {one_line(text)}", b"")},
        {"https://a.test/robots.txt": (200, "", f"Sitemap: {text}\n".encode()),
         "https://a.test/": page},
        {"https://a.test/robots.txt": (302, f"Location: {one_line(text)}", b""),
         "https://a.test/": page},
    ]  # fmt: skip
    for web in answers:
        assert_canonical(sent(visited(web)))
    for seed in read([text.encode(), b"https://a.test/"]):
        if isinstance(seed, Seed):
            assert_canonical([seed.url])
    for stored in robots.Rules.load(
        robots.parse_robots(f"Sitemap: {text}".encode()).dump()
    ).sitemaps:
        assert_canonical([stored])


def one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "").replace("\0", "")


def test_a_bare_seed_with_a_port_stays_canonical_over_http() -> None:
    assert over_http(Url("https://a.test/x")) == "http://a.test/x"
    assert over_http(Url("https://a.test:80/x")) == "http://a.test/x"
    assert over_http(Url("https://a.test:8080/")) == "http://a.test:8080/"


# -- the type ---------------------------------------------------------------------------------


def test_only_urls_makes_them() -> None:
    """And seeds, for plain domains, robots, the log and blocks of links, for what they stored or
    packed themselves, and records: none at all."""
    makers = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = getattr(getattr(node, "func", None), "id", "")
            if called == "Url" or (called == "cast" and "Url" in ast.dump(node)):
                makers.add(path.relative_to(SOURCE).as_posix())
    assert "urls/canonical.py" in makers
    known = {"node/seed_file.py", "politeness/robots.py", "records.py"}
    known |= {"frontier/log/planning.py", "frontier/log/twin.py", "frontier/values.py"}
    assert makers <= {"urls/canonical.py", *known}


def test_the_type_checker_lets_no_plain_text_in(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(
        "from lycosa.frontier.protocol import Batch\n"
        "from lycosa.records import QueuedUrl\n"
        "Batch().links.append((1, 2, 'http://a.test/#x', 0, 'a.test', 0))\n"
        "QueuedUrl(1, 'file:///x', 0, 0)\n"
    )
    root = SOURCE.parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(program)]
    done = subprocess.run(
        command, cwd=root, env={"MYPYPATH": str(SOURCE.parent)}, capture_output=True, text=True
    )
    assert re.findall(r"wrong\.py:(\d+): error", done.stdout) == ["3", "4"], done.stdout


# -- and it costs little --------------------------------------------------------------------------

COSTLY = {
    "plain": lambda i: f"https://a.test/p/{i}",
    "queries": lambda i: f"https://a.test/p?id={i}&amp;utm_source=x{i}",
    "hosts": lambda i: f"https://h{i}.a.test/p",
    "other scripts": lambda i: f"https://ü{i}.test/p",
    "own, other scripts": lambda i: f"https://ü{i}.a.test/p",
    "one, other script": lambda i: f"https://ü.a.test/p{i}",
    "queries behind hosts": lambda i: f"https://ü.a.test?u=/p{i}",
    "paths in other scripts": lambda i: f"https://a.test/ü/{i}",
    "dots": lambda i: f"https://a.test/{'../' * 60}{i}",
    "capitals": lambda i: f"HTTPS://A.TEST:443/{i}",
    "nonsense": lambda i: f"x{i}",
    "nonsense hosts": lambda i: f"http://h{i}:bad/",
    "labels": lambda i: f"https://{'a.' * 100}{i}.a.test/",
    "numbers": lambda i: f"https://0x{i}/",
}


def take(body: bytes) -> None:
    """A sitemap, by an engine that has seen nothing before."""
    Bench().page(body, XML, flags=Flag.SITEMAP)


@pytest.mark.parametrize("kind", ["urlset", "sitemapindex", "rss", "text"])
@pytest.mark.parametrize("name", COSTLY)
def test_a_sitemap_of_five_thousand(kind: str, name: str) -> None:
    """Hosts in another script took 0.14 s."""
    texts = [COSTLY[name](i) for i in range(5_000)]
    tag = "link" if kind == "rss" else "loc"
    inner = "".join(f"<{tag}>{text}</{tag}>" for text in texts)
    body = "\n".join(texts) if kind == "text" else f"<{kind}>{inner}</{kind}>"
    took = cpu_seconds(partial(take, body.encode()), enough=0.04)
    assert took < 0.08, took


@pytest.mark.parametrize("many", [20, 200, 600, 4_000])
def test_feeds_with_thousands_of_attributes(many: int) -> None:
    """They took 0.39 s."""
    attributes = "".join(f" a{i}=b" for i in range(many))
    tag = f"<link{attributes} href='https://a.test/x'/>"
    for root in ("rss", "feed", "urlset"):
        body = (f"<{root}>" + tag * ((2 << 20) // len(tag))).encode()
        took = cpu_seconds(partial(take, body))
        assert took < 0.05, took
