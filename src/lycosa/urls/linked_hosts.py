"""Which hosts a page links to, and how often: the edges of the host graph. Pure.

Looks at links as they stand in the page, before scope and before URLs that were met already are
left out: `links` and `_links` resolve those that are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from lycosa.urls.canonical import canonical, host_of

MOST_HOSTS = 200  # of one page that are counted: a list of the whole web must not fill memory
_HOSTS_REMEMBERED = 1 << 14

_absolute = re.compile(r"\s*+(?:https?:)?[/\\]{2}([^/?#\\\s]{1,300})", re.I).match
_other_scheme = re.compile(r"\s*+[a-z][a-z0-9+.-]{0,30}:", re.I).match


def linked_hosts(
    hrefs: Iterable[str], base: str, taken: Sequence[tuple[str, int]] = ()
) -> dict[str, int]:
    """How often each host is linked to; `base` is the URL that the links are relative to. `taken`:
    hosts, with their ports if they have any, and links to them that are not among the hrefs."""
    counts: dict[str, int] = {}
    for written, links in taken:
        name = written if ":" not in written else host_of(f"http://{written}/")
        counts[name] = counts.get(name, 0) + links
    known: dict[str, str] = {}  # hosts by how they are written
    inside = 0
    own = host_of(base)
    absolute = (f"https://{own}/", f"http://{own}/", f"//{own}/")
    for href in hrefs:  # most of them lead to the same host
        if href.startswith(absolute) or (":" not in href and "//" not in href and "\\" not in href):
            inside += 1
            continue
        if found := _absolute(href):
            host = known.get(found[1])
            if host is None:
                if len(known) >= MOST_HOSTS:
                    continue
                host = known[found[1]] = _host(found[1])
        elif _other_scheme(href):
            continue
        else:
            inside += 1
            continue
        if host:
            counts[host] = counts.get(host, 0) + 1
    if inside:
        counts[own] = counts.get(own, 0) + inside
    return counts


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def _host(authority: str) -> str:
    """The host in its canonical form, '' if it can't be one."""
    url = canonical(f"https://{authority}/")
    return host_of(url) if url else ""
