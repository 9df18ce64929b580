"""Links resolved in Python, with a memo: a link that a site repeats costs a dictionary lookup.

Owns the memo and what the parser may cost one page. `_links` (compiled) resolves the plain hrefs
of a page first; what it leaves, or all of them where it was not compiled, comes here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from xxhash import xxh3_64_intdigest

from lycosa.records import Url
from lycosa.urls.canonical import (
    MAX_URL,
    canonical,
    join_relative,
    join_rooted,
    plain_relative,
    plain_rooted,
)
from lycosa.urls.domains import place_of_origin
from lycosa.urls.fingerprint import dedup_key, signed_hash

# What the parser may cost one page: real ones have a few hundred links for it. One costs 10 us, and
# as much again for every _COST characters of the href and of the base.
_PARSED = 2_000
_COST = 1_600

ResolvedLink = tuple[int, int, Url, str]
"""Domain id, fingerprint, URL, domain."""
Found = ResolvedLink | tuple[()]  # (): the href is no link of ours
Memo = dict[str, Found]
Plain = Callable[[str], re.Match[str] | None]

_SKIPPED = ("#", "javascript:", "mailto:", "data:", "tel:")
_SIGN, _WRAP = 1 << 63, 1 << 64  # to make a hash a signed number, as `fingerprint.signed_hash` does


def resolved(url: Url) -> ResolvedLink:
    """A canonical URL as a link."""
    place, domain = place_of_origin(url[: url.find("/", 8)])
    return place, signed_hash(dedup_key(url)), url, domain


def bases(url: str) -> tuple[str, str]:
    """What hrefs of a canonical URL are joined to: its origin, and its directory with the '/'."""
    query = url.find("?")
    return url[: url.find("/", 8)], url[: url.rfind("/", 8, query if query >= 0 else None) + 1]


class LinkResolver:
    """Turns a page's hrefs into links, remembering what each origin and directory linked before.

    A memo is exact only if its key holds all that the answer depends on: hrefs that begin with
    '/' or a scheme are kept under the base's origin, relative ones under its directory, and what
    depends on the whole base (an empty or query-only href) is not kept. Memory is bounded by two
    generations of memos: what is used moves to the young one, the old one is dropped whole.
    """

    def __init__(self, limit: int = 100_000) -> None:
        """`limit`: hrefs remembered in all, about 450 bytes each."""
        self._half = max(limit // 2, 1)
        self._young: dict[str, Memo] = {}
        self._old: dict[str, Memo] = {}
        self._count = 0  # hrefs in the young generation, and one for each memo
        self._work = 0  # of the parser, still to be spent on a page
        self.dropped = 0  # hrefs of the last page that there was no time for

    def resolve(self, hrefs: list[str], base: str) -> list[ResolvedLink]:
        """The distinct good links of a page, in order; `base` is canonical. Two URLs with one
        fingerprint both come: a rule may refuse the first of them."""
        self._work, self.dropped = _PARSED * _COST, 0
        if not hrefs:
            return []  # nearly always: nor is there a memo to be kept for its directory
        if self._count > self._half:
            self._old, self._young, self._count = self._young, {}, 0
        origin, directory = bases(base)
        place = place_of_origin(origin)
        rooted, relative = self._memo(origin), self._memo(directory)
        in_origin, in_directory = rooted.get, relative.get
        before = len(rooted) + len(relative)
        seen: set[str] = set()
        links: list[ResolvedLink] = []
        for href in hrefs:
            found = in_origin(href)
            if found is None:
                found = in_directory(href)
                if found is None:
                    if href[:1] == "/":
                        found = _join(href, origin, plain_rooted, place, rooted)
                    elif href[:4] != "http":
                        found = _join(href, directory, plain_relative, place, relative)
                    if found is None:
                        found = self._find(href, base, origin, directory, rooted, relative)
            if found and found[2] not in seen:
                seen.add(found[2])
                links.append(found)
        self._count += len(rooted) + len(relative) - before
        return links

    def _find(
        self, href: str, base: str, origin: str, directory: str, rooted: Memo, relative: Memo
    ) -> Found:
        """Resolves an href that no memo holds, and keeps it under what it depends on."""
        if href.startswith(_SKIPPED):
            return ()
        fragment = href.find("#")
        text = href if fragment < 0 else href[:fragment]
        memo: Memo | None = None
        if href.startswith(("/", "http://", "https://")):
            memo = rooted
            url = join_rooted(text, origin)
        else:
            url = join_relative(text, directory)
            # With a colon it may be a scheme without slashes, which follows the whole base.
            if url or (href[:1] > " " and href[0] != "?" and ":" not in href):
                memo = relative
        if url is None or len(url) > MAX_URL:
            self._work -= _COST + len(base) + (len(href) if href.isascii() else 8 * len(href))
            if self._work < 0:
                self.dropped += 1
                return ()
            url = canonical(href, base)
        found = resolved(url) if url else ()
        if memo is not None and len(href) <= MAX_URL:
            memo[href] = found
        return found

    def _memo(self, key: str) -> Memo:
        memo = self._young.get(key)
        if memo is None:
            memo = self._old.pop(key, None)
            # A memo that fills half a generation would for ever push the others out: start anew.
            if memo is None or 2 * len(memo) > self._half:
                memo = {}
            self._young[key] = memo
            self._count += len(memo) + 1
        return memo

    def __len__(self) -> int:
        """Hrefs remembered."""
        return sum(map(len, self._young.values())) + sum(map(len, self._old.values()))


def _join(
    href: str, before: str, plain: Plain, place: tuple[int, str], memo: Memo
) -> ResolvedLink | None:
    """A plain href of the base's own origin, kept; None: it needs a closer look."""
    if plain(href) is None or "/." in href or "/%2" in href:
        return None
    url: Url = before + href  # type: ignore[assignment]  # calling Url would show here
    if len(url) > MAX_URL:
        return None
    # Without a query and a ';' there is nothing to fold.
    key = dedup_key(url) if "?" in href or ";" in url else url
    hashed = xxh3_64_intdigest(key.encode())
    found = place[0], hashed if hashed < _SIGN else hashed - _WRAP, url, place[1]
    memo[href] = found
    return found
