"""Paths of ordinary pages, and the domain of a host in the simulated web.

Owns the arithmetic between page numbers and paths. It is the same on every host of one layout, so
that paths and anchors are made once for all hosts. The layouts from 1 on have the shapes of real
sites: dates, categories, wikis, scripts with a query. Pure.
"""

from __future__ import annotations

import re

from lycosa.simweb.chance import draw

SECTIONS = ("news", "articles", "private", "shop", "people", "drafts", "archive", "docs")
SLUGS = ("offer", "report", "draft", "review", "summer", "letter", "winter", "guide", "market")
SIMPLE = 0  # the layout of webs that are not meant to look real
LAYOUTS = 7
_TOPIC_LIST = """
world business science health travel sport music culture politics energy garden kitchen design
history weather software hardware research community education products services support
"""
_WORD_LIST = """
how to the best new guide first open water little harbour winter letter mountain market engine
bridge paper window school forest island village copper silver teacher doctor station library
picture question answer summer council museum railway factory journey language measure pattern
quarter surface theatre value release install update notes list members prices
"""
_TOPICS, _WORDS = _TOPIC_LIST.split(), _WORD_LIST.split()

_paths: list[list[str]] = [["/"] for _ in range(LAYOUTS + 1)]
_number = re.compile(r"(\d+)\D*$", re.ASCII)


def _name(number: int, layout: int) -> str:
    if layout != SIMPLE:
        return _real_name(number, layout)
    section, slug = SECTIONS[number % len(SECTIONS)], SLUGS[number % len(SLUGS)]
    return f"/{section}/{number}-{slug}.html"


def _real_name(number: int, layout: int) -> str:
    """The last number in it is that of the page."""
    bits = draw(layout, number)
    topic = _TOPICS[(bits >> 8) % len(_TOPICS)]
    words = (_WORDS[(bits >> 16 + 9 * k) % len(_WORDS)] for k in range(2 + bits % 3))
    slug = "-".join(words)
    return {
        1: f"/{2012 + bits % 14}/{1 + bits % 12:02}/{slug}-{number}/",
        2: f"/{topic}/{slug}-{number}",
        3: f"/{topic}/{slug}-{number}.html",
        4: f"/{topic}/{_WORDS[bits % 7]}/{slug}-{number}.html",
        5: f"/wiki/{slug.title().replace('-', '_')}_{number}",
        6: f"/{slug}-{number}",
    }.get(layout, f"/{topic}/index.php?view=article&ref={slug}&id={number}")


def page_path(number: int, layout: int = SIMPLE) -> str:
    """The path of an ordinary page: the same on every host of that layout."""
    paths = _paths[layout]
    while len(paths) <= number:
        paths.append(_name(len(paths), layout))
    return paths[number]


def page_number(path: str, layout: int = SIMPLE) -> int:
    """The ordinary page at that path, or -1."""
    if path == "/":
        return 0
    if layout == SIMPLE:
        digits = path[path.find("/", 1) + 1 : path.find("-")]
    else:
        found = _number.search(path)
        digits = found[1] if found else ""
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        return -1
    number = int(digits)
    return number if number and _name(number, layout) == path else -1


def registrable(host: str) -> str:
    """The registrable domain of a host of this web; an address is its own."""
    if host.replace(".", "").isdecimal():
        return host
    return ".".join(host.rsplit(".", 2)[-2:])
