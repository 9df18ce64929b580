"""What the markup of a page tells about its label: tests, shells, frames, links of its own. Pure.

Owns how the marks of `label_rules` are looked for, in the first bytes of a body. `labels` asks for
pages with hardly any text, and where it has to know which links are those of menus.
"""

from __future__ import annotations

import re

from lycosa.page import label_rules as rules
from lycosa.page.signs import Signs

MARKUP_BYTES = 32 * 1024
LINKS_BYTES = 24 * 1024
HIDDEN_BYTES = 8 * 1024  # are searched for marks, of which there are many
_PLACES = re.compile(rb"<(/?)(nav|header|footer|aside|a)[\s>]", re.IGNORECASE).findall


# Without those that hold another one.
_MARKS = [
    (told, mark)
    for told, marks in rules.MARKUP.items()
    for mark in marks
    if not any(other in mark and other != mark for other in marks)
]


def own_links(markup: bytes) -> int:
    """Links outside of what says that it is a menu, a head or a foot."""
    own = depth = 0
    for close, name in _PLACES(markup[:LINKS_BYTES]):
        if len(name) > 1:
            depth = max(0, depth - 1) if close else depth + 1
        elif not (close or depth):
            own += 1
    return own


def first_links(markup: bytes) -> bytes:
    """The part of a page, in lower case, of which links are known."""
    return markup[:LINKS_BYTES].lower()


def in_link(markup: bytes, words: str) -> bool | None:
    """Whether (plain) words in `first_links` are those of a link; None if they are not there."""
    at = markup.find(words.encode())
    if at < 0:
        return None
    return markup.rfind(b"<a", 0, at) > markup.rfind(b"</a", 0, at)


def bare(markup: bytes, signs: Signs, seen: int) -> tuple[str, str] | None:
    """A page with hardly any text, `seen` letters without scripts: what its markup tells."""
    found = hidden(markup, signs, seen)
    markup = markup[:MARKUP_BYTES].lower()
    if b"<frameset" in markup:
        return rules.EMPTY, "frames only"
    if found:
        return found
    if signs.refresh and seen <= 120 and signs.anchors <= 2:
        return rules.EMPTY, "it only refreshes"
    script = _acts(markup) if signs.scripts else ""
    if script and (seen <= 40 or (_root(markup) and signs.anchors <= 40)):
        return rules.SCRIPT_SHELL, script
    return None


def hidden(markup: bytes, signs: Signs, seen: int) -> tuple[str, str] | None:
    """A test of the visitor, or parking, that only its markup shows."""
    markup = markup[:HIDDEN_BYTES].lower()
    if seen <= 30:
        for told, mark in _MARKS:
            if mark in markup:
                return told, f"markup: {mark.decode()}"
        if b"document.cookie" in markup and b"location" in markup:
            return rules.BLOCKED, "a script sets a cookie and comes again"
    if seen <= 150 and not signs.passwords:
        for mark in rules.CAPTCHAS:
            if mark in markup:
                return rules.BLOCKED, f"markup: {mark.decode()}"
    return None


def _acts(markup: bytes) -> str:
    """Why a page's scripts may bring its text, '' if they only count visitors."""
    at = markup.find(b"<script")
    while at >= 0:
        end = markup.find(b"</script", at)
        if end < 0:
            end = len(markup)
        script = markup[at:end]
        if not any(mark in script for mark in rules.COUNTERS):
            if b"src=" in script[: script.find(b">") + 1]:
                return "text by script only"
            if any(mark in script for mark in rules.ACTS):
                return "forwarding by script" if b"location" in script else "text by script only"
        at = markup.find(b"<script", end)
    return ""


def _root(markup: bytes) -> bool:
    """Whether there is an element without content that scripts fill."""
    if any(mark in markup for mark in rules.OWN_ROOTS):
        return True
    for name in rules.ROOTS:
        for quote in (b'"', b"'", b""):
            at = markup.find(b"id=" + quote + name + (quote or b">"))
            if at >= 0:
                inside = markup[markup.find(b">", at) + 1 :][:60].lstrip()
                if inside.startswith(b"</"):
                    return True
    return False
