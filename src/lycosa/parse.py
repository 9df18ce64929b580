"""Turns the body of a page into links, text and what its author asks of crawlers. Pure.

Owns which elements are links, which text a reader would see, and the bounds on the work one
page may cause. HTML is read in one pass by the compiled `_scan`. Where that could not be built it
goes to lexbor in pieces that `htmlguard` cuts, and a page that is not safe goes on as a flat run
of tags: nine times the cost. Links come out raw: resolving them and judging them is for `urls`
and `scope`. Knows no network and no store.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from html.entities import html5
from operator import attrgetter
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lycosa import charset, htmlguard, media

Scan = Callable[[bytes, dict[str, str], int, int], tuple[str, list[Any], int]]
scan: Scan | None
try:
    from lycosa._scan import scan
except ImportError:
    scan = None

PARSE_BYTES = 2 * 1024 * 1024  # of a page; links and text beyond are not looked at
CHEAP_TAGS = 8_000  # read without a tree, after the rest turned out to be made to be slow
DEPTH_OF_A_TAG = 230  # elements around a tag that cost as much as the tag itself
LINK_WORK = 2  # what a new link costs, in tags
# Work on one page, in '<' of an ordinary one, about 0.5 us each; what comes after is not looked at.
# The benchmark's pages would have 48,000 in 2 MiB.
PARSE_WORK = 48_000
PARSE_TEXT_BYTES = 1024 * 1024  # of a page that is not HTML
MAX_LINKS = 4_000  # about 10 us each if they need the full URL parser
MAX_NOTES = 3 * MAX_LINKS  # links and other tags that say something: many are there twice
MAX_TEXT = 1_000_000  # characters
MAX_TITLE = 1_000  # characters
MAX_REFERENCES = 10_000  # '&' looked at where there is no tree: each costs a microsecond
MAX_HREF = 8_192  # characters; far above the longest URL that is ever crawled

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))

_WITHOUT_EVENTS = 1  # lexbor need not mirror <option> into <selectedcontent>
_REACT = b"<!-- -->"
_BREAK = "\x1e"  # between blocks, until the whitespace is folded
_SPACES = ("\n", "\t", "\r", "\f", "\xa0")

# Elements that do not break a line. All others do: an unknown element that breaks a word is
# rarer than one that holds a block.
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "picture",
        "source",
    ]
)
# Elements whose text no reader sees, or (select, noscript) nobody reads.
HIDDEN = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "select",
        "textarea",
        "title",
        "iframe",
        "noframes",
        "noembed",
        "xmp",
        "object",
        "audio",
        "video",
        "canvas",
        "datalist",
    ]
)
LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}

_UNCRAWLABLE = ("javascript:", "mailto:", "tel:", "data:", "about:", "blob:", "sms:")
_UNCRAWLABLE_LETTERS = frozenset("jmtdabsJMTDABS")  # with which these begin: most links do not
_REOPEN = {
    "template": b"<template>",
    "svg": b"<svg>",
    "select": b"<select>",
    "table": b"<table><tr><td>",
}

Attributes = dict[str, str] | dict[str, str | None]

# What to do with an element, by lexbor's number for its name: known only by asking.
_PLAIN, _ANCHOR, _HIDE, _READ, _READ_HIDE = range(5)
_READ_NAMES = ("area", "frame", "link", "meta", "base", "html")
_READ_HIDE_NAMES = ("iframe", "title")
_READ_TAGS = frozenset(("a", "iframe", *_READ_NAMES))


def _numbers() -> tuple[dict[int, int], dict[int, str]]:
    """Per number of an element: what to do with it, and its name."""
    maker = LexborHTMLParser("")
    todo = dict.fromkeys(INLINE, _PLAIN) | dict.fromkeys(HIDDEN, _HIDE) | {"a": _ANCHOR}
    todo |= dict.fromkeys(_READ_NAMES, _READ) | dict.fromkeys(_READ_HIDE_NAMES, _READ_HIDE)
    numbers = {name: maker.create_node(name).tag_id for name in todo}
    names = {number: name for name, number in numbers.items()}
    return {numbers[name]: what for name, what in todo.items()}, names


_TODO, _NAMES = _numbers()
_number = attrgetter("tag_id")
_what = _TODO.get


@dataclass(slots=True)
class Parsed:
    """What there is to know of one page."""

    title: str = ""
    lang: str = ""  # as the author wrote it, lower case
    text: str = ""  # what a reader sees: a line per block, whitespace folded
    links: list[str] = field(default_factory=list)  # distinct, stripped, in the page's order
    base: str = ""  # <base href>, or ''
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    charset: str = ""
    cheap: bool = False  # without a tree: the page would have cost too much
    links_dropped: int = 0  # beyond max_links


def parse(
    body: bytes,
    content_type: str,
    *,
    obey_nofollow: bool = True,
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
) -> Parsed:
    """Parses by content type; what is neither HTML nor text has nothing to give."""
    kind = media.kind_of(content_type, body)
    if kind == media.HTML:
        return parse_html(
            body,
            content_type,
            obey_nofollow=obey_nofollow,
            max_links=max_links,
            max_text=max_text,
        )
    return parse_text(body, content_type, max_text=max_text) if kind else Parsed()


def parse_text(body: bytes, content_type: str, *, max_text: int = MAX_TEXT) -> Parsed:
    """Plain text and its like: no links, and the line breaks stay."""
    text, name = charset.to_text(body[:PARSE_TEXT_BYTES], content_type)
    lines = text.replace("\0", "").splitlines()
    return Parsed(text="\n".join(map(str.rstrip, lines)).strip()[:max_text], charset=name)


def parse_html(
    body: bytes,
    content_type: str,
    *,
    obey_nofollow: bool = True,
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
) -> Parsed:
    """Links, text and wishes of an HTML page, in bounded time whatever its author intended."""
    page, name = charset.to_utf8(body[:PARSE_BYTES], content_type)
    if scan is not None:
        reader = _Reader(obey_nofollow, max_links, max_text)
        reader.notes(*scan(page, html5, MAX_NOTES, 4 * max_text))
        return reader.result(name)
    # React puts empty comments between texts that belong together, and many of them: to look
    # for one in the whole of every page would cost more than it gains.
    middle = len(page) // 2
    if page.find(_REACT, middle - 8_192 if middle > 8_192 else 0, middle + 8_192) >= 0:
        page = page.replace(_REACT, b"")
    reader = _Reader(obey_nofollow, max_links, max_text)
    reader.read(page)
    return reader.result(name)


def compiled() -> bool:
    """Whether pages are read in one pass."""
    return scan is not None


class _Reader:
    """Collects what one page holds, piece by piece."""

    __slots__ = ("found", "links", "max_links", "max_text", "obey", "references", "room", "texts")

    def __init__(self, obey_nofollow: bool, max_links: int, max_text: int) -> None:
        self.obey = obey_nofollow
        self.max_links = max_links
        self.max_text = max_text
        self.room = max_text  # characters of text still wanted
        self.references = MAX_REFERENCES  # still to be looked at
        self.found = Parsed()
        self.links: dict[str, None] = {}
        self.texts: list[str] = []

    def result(self, charset_name: str) -> Parsed:
        found = self.found
        found.charset = charset_name
        found.text = "\n".join(self.texts)[: self.max_text]
        found.links = [] if self.obey and found.nofollow else list(self.links)
        return found

    def notes(self, text: str, items: list[Any], dropped: int) -> None:
        """Takes what one pass found: hrefs, (href, rel), (name, attributes), (None, title)."""
        for item in items:
            if type(item) is str:
                self.link(item)
            elif item[0] is None:
                self.title(item[1])
            elif type(item[1]) is str:
                self.link(*item)
            else:
                self.element(*item)
        self.texts.append(text)
        self.found.links_dropped += dropped

    def read(self, page: bytes) -> None:
        """Goes through the page in pieces, as trees while that is safe."""
        at = 0
        room = PARSE_WORK
        around = b""  # start tags of what the piece before left open
        while at < len(page) and room > 0:
            end, tags = htmlguard.piece_end(page, at)
            piece = page[at:end]
            raw: str | None
            if htmlguard.fits(piece):
                raw, work = self.tree(at, piece, tags, around)
            else:
                self.scan(piece, room)
                raw, work = htmlguard.open_raw(piece), tags
            if raw is None:
                self.found.cheap = True
                self.scan(page[at:], min(room, CHEAP_TAGS))
                return
            room -= work
            around = b""
            if raw in htmlguard.RAW_NAMES:
                end = htmlguard.raw_end(page, raw, end)
            elif raw:
                around = _REOPEN[raw]
            at = end

    def tree(self, start: int, piece: bytes, tags: int, around: bytes) -> tuple[str | None, int]:
        """Reads a piece as a tree. What it leaves open, None if it is made to be slow; its work."""
        if around:
            piece = around + piece
        tree = LexborHTMLParser(piece, options=_WITHOUT_EVENTS)
        nodes = tree.tags("*")
        attributes = htmlguard.attribute_work(start, piece, nodes)
        if attributes is None or htmlguard.grown(tags, len(nodes)):
            return None, 0
        names = _open_names(tree)
        left_open = _left_open(names, piece)
        before = len(self.links) + self.found.links_dropped
        self.take(tree, nodes)
        links = len(self.links) + self.found.links_dropped - before
        elements = max(tags, len(nodes))
        work = elements + elements * len(names) // DEPTH_OF_A_TAG + LINK_WORK * links
        return left_open, work + attributes

    def take(self, tree: LexborHTMLParser, nodes: list[LexborNode]) -> None:
        """Reads a tree, and takes it apart until only blocks and their text are left."""
        hidden = []
        for node, todo in zip(nodes, map(_what, map(_number, nodes)), strict=True):
            if todo is None:
                continue
            if todo == _PLAIN:
                node.unwrap(True)
            elif todo == _ANCHOR:
                attributes = node.attributes
                if href := attributes.get("href"):
                    self.link(href, attributes.get("rel"))
                node.unwrap(True)
            elif todo == _HIDE:
                hidden.append(node)
            else:
                self.element(_NAMES[node.tag_id], node.attributes, node)
                if todo == _READ_HIDE:
                    hidden.append(node)
        if self.room > 0 and (root := tree.root) is not None:
            for node in hidden:
                node.decompose()
            root.merge_text_nodes()
            self.text(root.text(separator=_BREAK, strip=True, skip_empty=True))

    def scan(self, piece: bytes, limit: int) -> None:
        """Reads a run of tags without a tree."""
        out: list[str] = []
        text = piece.decode("utf-8", "replace")
        for before, name, closing, attributes in htmlguard.tokens(text, limit):
            if closing and name == "title":
                self.title(self.unescape(before))
                continue
            out.append(before)
            if name not in INLINE:
                out.append(_BREAK)
            if not closing and name in _READ_TAGS:
                values = htmlguard.attributes(attributes)
                self.element(name, {key: self.unescape(value) for key, value in values.items()})
        self.text(_BREAK.join(map(str.strip, self.unescape("".join(out)).split(_BREAK))))

    def unescape(self, text: str) -> str:
        """Character references replaced, as many of them as the page has left."""
        count = text.count("&")
        if not count:
            return text
        rest = ""
        if count > self.references:
            rest = text.split("&", self.references)[-1]
            text = text[: len(text) - len(rest)]
        self.references -= min(count, self.references)
        return _unescape(text) + rest

    def element(self, name: str, attributes: Attributes, node: LexborNode | None = None) -> None:
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
        elif node is not None:
            self.title(node.text())

    def link(self, href: str | None, rel: str | None = None) -> None:
        if not href or (href := href.strip()) in self.links or not _crawlable(href):
            return
        if rel and self.obey and "nofollow" in rel.lower().split():
            return
        if len(self.links) >= self.max_links:
            self.found.links_dropped += 1
        else:
            self.links[href] = None

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
        if name in ("robots", "lycosa"):
            wishes = content.lower().replace(",", " ").split()
            self.found.noindex |= "noindex" in wishes or "none" in wishes
            self.found.nofollow |= "nofollow" in wishes or "none" in wishes
        elif (attributes.get("http-equiv") or "").strip().lower() == "content-language":
            self.lang(content.partition(",")[0])

    def lang(self, value: str | None) -> None:
        self.found.lang = self.found.lang or (value or "").strip().lower()[:35]

    def title(self, text: str) -> None:
        if not self.found.title:
            self.found.title = " ".join(text[: 4 * MAX_TITLE].split())[:MAX_TITLE].rstrip()

    def text(self, raw: str) -> None:
        """Adds text whose blocks are stripped and separated by _BREAK."""
        folded = fold(raw)
        if folded and self.room > 0:
            self.texts.append(folded)
            self.room -= len(folded) + 1


def fold(text: str) -> str:
    """One line per (stripped) block, single spaces within.

    Replacing beats splitting threefold, and `rfind` takes half the time of `in` for two spaces.
    """
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    while text.rfind("  ") >= 0:
        text = text.replace("  ", " ")
    text = text.replace(_BREAK, "\n")
    if text.rfind("\n\n") >= 0:  # blocks of nothing but unusual spaces
        text = "\n".join(filter(None, text.split("\n")))
    return text.strip("\n")


def _open_names(tree: LexborHTMLParser) -> list[str]:
    """The elements that the end of a piece may be in, the outermost first."""
    names: list[str] = []
    body = tree.body
    node = body if body is not None and body.first_child is not None else tree.head
    while node is not None:
        names.append(node.tag or "")
        node = node.last_child
    return names


def _left_open(names: list[str], piece: bytes) -> str:
    """The element that the next piece goes on in, if it matters, or ''."""
    inner = names[-2] if len(names) > 1 and names[-1] == "-text" else names[-1] if names else ""
    if inner == "-comment" and htmlguard.still_open(piece, htmlguard.COMMENT):
        return htmlguard.COMMENT
    if inner in htmlguard.RAW and htmlguard.still_open(piece, inner):
        return inner
    for name in ("template", "svg", "select"):
        if name in names and htmlguard.still_open(piece, name):
            return name
    # A table too many does no harm, and one too few runs the cells of a row together.
    return "table" if "table" in names else ""


def _crawlable(href: str) -> bool:
    if not href or href[0] == "#" or len(href) > MAX_HREF:
        return False
    return href[0] not in _UNCRAWLABLE_LETTERS or not href[:12].lower().startswith(_UNCRAWLABLE)


def _stripped(value: str | None) -> str:
    return (value or "").strip()


def _unescape(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number of thousands of digits
        return text
