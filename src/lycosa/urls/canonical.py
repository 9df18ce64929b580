"""What a URL is: its canonical form, its parts, its domain, its fingerprint, and links resolved.

Owns the WHATWG rules (by ada_url), the public suffix list, and the memo that makes the repeated
links of a site cost a dictionary lookup. Pure: no I/O beyond reading the suffix list at import.
Must not know which URLs we want (scope) or may fetch (robots).

Most new links are plain ASCII with nothing to normalise. Strict patterns recognise those, and
they are joined by string concatenation; everything else takes the full parser. The patterns only
accept what the parser would leave unchanged, and the tests compare the two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from itertools import repeat
from typing import NamedTuple

from ada_url import idna, join_url, normalize_url
from xxhash import xxh3_64_intdigest

from lycosa.records import Url
from lycosa.urls.fingerprint import dedup_key, signed_hash

MAX_URL = 2000  # characters of a canonical URL
# Raw input beyond this is not even parsed: no sane spelling of a good URL is four times its size.
MAX_RAW = 4 * MAX_URL
# What the parser may cost one page: real ones have a few hundred links for it. One costs 10 us, and
# as much again for so many characters of it and of the base.
_PARSED = 2_000
_COST = 1_600
# Hosts whose domain is remembered: about 300 bytes each.
_HOSTS_REMEMBERED = 1 << 16

Link = tuple[int, int, Url, str]
"""A resolved link: domain id, fingerprint, URL, domain."""
Found = Link | tuple[()]
Memo = dict[str, Found]
Plain = Callable[[str], re.Match[str] | None]

_SIGN, _WRAP = 1 << 63, 1 << 64  # to make a hash a signed number, as `fingerprint.signed_hash` does


class Parts(NamedTuple):
    """A canonical URL taken apart."""

    origin: str  # "https://www.example.com"; a port only where it is not the scheme's own
    host: str  # IPv6 without brackets
    port: int
    https: bool
    target: str  # path and query, as robots.txt matches it


# What WHATWG leaves alone in a path, and in a query; '.' is safe unless it begins a segment.
_PATH = r"[A-Za-z0-9\-._~!$&()*+,;=:@/%]*"
_QUERY = r"(?:\?[A-Za-z0-9\-._~!$&()*+,;=:@/%?\[\]|]*)?"
# Three labels of at most 60 and a last one that begins with a letter: no IPv4 number, no IDNA,
# and within the limits of DNS.
_NAME = r"(?:(?!xn--)[a-z0-9_-]{1,60}\.){0,3}(?!xn--)[a-z][a-z0-9-]{0,59}"

_plain_absolute = re.compile(rf"https?://{_NAME}(?:/{_PATH}{_QUERY})?").fullmatch
_plain_rooted = re.compile(rf"/(?!/){_PATH}{_QUERY}").fullmatch
_plain_relative = re.compile(rf"[A-Za-z0-9\-_~][A-Za-z0-9\-._~!$&()*+,;=@/%]*{_QUERY}").fullmatch

# A host that DNS can know. The URL standard also lets through quotes, braces and the like,
# which on the web come from broken scripts only.
_good_host = re.compile(r"(?=.{1,254}$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?").fullmatch

_ANY_ORIGIN = "https://a"
_SKIPPED = ("#", "javascript:", "mailto:", "data:", "tel:")


def canonical(url: str, base: str | None = None) -> Url | None:
    """The WHATWG form of an http(s) URL without fragment and credentials, or None."""
    cut = url.find("#", 0, MAX_RAW)  # the first '#' always begins the fragment
    if cut < 0 and len(url) > MAX_RAW:
        return None
    text = url if cut < 0 else url[:cut]
    if text.startswith(("http://", "https://")) and (plain := _join_rooted(text, "")):
        return plain if len(plain) <= MAX_URL else None
    if cut >= 0:
        text += "#"  # without it, a space before the fragment would be at the end, and dropped
    try:
        whole = normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        return None
    return _accept(whole)


def _accept(whole: str) -> Url | None:
    """What WHATWG parsed, if we can use it."""
    if not whole.startswith(("https://", "http://")) or len(whole) > MAX_RAW:
        return None
    start = 8 if whole[4] == "s" else 7
    slash = whole.find("/", start)
    at = whole.rfind("@", start, slash)
    if at >= 0:
        whole = whole[:start] + whole[at + 1 :]
        slash -= at + 1 - start
    fragment = whole.find("#")
    if fragment >= 0:
        whole = whole[:fragment]
    host, _, _ = whole[start:slash].partition(":")
    if whole[start] != "[" and not _good_host(host):
        return None
    return Url(whole) if len(whole) <= MAX_URL else None


def split(url: str) -> Parts:
    """The parts of a URL that is already canonical."""
    https = url[4] == "s"
    start = 8 if https else 7
    slash = url.find("/", start)
    host = url[start:slash]
    port = 443 if https else 80
    if host[-1] == "]":
        host = host[1:-1]
    elif ":" in host:
        host, _, digits = host.rpartition(":")
        port = int(digits)
        if host[-1] == "]":
            host = host[1:-1]
    return Parts(url[:slash], host, port, https, url[slash:])


def rooted(origin: str, target: str) -> Url | None:
    """The URL of a path with its query, as somebody wrote it, in a canonical origin. The origin
    does not go through the parser: a host in another script would cost ten times the rest."""
    if not target:
        return Url(origin + "/")
    url = _join_rooted(target, origin) if target[0] == "/" else None
    if url is None:
        normal = canonical(_ANY_ORIGIN + target)
        url = Url(origin + normal[len(_ANY_ORIGIN) :]) if normal else None
    return url if url and len(url) <= MAX_URL else None


def robots_txt(origin: str) -> Url:
    """Where a canonical origin has its robots.txt."""
    return Url(f"{origin}/robots.txt")


def over_http(url: Url) -> Url:
    """The same URL of https with http; a port stays."""
    return canonical("http" + url.removeprefix("https")) or url


def host_of(url: str) -> str:
    """`split(url).host`, for where nothing else is asked."""
    host = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    return host if ":" not in host else split(url).host


_is_ipv4 = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+").fullmatch


def _read_suffixes() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The public suffix list in ASCII: suffixes, parents of '*' rules, exceptions from those."""
    package = find_spec("publicsuffixlist")  # only its data: the package itself takes longer
    assert package is not None and package.submodule_search_locations
    file = os.path.join(package.submodule_search_locations[0], "public_suffix_list.dat")
    with open(file, encoding="utf-8") as source:
        lines = source.read().lower().split("\n")
    # Ten thousand rules at every start: only what few of them need is not done for all.
    lines = [line for line in lines if line and line[:2] != "//" and not line.isspace()]
    rules = [line.split()[0] if " " in line or "\t" in line else line for line in lines]
    foreign = [rule for rule in rules if not rule.isascii()]
    rules = [rule for rule in rules if rule.isascii()]
    rules += [idna.encode(rule).decode("ascii") for rule in foreign]
    special = [rule for rule in rules if rule[0] in "*!"]
    wild = frozenset([rule[2:] for rule in special if rule[0] == "*"])
    exceptions = frozenset([rule[1:] for rule in special if rule[0] == "!"])
    return wild.union(rules).difference(special), wild, exceptions


# Read by ourselves because seeds need a million look-ups: 0.5 us each, the package's own takes 4.
_SUFFIXES, _WILD_PARENTS, _EXCEPTIONS = _read_suffixes()
# Labels of the longest registrable domain: those before it need not be looked at.
_MOST_LABELS = max(map(str.count, _SUFFIXES, repeat("."))) + 3


def registrable(name: str) -> str:
    """One label more than the longest public suffix; the name itself if it is one.

    For DNS names without a last dot; `domain_of` takes any host, and remembers.
    """
    if name.count(".") >= _MOST_LABELS:
        name = ".".join(name.rsplit(".", _MOST_LABELS)[1:])
    longer, rest = name, name
    while rest not in _SUFFIXES:
        dot = rest.find(".")
        if dot < 0:
            return longer  # a top-level domain that the list does not know
        parent = rest[dot + 1 :]
        if parent in _WILD_PARENTS:
            return rest if rest in _EXCEPTIONS else longer
        longer, rest = rest, parent
    return longer


def domain_of(host: str) -> str:
    """The registrable domain of a host; an IP literal, single label or public suffix is its own."""
    return _place(host)[1]


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def _place(host: str) -> tuple[int, str]:
    """Where a host belongs: domain id and domain."""
    name = host.rstrip(".") or host
    if ":" not in name and not (name[-1] <= "9" and _is_ipv4(name)):
        name = registrable(name)
    return domain_id(name), name


def domain_id(name: str) -> int:
    """A 63-bit hash of a domain's name: positive, never 0."""
    return xxh3_64_intdigest(name.encode()) & 0x7FFF_FFFF_FFFF_FFFF or 1


def fingerprint(url: str) -> int:
    """Signed 64-bit hash of a canonical URL's dedup key."""
    return signed_hash(dedup_key(url))


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def place_of_origin(origin: str) -> tuple[int, str]:
    """Where an origin belongs: domain id and domain."""
    return _place(host_of(origin + "/"))


def link(url: Url) -> Link:
    """A canonical URL as the links of a page are handed on."""
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

    def resolve(self, hrefs: list[str], base: str) -> list[Link]:
        """The distinct good links of a page, in order; `base` is canonical."""
        self._work, self.dropped = _PARSED * _COST, 0
        if self._count > self._half:
            self._old, self._young, self._count = self._young, {}, 0
        origin, directory = bases(base)
        place = place_of_origin(origin)
        rooted, relative = self._memo(origin), self._memo(directory)
        in_origin, in_directory = rooted.get, relative.get
        before = len(rooted) + len(relative)
        seen: set[int] = set()
        links: list[Link] = []
        for href in hrefs:
            found = in_origin(href)
            if found is None:
                found = in_directory(href)
                if found is None:
                    if href[:1] == "/":
                        found = _join(href, origin, _plain_rooted, place, rooted)
                    elif href[:4] != "http":
                        found = _join(href, directory, _plain_relative, place, relative)
                    if found is None:
                        found = self._find(href, base, origin, directory, rooted, relative)
            if found and found[1] not in seen:
                seen.add(found[1])
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
            url = _join_rooted(text, origin)
        else:
            url = Url(directory + text) if _plain_relative(text) and _no_dots(text) else None
            # With a colon it may be a scheme without slashes, which follows the whole base.
            if url or (href[:1] > " " and href[0] != "?" and ":" not in href):
                memo = relative
        if url is None or len(url) > MAX_URL:
            self._work -= _COST + len(base) + (len(href) if href.isascii() else 8 * len(href))
            if self._work < 0:
                self.dropped += 1
                return ()
            url = canonical(href, base)
        found = link(url) if url else ()
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


def _join(href: str, before: str, plain: Plain, place: tuple[int, str], memo: Memo) -> Link | None:
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


def _join_rooted(text: str, origin: str) -> Url | None:
    """A plain href that begins with '/' or a scheme as a URL; None: it needs the parser."""
    if not _no_dots(text):
        return None
    if text[0] == "/":
        return Url(origin + text) if _plain_rooted(text) else None
    if not _plain_absolute(text):
        return None
    return Url(text if text.find("/", 8) > 0 else text + "/")


def _no_dots(text: str) -> bool:
    """True if no segment can be '.' or '..', in any spelling."""
    return "/." not in text and "/%2" not in text
