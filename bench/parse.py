"""Measures what parsing costs per page, by the compiled reader, by the one in Python and by lexbor,
which only builds a tree; what the links cost on their way to the frontier; and how long the worst
documents hold the loop (S3).

    python bench/parse.py [--quick]

The pages are generated: running text, menus, lists, tables, inline scripts and styles, with one
element per 110 bytes or so, as on ordinary sites. Prints the best of several rounds, in
microseconds of CPU per page, since what disturbs a measurement only ever adds to it.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

from selectolax.lexbor import LexborHTMLParser

from lycosa.engine.harvest import LOOKED_AT, SITEMAP_URLS, Harvest, HarvestRules
from lycosa.engine.scheduler import Held
from lycosa.frontier.protocol import Batch
from lycosa.metrics import Stats
from lycosa.page import charset, html, html_scan, sitemaps
from lycosa.page.decode import decode
from lycosa.politeness import robots
from lycosa.simweb import hostile
from lycosa.urls.domains import domain_id
from lycosa.urls.scope import Scope, ScopeRules

PROSE = """
the of and to in is that for it as with was on are by this be from or at which an have not had but
were their one all they has been more when who will would there time about other into than people
only some could new these two may first then do any my now such like our over man even most made
after also did many off before must well back through years where government development
international information community organisation however important
"""
WORDS = PROSE.split()
PAGES = ((80_000, 60), (240_000, 100))
TYPE = "text/html; charset=utf-8"


def page(size: int, links: int, seed: int = 1) -> bytes:
    """A page of about `size` bytes with `links` links."""
    rng = random.Random(seed)
    head = _head(rng, size)
    menu = "".join(
        f'<li class="menu-item item-{i}"><a href="/{_words(rng, 1)}/{i}.html" class="nav">'
        f"{_words(rng, 2)}</a></li>\n"
        for i in range(links // 2)
    )
    parts = [head, f'<body class="home page">\n<nav><ul>\n{menu}</ul></nav>\n<main>\n']
    used = sum(map(len, parts))
    step = (size - used) // max(links // 2, 1)
    linked = 0
    while used < size:
        part = _block(rng, used)
        if linked < links // 2 and used > linked * step:
            part += (
                f'<p>{_words(rng, 8)} <a href="https://www.example{linked % 7}.com/{linked}?id=1'
                f'&amp;x=1" rel="noopener" target="_blank">{_words(rng, 3)}</a>, and more</p>\n'
            )
            linked += 1
        parts.append(part)
        used += len(part)
    parts.append("</main>\n<footer><p>&copy; 2024 Example</p></footer>\n</body>\n</html>\n")
    return "".join(parts).encode()


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


def _head(rng: random.Random, size: int) -> str:
    rules = "".join(f".c{i}{{margin:0 {i}px;padding:{i}px}}\n" for i in range(size // 500))
    script = "var a=function(b,c){return b<c&&c>b};\n" * (size // 400)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_words(rng, 6)}</title>\n"
        f'<meta name="description" content="{_words(rng, 20)}">\n'
        f'<link rel="stylesheet" href="/s.css">\n<link rel="canonical" href="https://e.com/a">\n'
        f"<style>{rules}</style>\n<script>{script}</script>\n</head>\n"
    )


def _block(rng: random.Random, serial: int) -> str:
    choice = rng.random()
    if choice < 0.5:
        return (
            f'<p class="text">{_words(rng, 25)} <b>{_words(rng, 2)}</b>, {_words(rng, 20)}'
            f" <em>{_words(rng, 1)}</em> &amp; {_words(rng, 20)}.</p>\n"
        )
    if choice < 0.7:
        return (
            f'<div class="row col-md-6" id="d{serial}" data-x="{_words(rng, 2)}">'
            f'<div class="inner wrap"><span class="label">{_words(rng, 2)}</span>'
            f'<img src="/img/{serial}.jpg" alt="{_words(rng, 3)}" width="300" height="200">'
            "</div></div>\n"
        )
    if choice < 0.8:
        return f'<h2 class="title">{_words(rng, 5)}</h2>\n'
    if choice < 0.9:
        return "<ul>" + "".join(f"<li>{_words(rng, 6)}</li>" for _ in range(4)) + "</ul>\n"
    if choice < 0.95:
        cells = "".join(f"<td>{_words(rng, 2)}</td>" for _ in range(4))
        return f"<table><tr>{cells}</tr></table>\n"
    return f"<script>window.q=window.q||[];q.push({{'a':'{_words(rng, 30)}'}});</script>\n"


def seconds(work: Callable[[], object], number: int, rounds: int) -> float:
    """CPU of one call, the best of the rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(number):
            work()
        best = min(best, time.thread_time() - start)
    return best / number


def measure(name: str, work: Callable[[], object], rounds: int) -> None:
    print(f"  {name:34}{seconds(work, 5, rounds) * 1e6:9.0f} us")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a single round, only to see it run")
    rounds = 1 if options.parse_args().quick else 60
    gc.set_threshold(100_000, 50, 100)  # as in an engine
    pages(rounds)
    links(rounds)
    worst(1 if rounds == 1 else 5)


def pages(rounds: int) -> None:
    """Ordinary pages."""
    for size, links in PAGES:
        body = page(size, links)
        parsed = html.parse_html(body, TYPE)
        print(f"{len(body)} bytes, {body.count(b'<')} '<',", end=" ")
        print(f"{len(parsed.links)} links, {len(parsed.text)} characters of text")
        measure("lexbor, only the tree", partial(LexborHTMLParser, body, options=1), rounds)
        measure("charset", partial(charset.to_utf8, body, TYPE), rounds)
        measure("parse_html without text", partial(_without_text, body), rounds)
        measure("parse_html", partial(html.parse_html, body, TYPE), rounds)
        measure("in Python, text and tags", partial(_in_python, body), rounds)


def _without_text(body: bytes) -> html.Parsed:
    return html.parse_html(body, TYPE, max_text=0)


def _in_python(body: bytes) -> object:
    return html_scan.scan(body, {}, html.MAX_NOTES, html.MAX_TEXT)


def links(rounds: int) -> None:
    """60 links of a page on their way from href to what the frontier gets."""
    print("60 links of a page: resolved, fingerprint, scope")
    kinds: dict[str, Callable[[int, int], str]] = {
        "all new, of the same origin": lambda page, i: f"/section/{page}/{i}.html",
        "all new, relative": lambda page, i: f"page-{page}-{i}.html",
        "all new, with a query": lambda page, i: f"/section/{page}/x?id={i}&amp;p=2",
        "all new, other domains": lambda page, i: f"https://www.example{page}x{i}.com/a/{i}",
        "half of them on every page": lambda page, i: f"/{page if i % 2 else 0}/{i}",
        "the same on every page": lambda _, i: f"/section/{i}.html",
    }
    for name, href in kinds.items():
        many = [[href(page, i) for i in range(60)] for page in range(200)]
        best = seconds(partial(_send, many), 1, max(rounds // 10, 1))
        print(f"  {name:34}{best / len(many) * 1e6:9.0f} us")


def _send(many: list[list[str]]) -> Batch:
    harvest = Harvest(HarvestRules(), Scope(ScopeRules()), lambda _: b"", iter(()))
    held = Held(
        domain_id("example.com"), "example.com", seeded=True, delay=70.0, failures=0, pages=0,
        queued=0, ready=0.0, run=[], origins={},
    )  # fmt: skip
    batch, stats = Batch(), Stats()
    for hrefs in many:
        harvest._links(held, hrefs, "https://www.example.com/a/b.html", 1, batch, stats)
    return batch


def worst(rounds: int) -> None:
    """Documents that are made to be slow, as far as they are read."""
    print("hostile documents")
    for name, work in _hostile():
        print(f"  {name:34}{seconds(work, 1, rounds) * 1e3:9.1f} ms")


def _hostile() -> Iterator[tuple[str, Callable[[], object]]]:
    for name, make in hostile.LARGE.items():
        yield f"html, {name}", partial(html.parse, make()[:LOOKED_AT], TYPE)
    units = {
        "a reference": b"&#1;", "line breaks": b"a<br>", "links": b"<a href=/%d>x</a>",
        "formatting": b"<b>x", "tags": b"<p></p>", "latin": b"h\xe9llo <i>w\xf6rld</i> ",
        "eight attributes": b"<p a%d b%d c%d d%d e%d f%d g%d h%d>x", "'<'": b"<", "'&'": b"&",
        "open divs": b"<div>", "spaces": b"&nbsp; ", "400 attributes": _crowd(400),
    }  # fmt: skip
    for name, unit in units.items():
        yield f"html, {name}", partial(html.parse, _repeat(unit), "text/html")
    reopened = b"<p>" + b"".join(b"<b %d>" % i for i in range(318)) + b"<p>x" * 320
    yield "html, formatting reopened", partial(html.parse, _repeat(reopened), "text/html")
    names = b" ".join(b"a%d" % i for i in range(120))
    large = b"<p>" + b"".join(b"<b %d %s>" % (i, names) for i in range(55)) + b"<p>x" * 560
    yield "html, the same, with attributes", partial(html.parse, large, "text/html")
    for name, unit in {"lines": b"\n", "latin": b"h\xe9 w\xf6\n", "words": b"some words\n"}.items():
        yield f"text, {name}", partial(html.parse, _repeat(unit), "text/plain")
    rules = {
        "rules": b"allow:/%d\n", "wildcards": b"disallow:/*a%d*b\n",
        "escapes": b"allow:/%%41%%e4%d\n",
        "agents": b"user-agent:b%d\nallow:/\n", "sitemaps": b"sitemap:http://e.test/%d\n",
        "delays": b"crawl-delay:1\n", "more than it may have": b"allow:/%d\n",
    }  # fmt: skip
    for name, unit in rules.items():
        limit = robots.MAX_BYTES if name.startswith("more") else robots.MAX_RULES
        body = b"user-agent:*\n" + b"".join(_units(unit, robots.MAX_BYTES - 20, limit))
        yield f"robots.txt, {name}", partial(_judged, body)
    entries = {
        "same": b"<loc>http://e.test/</loc>", "empty": b"<loc>", "'<'": b"<",
        "new": b"<loc>http://e.test/%d</loc>", "feed": b"<link a=b c=d e=f rel=x href=http://e.test/>",
        "entities": b"<loc>http://e.test/&#38;&#38;&#38;&#38;&#38;&#38;&#38;%d</loc>",
    }  # fmt: skip
    for name, unit in entries.items():
        body = (b"<rss>" if name == "feed" else b"<urlset>") + _repeat(unit)
        yield f"sitemap, {name}", partial(sitemaps.parse, body, SITEMAP_URLS)
    bomb = gzip.compress(bytes(64 << 20), 1)
    yield (
        "gzip bomb, unpacked and parsed",
        lambda: html.parse(decode(bomb, "gzip", LOOKED_AT)[0], TYPE),
    )
    for name, href in {"plain": "/x/%d", "dotted": "../x/%d", "not ascii": "/\xe4/%d"}.items():
        hrefs = [href % number for number in range(html.MAX_LINKS)]
        yield f"{html.MAX_LINKS} links, {name}", partial(_send, [hrefs])


def _judged(body: bytes) -> bool:
    """A URL by the rules of a robots.txt."""
    return robots.parse_robots(body).allows("/a/b?c")


def _crowd(count: int) -> bytes:
    return b"<p " + b" ".join(b"a%d" % number for number in range(count)) + b">x</p>"


def _units(unit: bytes, size: int, limit: int = 1 << 30) -> Iterator[bytes]:
    """Units up to a size; '%d' in them becomes a different number each time."""
    used, count = 0, unit.count(b"%d")
    for number in range(limit):
        part = unit % ((number,) * count) if count else unit
        used += len(part)
        if used > size:
            break
        yield part


def _repeat(unit: bytes) -> bytes:
    return b"".join(_units(unit, LOOKED_AT))


if __name__ == "__main__":
    main()
