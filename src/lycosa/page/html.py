"""Turns the body of a page into links, text and what its author asks of crawlers. Pure.

Owns which tags are links and what they say, and the bounds on the work one page may cause. HTML is
read in one pass by the compiled `_scan`; where that could not be built, by its twin in Python,
`html_scan`, which finds the same at twenty times the cost and therefore looks at less of a page
that is made to be slow. Links come out as written: `urls` resolves them and says which are
wanted. Knows no network and no store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.entities import html5
from typing import Any

from lycosa.page import blocks, charset, html_found, html_scan, media
from lycosa.page.facts import PageFacts
from lycosa.page.signs import Signs

ScanFound = tuple[str, list[Any], int, bytes, str, tuple[int, ...]]
Scan = Callable[[bytes, dict[str, str], int, int], ScanFound]
scan: Scan | None
try:
    from lycosa.page._scan import answer_to as scan_answers_to
    from lycosa.page._scan import scan
except ImportError:  # there was no C compiler when lycosa was installed
    scan = None

PARSE_BYTES = 2 * 1024 * 1024  # of a page; links and text beyond are not looked at
PARSE_TEXT_BYTES = 1024 * 1024  # of a page that is not HTML
MAX_LINKS = 4_000  # about 10 us each if they need the full URL parser
MAX_NOTES = 3 * MAX_LINKS  # links and other tags that say something: many are there twice
MAX_TEXT = 1_000_000  # characters
MAX_TITLE = 1_000  # characters
MAX_LINK_CHARS = 1 << 18  # of all links of a page; of 1,330 real pages none had a third of it
MAX_WISHES = 1 << 16  # characters of <meta name=robots> looked at
MAX_GENERATOR = 100  # characters
MAX_HREF = 8_192  # characters; far above the longest URL that is ever crawled

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))

LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}

_UNCRAWLABLE = ("javascript:", "mailto:", "tel:", "data:", "about:", "blob:", "sms:")
_UNCRAWLABLE_LETTERS = frozenset("jmtdabsJMTDABS")  # with which these begin: most links do not
# A number, perhaps a separator, perhaps "url=", perhaps a quote, and the URL (WHATWG, "shared
# declarative refresh steps"). A number alone reloads the page.
_REFRESH = re.compile(
    r"[ \t\n\f\r]*+(?:[0-9]++|(?=\.))[0-9.]*+(?:[ \t\n\f\r]++[;,]?+|[;,])[ \t\n\f\r]*+"
    r"(?:url[ \t\n\f\r]*+=[ \t\n\f\r]*+|(?!url[ \t\n\f\r]*+=))([\"']?+)(.++)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
).match

Attributes = dict[str, str]
_NO_SIGNS = Signs()


@dataclass(slots=True)
class Parsed:
    """What there is to know of one page."""

    title: str = ""
    lang: str = ""  # as the author wrote it, lower case
    text: str = ""  # what a reader sees: a line per block or row, whitespace folded
    links: list[str] = field(default_factory=list)  # distinct, stripped, in the page's order
    base: str = ""  # <base href>, or ''
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    charset: str = ""
    links_dropped: int = 0  # beyond max_links
    main: str = ""  # the main text: the lines of `text` with a good score
    scores: bytes = b""  # 0 to 100 for each line of `text` that is not blank
    published: str = ""  # ISO 8601, as far as known
    site_name: str = ""
    signs: Signs = _NO_SIGNS

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """(start, end, score): each line as a span of characters of `text`, and how likely it is
        main text. Made when asked for."""
        return blocks.spans(self.text, self.scores)


def parse(
    body: bytes,
    content_type: str,
    *,
    tld: str = "",
    obey_nofollow: bool = True,
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
) -> Parsed:
    """Parses by content type; of what is neither HTML nor text nothing is read. `tld`, the last
    label of the host's name, is a hint at the encoding."""
    kind = media.kind_of(content_type, body)
    if kind == media.HTML:
        return parse_html(
            body,
            content_type,
            tld=tld,
            obey_nofollow=obey_nofollow,
            max_links=max_links,
            max_text=max_text,
        )
    return parse_text(body, content_type, tld=tld, max_text=max_text) if kind else Parsed()


def parse_text(
    body: bytes, content_type: str, *, tld: str = "", max_text: int = MAX_TEXT
) -> Parsed:
    """Plain text, XML and the like: no links, and the line breaks stay. All of it is main text."""
    text, name = charset.to_text(body[:PARSE_TEXT_BYTES], content_type, tld)
    lines = text.replace("\0", "").splitlines()
    text = "\n".join(map(str.rstrip, lines)).strip()[:max_text]
    scores = bytes([100]) * len(blocks.lines_of(text))
    return Parsed(text=text, main=text, scores=scores, charset=name)


def parse_html(
    body: bytes,
    content_type: str,
    *,
    tld: str = "",
    obey_nofollow: bool = True,
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
) -> Parsed:
    """Links, text and robots directives of an HTML page, in bounded time (S3)."""
    page, name = charset.to_utf8(body[:PARSE_BYTES], content_type, tld)
    reader = _Reader(obey_nofollow, max_links)
    text, items, dropped, scores, main, signs = (scan or html_scan.scan)(
        page, html5, MAX_NOTES, 4 * max_text
    )
    reader.notes(items, len(page))
    found = reader.found
    found.charset = name
    found.text = text[:max_text]
    found.main = main[:max_text]
    found.scores = scores
    found.published, found.site_name = reader.facts.published, reader.facts.site_name
    found.signs = Signs._make((*signs, reader.refresh, reader.generator))
    found.links = [] if obey_nofollow and found.nofollow else list(reader.links)
    found.links_dropped += dropped
    return found


def compiled() -> bool:
    """Whether pages are read by the compiled module."""
    return scan is not None


def answer_to(name: str) -> None:
    """Obey what a <meta> of that name asks, as one of `robots`; for the whole process."""
    html_found.answer_to(name.lower())
    if scan is not None:
        scan_answers_to(name.lower())


class _Reader:
    """Collects what one page holds, piece by piece."""

    __slots__ = (
        *("facts", "found", "generator", "links", "max_links", "obey", "refresh", "room", "wishes"),
    )

    def __init__(self, obey_nofollow: bool, max_links: int) -> None:
        self.obey = obey_nofollow
        self.max_links = max_links
        self.room = MAX_LINK_CHARS  # for links
        self.wishes = MAX_WISHES  # characters still to be looked at
        self.found = Parsed()
        self.facts = PageFacts()
        self.refresh, self.generator = False, ""
        self.links: dict[str, None] = {}

    def notes(self, items: list[Any], size: int) -> None:
        """Takes what one pass over so many bytes found: links as they stand, (href, rel), (name,
        attributes), (None, title)."""
        links = self.links
        # All links have no more characters than their page has bytes.
        roomy = size <= MAX_LINK_CHARS and len(items) <= self.max_links
        for item in items:
            if type(item) is str:
                if roomy:
                    links[item] = None  # one that is there keeps its place
                else:
                    self.add(item)
            elif item[0] is None:
                self.title(item[1])
            elif type(item[1]) is str:
                self.link(*item)
            else:
                self.element(*item)

    def element(self, name: str, attributes: Attributes) -> None:
        """Anything that says something beside its text."""
        if name in LINKS:
            self.link(attributes.get(LINKS[name]), attributes.get("rel"))
        elif name == "meta":
            self.meta(attributes)
        elif name == "link":
            self.relation(attributes)
        elif name == "base":
            self.found.base = self.found.base or _stripped(attributes.get("href"))
        elif name == "html":
            self.lang(attributes.get("lang") or attributes.get("xml:lang"))
        elif name == "time":
            self.facts.time(attributes.get("datetime", ""))
        elif name == "script":
            self.facts.data(attributes["content"])

    def link(self, href: str | None, rel: str | None = None) -> None:
        if not href or (href := href.strip()) in self.links or not _crawlable(href):
            return
        if rel and self.obey and "nofollow" in rel.lower().split():
            return
        self.add(href)

    def add(self, href: str) -> None:
        """A link, if it is new and there is room."""
        if href in self.links:
            return
        room = self.room - len(href)
        if room < 0 or len(self.links) >= self.max_links:
            self.found.links_dropped += 1
        else:
            self.links[href] = None
            self.room = room

    def relation(self, attributes: Attributes) -> None:
        """<link>: other pages, but neither styles nor feeds."""
        rel = (attributes.get("rel") or "").lower().split()
        href = attributes.get("href")
        if "canonical" in rel:
            self.found.canonical = self.found.canonical or _stripped(href)
        elif "alternate" in rel:
            kind = (attributes.get("type") or "").lower()
            if "stylesheet" in rel or (kind not in HTML_TYPES and not attributes.get("hreflang")):
                return
        elif "next" not in rel and "prev" not in rel:
            return
        self.link(href, attributes.get("rel"))

    def meta(self, attributes: Attributes) -> None:
        name = (attributes.get("name") or "").strip().lower()
        content = attributes.get("content") or ""
        if name in ("robots", html_found.own_meta):
            wishes = content[: self.wishes].lower().replace(",", " ").split()
            self.wishes -= min(len(content), self.wishes)
            self.found.noindex |= "noindex" in wishes or "none" in wishes
            self.found.nofollow |= "nofollow" in wishes or "none" in wishes
            return
        if name == "generator":
            self.generator = self.generator or " ".join(content[:MAX_GENERATOR].split())
        for key in ("property", "name", "itemprop"):
            if key in attributes:
                self.facts.meta(attributes[key].strip().lower(), content)
        pragma = (attributes.get("http-equiv") or "").strip().lower()
        if pragma == "content-language":
            self.lang(content.partition(",")[0])
        elif pragma == "refresh":
            self.refresh = True
            self.link(refresh_target(content))

    def lang(self, value: str | None) -> None:
        self.found.lang = self.found.lang or (value or "").strip().lower()[:35]

    def title(self, text: str) -> None:
        if not self.found.title:
            self.found.title = " ".join(text[: 4 * MAX_TITLE].split())[:MAX_TITLE].rstrip()


def refresh_target(content: str) -> str:
    """Where <meta http-equiv=refresh> leads, '' if it only reloads the page or means nothing."""
    found = _REFRESH(content)
    if found is None:
        return ""
    quote, target = found.groups()
    return target.partition(quote)[0] if quote else target


def _crawlable(href: str) -> bool:
    if not href or href[0] == "#" or len(href) > MAX_HREF:
        return False
    return href[0] not in _UNCRAWLABLE_LETTERS or not href[:12].lower().startswith(_UNCRAWLABLE)


def _stripped(value: str | None) -> str:
    return (value or "").strip()
