"""Paths of ordinary pages, and the domain of a host in the simulated web.

Owns the arithmetic between page numbers and paths. It is the same on every host, so that paths and
anchors are made once for all hosts. Pure.
"""

from __future__ import annotations

SECTIONS = ("news", "articles", "private", "shop", "people", "drafts", "archive", "docs")
SLUGS = ("offer", "report", "draft", "review", "summer", "letter", "winter", "guide", "market")

_paths = ["/"]


def _name(number: int) -> str:
    section, slug = SECTIONS[number % len(SECTIONS)], SLUGS[number % len(SLUGS)]
    return f"/{section}/{number}-{slug}.html"


def page_path(number: int) -> str:
    """The path of an ordinary page: the same on every host."""
    while len(_paths) <= number:
        _paths.append(_name(len(_paths)))
    return _paths[number]


def page_number(path: str) -> int:
    """The ordinary page at that path, or -1."""
    if path == "/":
        return 0
    digits = path[path.find("/", 1) + 1 : path.find("-")]
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        return -1
    number = int(digits)
    return number if number and _name(number) == path else -1


def registrable(host: str) -> str:
    """The registrable domain of a host of this web; an address is its own."""
    if host.replace(".", "").isdecimal():
        return host
    return ".".join(host.rsplit(".", 2)[-2:])
