"""Reads sitemaps, sitemap indexes, feeds and plain lists of URLs. Pure.

Owns what counts as a URL in each of them. It looks for the few tags that matter in one linear
pass and never builds or validates a document: broken XML yields what was found, and there are
no entity declarations to expand. The caller fetches and unpacks (`decode`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from lycosa.outcomes import Drop
from lycosa.page import charset
from lycosa.records import Url
from lycosa.urls.canonical import canonical, host_of, rooted
from lycosa.urls.domains import domain_of

MAX_URLS = 50_000  # what the protocol allows in one file
MAX_BYTES = 2 * 1024 * 1024  # of one file; what follows is not looked at (S3)
MAX_HOSTS = 200  # that one file may name, in all spellings
MAX_URL = 4_000  # characters; longer ones are never crawled

INDEX, URLSET, FEED, TEXT, HTML, UNKNOWN = "index", "urlset", "feed", "text", "html", ""

_STEP = 65_536  # bytes looked at before asking whether that was enough
_TAGS = 100_000  # '<' looked at in one file
_HEAD = 4_096  # where the first element is looked for
_ROOTS = {
    b"sitemapindex": INDEX,
    b"urlset": URLSET,
    b"rss": FEED,
    b"rdf": FEED,
    b"feed": FEED,
    b"html": HTML,
}
_ROOT = re.compile(
    rb"<(?:[\w-]{1,32}:)?(sitemapindex|urlset|rss|rdf|feed|html|!doctype html)(?=[\s/>])", re.I
)
_CDATA = rb"\s*+(?:<!\[CDATA\[\s*+)?"
# Prefixed <loc> are the page's own if the prefix stands for sitemaps; images and videos are not.
_LOC = re.compile(
    rb"<(?!image:|video:|news:)(?:[\w-]{1,32}:)?loc\s*+>%s([^<>]{0,%d})" % (_CDATA, MAX_URL), re.I
)
_FEED_LINK = re.compile(
    rb"<(?:atom:)?link(?:\s*+>%s([^<>]{1,%d})|\s([^<>]*+)>)" % (_CDATA, MAX_URL), re.I
)
_VALUE = rb"""\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>]++)"""
_HREF = re.compile(rb"href(?<![^\s\"']href)" + _VALUE)
_REL = re.compile(rb"rel(?<![^\s\"']rel)" + _VALUE)
_LINE = re.compile(rb"^[ \t]*+(https?://[^\s<>]{1,%d})[ \t\r]*+$" % MAX_URL, re.I | re.M)
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_SPARE_URLS = 2_000  # more of them are looked at than are wanted
_MAX_ENTITIES = 8  # looked at in one URL, unless all are '&amp;'
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


@dataclass(slots=True)
class Sitemap:
    """What a sitemap file holds: further sitemaps if `kind` is 'index', else pages."""

    kind: str
    urls: list[str] = field(default_factory=list)


def parse(body: bytes, limit_urls: int = MAX_URLS) -> Sitemap:
    """The first distinct URLs of a sitemap of any kind, as they are written in it."""
    body, _ = charset.to_utf8(body[:MAX_BYTES], "application/xml")
    kind = _kind(body)
    found: dict[str, None] = {}
    # Some are empty or there twice, so more are looked at than are wanted; but a file of nothing
    # else is not read to its end.
    urls = (url for part in _parts(body) for url in _urls(part, kind))
    for url in islice(urls, limit_urls + _SPARE_URLS):
        if len(found) >= limit_urls:
            break
        if url:
            found[url] = None
    return Sitemap(kind, list(found))


class Places:
    """Turns what the sitemaps of a domain list into URLs of that domain.

    The part before the path repeats: it goes through the URL parser once, and at most MAX_HOSTS
    different ones do, because a host in another script takes 25 us.
    """

    def __init__(self, domain: str, base: Url) -> None:
        self._domain = domain
        self._scheme = base[: base.find("/")]
        self._origin = base[: base.find("/", 8)]
        # Of what precedes a path; '': another domain's, None: the whole must be looked at.
        self._origins: dict[str, str | None] = {self._origin: self._origin}
        self._odd = MAX_HOSTS  # still to be looked at as a whole
        self.drops: dict[str, int] = {}  # by reason

    def url(self, text: str) -> Url | None:
        """A listed URL in canonical form; None if it is another domain's, or no URL."""
        if text[:1] == "/":
            text = (self._scheme if text.startswith(("//", "/\\")) else self._origin) + text
        if text[:5].lower() not in ("http:", "https"):
            return self._checked(None)
        slash = text.find("/", 8)
        before = text[:slash] if slash > 0 else text
        if before not in self._origins:
            if len(self._origins) > MAX_HOSTS:
                self._drop(Drop.HOST_CAP)
                return None
            self._origins[before] = self._origin_of(before)
        origin = self._origins[before]
        if origin is None:
            return self._odd_url(text)
        return self._checked(rooted(origin, text[len(before) :])) if origin else None

    def _origin_of(self, before: str) -> str | None:
        """The origin that it means."""
        url = canonical(before + "/")
        if url is None or url.find("/", 8) != len(url) - 1:
            return None
        return url[:-1] if domain_of(host_of(url)) == self._domain else ""

    def _odd_url(self, text: str) -> Url | None:
        self._odd -= 1
        url = self._checked(canonical(text) if self._odd >= 0 else None)
        return url if url and domain_of(host_of(url)) == self._domain else None

    def _checked(self, url: Url | None) -> Url | None:
        if url is None:
            self._drop(Drop.NOT_A_URL)
        return url

    def _drop(self, reason: str) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + 1


def _parts(body: bytes) -> Iterator[bytes]:
    """The file in parts that end before an end tag or after a line, while its tags are not many."""
    at = tags = 0
    while at < len(body) and tags < _TAGS:
        end = at + _STEP
        if end < len(body):
            cut = body.rfind(b"</", at + 1, end)
            if cut < 0:
                cut = body.rfind(b"\n", at, end) + 1
            end = cut if cut > at else end
        yield body[at:end]
        tags += body.count(b"<", at, end)
        at = end


def _kind(body: bytes) -> str:
    head = body[:_HEAD]
    root = _ROOT.search(head)
    if root is not None:
        return _ROOTS.get(root[1].lower(), HTML)
    return UNKNOWN if head.lstrip().startswith(b"<") else TEXT


def _urls(body: bytes, kind: str) -> Iterator[str]:
    if kind == FEED:
        return _feed_urls(body)
    if kind == TEXT:
        return (_clean(line[1]) for line in _LINE.finditer(body))
    if kind == HTML:
        return iter(())
    return (_clean(loc[1]) for loc in _LOC.finditer(body))


def _feed_urls(body: bytes) -> Iterator[str]:
    """RSS has its links between the tags, Atom in an attribute."""
    for link in _FEED_LINK.finditer(body):
        if link[1] is not None:
            yield _clean(link[1])
            continue
        tag = link[2][:MAX_URL]
        rel, href = _REL.search(tag), _HREF.search(tag)
        alternate = rel is None or rel[1].strip(b"\"'") == b"alternate"
        yield _clean(href[1].strip(b"\"'")) if href and alternate else ""


def _clean(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").strip().removesuffix("]]").rstrip()
    if "&" not in text:
        return text
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")
    return _ENTITY.sub(_character, text, _MAX_ENTITIES)


def _character(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        return _NAMED[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 32 <= number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
