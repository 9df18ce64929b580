"""What parsing costs per page: lexbor alone, then links, text and everything together.

    python bench/parse.py [--quick]

The pages are generated: running text, menus, lists, tables, inline scripts and styles, with one
element per 110 bytes or so, as on ordinary sites. Prints the best of several rounds, in
microseconds per page, since what disturbs a measurement only ever adds to it.
"""

from __future__ import annotations

import argparse
import random
import timeit
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from lycosa import charset, htmlguard, parse

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


def _cut(body: bytes) -> list[bytes]:
    pieces, at = [], 0
    while at < len(body):
        end, _ = htmlguard.piece_end(body, at)
        pieces.append(body[at:end])
        at = end
    return pieces


def _trees(pieces: list[bytes]) -> list[LexborHTMLParser]:
    return [LexborHTMLParser(piece, options=1) for piece in pieces]


def measure(name: str, work: Callable[[], object], rounds: int) -> None:
    best = min(timeit.repeat(work, number=5, repeat=rounds)) / 5
    print(f"  {name:34}{best * 1e6:9.0f} us")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a single round, only to see it run")
    rounds = 1 if options.parse_args().quick else 60
    for size, links in PAGES:
        body = page(size, links)
        pieces = _cut(body)
        trees = _trees(pieces)
        parsed = parse.parse_html(body, TYPE)
        print(f"{len(body)} bytes, {body.count(b'<')} '<', {len(pieces)} pieces,", end=" ")
        print(f"{len(parsed.links)} links, {len(parsed.text)} characters of text")
        measure("lexbor, whole page", lambda body=body: LexborHTMLParser(body, options=1), rounds)
        measure("lexbor, pieces", lambda pieces=pieces: _trees(pieces), rounds)
        measure("charset", lambda body=body: charset.to_utf8(body, TYPE), rounds)
        measure("cut into pieces", lambda body=body: _cut(body), rounds)
        measure("list of elements", lambda trees=trees: [t.tags("*") for t in trees], rounds)
        measure("links alone, a selector", lambda trees=trees: _links(trees), rounds)
        measure("parse_html without text", lambda body=body: _without_text(body), rounds)
        measure("parse_html", lambda body=body: parse.parse_html(body, TYPE), rounds)
        measure("tokens, without a tree", lambda body=body: _scan(body), rounds)


def _links(trees: list[LexborHTMLParser]) -> list[str | None]:
    return [node.attributes.get("href") for tree in trees for node in tree.css("a[href]")]


def _without_text(body: bytes) -> parse.Parsed:
    return parse.parse_html(body, TYPE, max_text=0)


def _scan(body: bytes) -> int:
    return sum(1 for _ in htmlguard.tokens(body.decode(), 1_000_000))


if __name__ == "__main__":
    main()
