"""The kinds of robots.txt: what is served, and by construction what each of them allows.

Owns the text and the meaning of every kind in `spec.ROBOTS`. The meaning is written as plain
predicates on paths, not derived by a robots.txt parser: so it can judge one. Knows nothing of
sites, sockets or of lycosa's own matcher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PRIVATE = ("/private/", "/drafts/")
REAL_ROBOTS = "/about/robots.txt"  # where robots-redirect leads
HOME = "robots-home.test"  # where robots-away leads: keeps the robots.txt of many domains
AIMED = "/rules/"  # under which HOME has a file for every host with robots-aimed
HUGE_BYTES = 600_000  # robots-huge; a crawler may stop reading after 500 KiB (RFC 9309)


def all_allowed(path: str) -> bool:
    """No path is disallowed."""
    return True


def none_allowed(path: str) -> bool:
    """Every path is disallowed."""
    return False


def dirs_allowed(path: str) -> bool:
    """All but two directories."""
    return not path.startswith(PRIVATE)


def wildcard_allowed(path: str) -> bool:
    """No page named draft; of the shop, only offers."""
    if path.endswith("-draft.html"):
        return False
    return not path.startswith("/shop") or (path.startswith("/shop/") and "-offer" in path[6:])


_ALLOW = "User-agent: *\nDisallow:\n"
_DIRS = "User-agent: *\nDisallow: /private/\nDisallow: /drafts/\n"
_WILDCARD = (
    "User-agent: *\nDisallow: /*-draft.html$\nDisallow: /shop\nAllow: /shop/*-offer # longer wins\n"
)
_LYCOSA = (
    "User-agent: *\nDisallow: /\n\n"
    "User-agent: Lycosa\nUser-agent: friendbot\nDisallow: /private/\n\n"
    "user-agent: lycosa\ndisallow: /drafts/\n"
)
_OTHERS = "User-agent: greedybot\nDisallow: /\n\nUser-agent: *\nAllow: /\n"


def _huge() -> str:
    line = "# nothing to see here, this line is only here to be long enough to count\n"
    padding = line * (HUGE_BYTES // len(line))
    return _DIRS + padding + "User-agent: *\nDisallow: /\n"


@dataclass(frozen=True)
class Robots:
    """One kind: what is answered, and what a correct crawler makes of it."""

    status: int = 200
    text: str = ""
    allowed: Callable[[str], bool] = all_allowed
    location: str = ""  # a redirect, relative or absolute; {host} stands for the one that asks
    unreachable: bool = False  # a correct crawler requests no page
    undecided: bool = False  # RFC 9309 leaves it to the crawler
    fail_first: int = 0  # so many requests get 503
    hold: str = ""  # "slow": held for slow_seconds; "hang": never answered


_KINDS = {
    "robots-allow": Robots(text=_ALLOW),
    "robots-404": Robots(404),
    "robots-dirs": Robots(text=_DIRS, allowed=dirs_allowed),
    "robots-wildcard": Robots(text=_WILDCARD, allowed=wildcard_allowed),
    "robots-lycosa": Robots(text=_LYCOSA, allowed=dirs_allowed),
    "robots-others": Robots(text=_OTHERS),
    "robots-deny": Robots(text="User-agent: *\nDisallow: /\n", allowed=none_allowed),
    "robots-crawl-delay": Robots(text=_DIRS, allowed=dirs_allowed),  # the delay is the site's
    "robots-403": Robots(403),
    "robots-500": Robots(500, allowed=none_allowed, unreachable=True),
    "robots-503": Robots(503, allowed=none_allowed, unreachable=True),
    "robots-503-twice": Robots(text=_DIRS, allowed=dirs_allowed, fail_first=2),
    "robots-slow": Robots(text=_DIRS, allowed=dirs_allowed, hold="slow"),
    "robots-hang": Robots(allowed=none_allowed, unreachable=True, hold="hang"),
    "robots-redirect": Robots(301, _DIRS, dirs_allowed, location=REAL_ROBOTS),
    "robots-away": Robots(302, allowed=dirs_allowed, location=f"http://{HOME}/robots.txt"),
    "robots-aimed": Robots(302, allowed=dirs_allowed, location=f"http://{HOME}{AIMED}{{host}}.txt"),
    "robots-loop": Robots(302, location="/robots.txt", undecided=True),
    "robots-huge": Robots(text=_huge(), allowed=dirs_allowed),
    "robots-bom": Robots(text="\ufeff" + _DIRS.replace("\n", "\r\n"), allowed=dirs_allowed),
    "robots-sitemap": Robots(text=_ALLOW),  # the Sitemap line is the host's
}


def robots_kind(name: str) -> Robots:
    """The kind of that name."""
    return _KINDS[name]


def home_text(target: str) -> str:
    """The robots.txt files that HOME serves; '' if there is none."""
    return _DIRS if target == "/robots.txt" or target.startswith(AIMED) else ""
