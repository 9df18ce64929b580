"""What the Python reader found in a page so far: text in pieces, links, tags that say something.

Owns the bounds on attributes and character references, beyond which Python takes too long; the C
has none. Of 1,330 real pages one had 290,000 characters of attributes, no other half as many. Knows
no elements.
"""

from __future__ import annotations

import re
from typing import Any

from lycosa.page.blocks import Notes, TextLine
from lycosa.page.html_attributes import attributes_of, each_attribute, lower, size_of
from lycosa.page.html_references import in_attribute, in_text
from lycosa.page.signs import COUNTED

MAX_REFERENCES = 60_000  # '&' looked at; text with more is left out
MAX_ATTRIBUTES = 1 << 19  # characters of the attributes of tags that say something
DATA_BYTES = 65_536  # of JSON in scripts that are kept
HREF_BYTES = 8_192  # far above the longest URL that is ever crawled

_ASKED = frozenset(
    (
        *("href", "src", "rel", "name", "content", "property", "itemprop"),
        *("lang", "type", "http-equiv", "hreflang", "xml:lang", "datetime"),
    )
)

# What a <meta> must be called, and what a <link> must be related as, to say something.
TELLING_METAS = frozenset(
    (
        *("robots", "generator", "refresh", "date", "dc.date", "dcterms.date"),
        *("datepublished", "pubdate", "article:published_time", "og:site_name"),
        *("application-name", "content-language"),
    )
)
own_meta = "lycosa"  # a <meta> of that name speaks to us: see `answer_to`
_TELLING_LINK = re.compile("canonical|alternate|next|prev|[&\x00-\x1f\x80-\U0010ffff]", re.I | re.A)
_may_forbid = re.compile("nofollow|[&\x00-\x1f\x80-\U0010ffff]", re.I | re.A).search
# An href that is a link as it stands: nothing is to be trimmed, and it begins with no '#' and with
# no letter of the schemes that are not crawled ("mailto:").
_is_plain = re.compile(
    r"(?=[^\x00- \x80-\U0010ffff#&jmtdabsJMTDABS]).*[^\x00- \x80-\U0010ffff;]\Z", re.S
).match
_META_NAMES = frozenset(("name", "property", "itemprop", "http-equiv"))
# For these a value has to be decoded before anybody can tell what it says.
_is_rare = re.compile("[&\x00-\x1f\x80-\U0010ffff]").search


class PageFound:
    """Text and notes of one page."""

    __slots__ = (
        *("attributes", "counts", "data_left", "dropped", "items", "items_left", "noscript_chars"),
        *("notes", "passwords", "references", "script_bytes", "texts", "times"),
    )

    def __init__(self, max_items: int) -> None:
        self.texts: list[str] = []
        self.items: list[Any] = []
        self.items_left = max_items
        self.dropped = 0
        self.attributes = MAX_ATTRIBUTES  # characters still to be looked at
        self.references = MAX_REFERENCES
        self.notes = Notes(each_attribute)  # for the main text
        self.counts = dict.fromkeys(COUNTED, 0)
        self.passwords = self.script_bytes = self.noscript_chars = self.times = 0
        self.data_left = DATA_BYTES

    def keep(self, item: Any) -> None:
        self.items.append(item)
        self.items_left -= 1

    def few(self, attributes: str) -> str:
        """The attributes of a tag, none if the page had too many."""
        self.attributes -= len(attributes)
        self.references -= attributes.count("&")
        return attributes if self.attributes >= 0 and self.references >= 0 else ""

    def decoded(self, text: str) -> str:
        """Text with its references replaced, nothing if the page had too many."""
        self.references -= text.count("&")
        return in_text(text) if self.references >= 0 else ""

    def anchor(self, attributes: str) -> None:
        """<a>: its href, or (href, rel) if that is not plain or its rel may forbid to follow it."""
        found = attributes_of(self.few(attributes))
        href = found.get("href", "").lstrip(" \t\n\f\r")
        if not href or href[0] == "#" or size_of(href) > HREF_BYTES:
            return
        if self.items_left <= 0:
            self.dropped += 1
            return
        link = in_attribute(href)
        rel = found.get("rel", "").encode()[:HREF_BYTES].decode("utf-8", "ignore")
        # A reference without ';' may be white space: nothing is to be trimmed behind the link.
        plain = _is_plain(href) and " " < link[-1:] < "\x80" and not _may_forbid(rel)
        self.keep(link if plain else (link, in_attribute(rel)))

    def note(self, name: str, attributes: str) -> None:
        """Any other tag that says something: (name, its attributes)."""
        if name == "time":
            self.times += 1
            if self.times > 1:  # the first one says enough
                return
        found = list(each_attribute(self.few(attributes)))
        if name in ("meta", "link") and not any(_tells(name, *each) for each in found):
            return
        if self.items_left <= 0:
            self.dropped += 1
            return
        values: dict[str, str] = {}
        for key, value in found:
            if key in _ASKED and size_of(value) <= HREF_BYTES:
                values.setdefault(key, in_attribute(value))
        self.keep((name, values))

    def note_script(self, attributes: str, script: str) -> None:
        """The size of a script, and what it says if it is JSON for readers."""
        self.script_bytes += size_of(script)
        if self.data_left <= 0 or self.items_left <= 0:
            return
        if lower(attributes_of(attributes).get("type", "")) == "application/ld+json":
            data = script[: self.data_left].encode()[: self.data_left]
            text = data.decode("utf-8", "ignore")
            self.data_left -= size_of(text)
            self.keep(("script", {"content": text}))

    def signs(self, lines: list[TextLine]) -> tuple[int, ...]:
        """What was counted, in the order of `signs.Signs`."""
        counted = (self.passwords, self.script_bytes, self.noscript_chars)
        return (*self.counts.values(), *counted, *self.notes.signs(lines))


def answer_to(name: str) -> None:
    """Read what a <meta> of that name says, in lower case, from now on."""
    global own_meta
    own_meta = name


def _tells(element: str, name: str, value: str) -> bool:
    """Whether an attribute may make its <meta> or <link> say something, as few do."""
    if element == "link":
        return name == "rel" and _TELLING_LINK.search(value) is not None
    return name in _META_NAMES and (
        value.strip(" ").lower() in TELLING_METAS
        or value.strip(" ").lower() == own_meta
        or _is_rare(value) is not None
    )
