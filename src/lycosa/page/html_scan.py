"""One pass over an HTML page, in Python: the twin of `_scan.c`, for where that could not be built.

Owns the same rules as the C and gives the same answers (tests/page/test_readers.py): what is a tag,
a comment, an attribute, raw text (WHATWG's tokenizer), and, with `html_stack`, which element the
text is in. Text is moved nowhere: what a table may not hold stays where it stands.

An element that hides its text hides it when it is closed, by its own end tag or by that of an
element around it. One that nothing but the end of the page closes hides nothing: a browser would
show nothing behind it, but a forgotten `</video>` must not cost us the rest of the page.

Everything is linear in the page but for walks through the stack, and those share a budget (`WALK`).
"""

from __future__ import annotations

import re
from typing import Any

from lycosa.page import main_text
from lycosa.page.blocks import Line, Notes, visible_size
from lycosa.page.html_attributes import (
    ATTRIBUTE,
    attributes_of,
    breaks_out,
    closes_itself,
    in_order,
    lower,
    size_in_bytes,
)
from lycosa.page.html_elements import (
    ANCHOR,
    BLOCK,
    BREAKOUT,
    CELL,
    CLOSES_P,
    COUNTED,
    FLAGS,
    FRAMES,
    HTML,
    IN_TABLE,
    NOTED,
    ODD,
    OUT,
    PART,
    PLAIN,
    RAW,
    REOPENS,
    ROOT,
    SCOPE,
    SELECT,
    SPECIAL,
    SVG,
    TABLE_SCOPE,
    UNKNOWN,
    VOID,
    Open,
)
from lycosa.page.html_raw import ENDS, script_end
from lycosa.page.html_references import in_attribute, in_text, in_title
from lycosa.page.html_stack import (
    BUTTONS,
    HEADINGS,
    ITEMS,
    MAX_DEPTH,
    SEPARATOR,
    TABLES,
    Stack,
    html_in,
)
from lycosa.page.signs import COUNTED as COUNTED_TAGS

# Beyond these Python takes too long; of 1,330 real pages none had half. The C has no such bounds.
MAX_TAGS = 45_000  # and comments, about 1 us each
MAX_SLOW = 18_000  # of those that take more thought; links and their like count three times
MAX_REFERENCES = 60_000  # '&' looked at; text with more is left out
MAX_ATTRIBUTES = 1 << 18  # characters of the attributes of tags that say something
TITLE_BYTES = 8_192  # looked at
DATA_BYTES = 65_536  # of JSON in scripts that are kept
HREF_BYTES = 8_192  # far above the longest URL that is ever crawled

_known = FLAGS.get
_POINTS_SVG = frozenset(("foreignobject", "desc", "title"))
_POINTS_MATH = frozenset(("mi", "mo", "mn", "ms", "mtext"))
_A, _NOBR = (frozenset((name,)) for name in ("a", "nobr"))
_IMPLIED = {  # elements that the next of their kind closes
    "option": frozenset(("option",)),
    "optgroup": frozenset(("option", "optgroup")),
    **dict.fromkeys(("rb", "rtc"), frozenset(("rb", "rt", "rp", "rtc"))),
    **dict.fromkeys(("rt", "rp"), frozenset(("rb", "rt", "rp"))),
}
_END_SELECT = frozenset(("input", "keygen", "textarea"))
_ASKED = frozenset(
    (
        *("href", "src", "rel", "name", "content", "property", "itemprop"),
        *("lang", "type", "http-equiv", "hreflang", "xml:lang", "datetime"),
    )
)
_PAGES = ("text/html", "application/xhtml+xml")

_WS = r" \t\n\f\r"
# A group that gives nothing back is cheaper, but wrong in Python before 3.11.5: one that begins to
# match and does not keeps what it has eaten. There it may give back, attribute by attribute; then
# what follows must not run over all of them each time, so it ends before the next '='.
_KEPT = re.compile(r"(?:ab?c)*+ad")
SOUND = _KEPT.match("ad") is not None
_ALL, _REST = ("*+", r"[^\"'>]*+") if SOUND else ("*", r"[^\"'>=]*+")
_NAME = rf"[A-Za-z][^{_WS}/>]*+"
# Attributes as nearly all are written; where this fails the slower pattern says what is there.
_COMMON = (
    rf"(?:[^\"'>=]*+(?<=[^{_WS}/\"'=])="
    rf"[{_WS}]*+(?:\"[^\"]*+\"|'[^']*+'|[^{_WS}\"'=<>`]++(?=[{_WS}>]))){_ALL}{_REST}"
)
_ONE = (
    rf"[^{_WS}/>][^{_WS}/>=]*+[{_WS}]*+"
    rf"(?:=[{_WS}]*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^{_WS}>]*+)|(?!=))"
)
_TOKEN = re.compile(
    rf"([^<]*+)<(/?)({_NAME})({_COMMON}(?=>)|(?:[{_WS}/]*+{_ONE}){_ALL}[{_WS}/]*+)>"
).match
_TAG_BEGINS = re.compile(r"/?[A-Za-z]").match
_COMMENT_END = re.compile(r"--!?>").search


def scan(
    page: bytes, _: object, max_items: int, max_text: int
) -> tuple[str, list[Any], int, bytes, str, tuple[int, ...]]:
    """The visible text of a page (UTF-8), what its tags say, how many were left out, the score of
    each line of the text, its main text, and what was counted (`signs.Signs`).

    What tags say: the href of an <a>, (href, rel) if it has a rel, (name, attributes) of others,
    (None, title).
    """
    reader = _Page(page.decode("utf-8", "replace"), max_items)
    reader.run(0, len(reader.page))
    text = fold("".join(reader.texts))
    lines = reader.notes.lines(text, reader.texts)
    scores, chosen = main_text.judge(text, lines, reader.notes)
    return text, reader.items, reader.dropped, scores, chosen, reader.signs(lines)


def fold(text: str) -> str:
    """One line per block, single spaces within."""
    for space in "\n\t\r\f\xa0":
        if space in text:
            text = text.replace(space, " ")
    if "\0" in text:
        text = text.replace("\0", "")
    while text.rfind("  ") >= 0:
        text = text.replace("  ", " ")
    return "\n".join(filter(None, [line.strip(" ") for line in text.split(SEPARATOR)]))


class _Page(Stack):
    """The state of one pass."""

    __slots__ = (
        *("attributes", "budget", "counts", "data_left", "dropped", "noscript_chars", "notes"),
        *("page", "passwords", "references", "script_bytes", "slow", "times", "unclosed"),
    )

    def __init__(self, page: str, max_items: int) -> None:
        super().__init__(max_items)
        self.page = page
        self.dropped = 0
        self.attributes = MAX_ATTRIBUTES  # characters still to be looked at
        self.references = MAX_REFERENCES
        self.budget = iter(range(MAX_TAGS))
        self.slow = MAX_SLOW
        self.unclosed = False  # there is no more </noscript>
        self.notes = Notes(in_order)
        self.counts = dict.fromkeys(COUNTED_TAGS, 0)
        self.passwords = self.script_bytes = self.noscript_chars = self.times = 0
        self.data_left = DATA_BYTES

    def run(self, at: int, end: int) -> None:
        """Reads a part of the page.

        What most tags do is done here and not in methods, which would double the time.
        """
        page, stack, write = self.page, self.stack, self.texts.append
        push, pop, known, html, plain = stack.append, stack.pop, _known, HTML, PLAIN
        waiting, counts = self.waiting, self.counts
        for _ in self.budget:
            if at >= end:
                return
            token = _TOKEN(page, at, end)
            if token is None:
                at = self.other(at, end)
                continue
            text, closing, name, attributes = token.groups()
            at = token.end()
            if text:
                if waiting:
                    self.reopen()
                self.write(self.decoded(text) if "&" in text else text)
            flags = known(name)
            if flags is None:
                name = lower(name)
                flags = known(name, UNKNOWN)
            if not closing and name in counts:
                counts[name] += 1
            top = stack[-1]
            if closing:
                if top[0] != name or top[2] != html:
                    self.end(name, flags)
                elif flags & COUNTED:
                    self.cut(len(stack) - 1)
                else:
                    pop()
            elif flags & plain and top[2] == html and top[4] < SELECT and len(stack) < MAX_DEPTH:
                if flags & CLOSES_P:
                    if self.p:
                        self.close_p()
                        top = stack[-1]
                elif waiting and flags & REOPENS:
                    self.reopen()
                push((name, flags, html, 0, top[4], -1, -1, attributes))
                if name == "p":
                    self.p += 1
            else:
                at = self.start(name, flags, attributes, at, end)
                continue
            if flags & BLOCK:
                write(SEPARATOR)

    def write(self, text: str) -> None:
        """Text that is seen, if nothing hides it."""
        self.notes.text(len(self.texts), text, self.stack, self.a > 0)
        self.texts.append(text)

    def other(self, at: int, end: int) -> int:
        """Text, and what begins with '<' and is no tag: where it ends."""
        self.slow -= 1
        if self.slow < 0:
            return end
        page = self.page
        mark = page.find("<", at, end)
        text = page[at : end if mark < 0 else mark]
        if text and self.waiting:
            self.reopen()
        self.write(self.decoded(text))
        if mark < 0:
            return end
        following = page[mark + 1 : min(mark + 3, end)]
        if _TAG_BEGINS(following):
            return end  # the page ends in a tag
        if page.startswith("<!--", mark, end):
            return self.comment(mark + 4, end)
        if self.stack[-1][2] != HTML and page.startswith("<![CDATA[", mark, end):
            stop = page.find("]]>", mark + 9, end)
            self.write(page[mark + 9 : end if stop < 0 else stop])
            return end if stop < 0 else stop + 3
        if following[:1] in ("!", "?") or (following[:1] == "/" and len(following) > 1):
            stop = page.find(">", mark, end)
            return end if stop < 0 else stop + 1
        self.write("<")  # just a character
        return mark + 1

    def comment(self, at: int, end: int) -> int:
        page = self.page
        if page.startswith((">", "->"), at, end):
            return page.index(">", at) + 1
        found = _COMMENT_END(page, at, end)
        return found.end() if found else end

    # -- start tags ---------------------------------------------------------------------------

    def start(self, name: str, flags: int, attributes: str, at: int, end: int) -> int:
        """Takes a start tag that ends at `at`: where to go on."""
        self.slow -= 3 if flags & (ANCHOR | NOTED) else 1
        if self.slow < 0:
            return end
        if name == "input" and lower(attributes_of(attributes).get("type", "")) == "password":
            self.passwords += 1
        top = self.stack[-1]
        mode = top[4]
        if top[2] != HTML and not html_in(top, name):
            if not (flags & BREAKOUT or (name == "font" and breaks_out(attributes))):
                self.foreign(name, flags, attributes, top)
                return at
            self.leave_foreign()
            mode = self.stack[-1][4]
        if mode >= SELECT:
            if not self.within(name, flags, attributes, mode):
                if flags & BLOCK:
                    self.texts.append(SEPARATOR)
                return at
            mode = self.stack[-1][4]
        if flags & NOTED:
            self.note(name, attributes)
        if flags & CLOSES_P and self.p and name not in ITEMS:
            self.close_p()
            mode = self.stack[-1][4]
        elif self.waiting and flags & REOPENS and not flags & ANCHOR:
            self.reopen()
        if flags & ODD:
            at = self.odd(name, flags, attributes, at, end)
        elif not flags & VOID:
            self.push(name, flags, OUT if name == "template" else mode, attributes)
        if flags & BLOCK:
            self.texts.append(SEPARATOR)
        return at

    def foreign(self, name: str, flags: int, attributes: str, top: Open) -> None:
        """A start tag in a drawing or a formula."""
        if flags & ANCHOR:
            self.anchor(attributes)
        self.texts.append(SEPARATOR)
        if len(self.stack) >= MAX_DEPTH or closes_itself(attributes):
            return
        space, point = top[2], 0
        if space == SVG:
            point = 2 if name in _POINTS_SVG else 0
        elif name in _POINTS_MATH:
            point = 1
        elif name == "annotation-xml":
            encoding = attributes_of(attributes).get("encoding", "")
            point = 2 if in_attribute(encoding).lower() in _PAGES else 0
        stops = SPECIAL | SCOPE if point or name == "annotation-xml" else 0
        self.stack.append((name, stops, space, point, top[4], -1, -1, ""))

    def within(self, name: str, flags: int, attributes: str, mode: int) -> bool:
        """A start tag in a <select> or a <frameset>: whether it ends that, or counts in it."""
        if mode == FRAMES:
            return name in ("frameset", "frame", "noframes")
        if name in ("script", "template"):
            return True
        depth = len(self.stack) - 1
        if name == "select" or name in _END_SELECT:
            self.cut(depth)
            return name != "select"
        if flags & PART or name == "table":
            if self.stack[-2][4] in (IN_TABLE, CELL):
                self.cut(depth)
                return True
        elif flags & ANCHOR:
            self.anchor(attributes)
        elif flags & NOTED:
            self.note(name, attributes)
        return False

    def odd(self, name: str, flags: int, attributes: str, at: int, end: int) -> int:
        """A start tag with rules of its own."""
        stack = self.stack
        if flags & RAW:
            stop = self.raw(name, at, end)
            if name == "script":
                self.note_script(attributes, at, stop)
            return stop
        if flags & PART:
            self.part(name, flags, attributes)
            return at
        if flags & ANCHOR:
            if self.a or self.waiting:
                self.take_out(_A)
                self.reopen()
            self.anchor(attributes)
        elif name in ITEMS:
            self.item(name)
        elif name in HEADINGS:
            if stack[-1][0] in HEADINGS and stack[-1][2] == HTML:
                self.cut(len(stack) - 1)
        elif name in _IMPLIED:
            while stack[-1][0] in _IMPLIED[name] and stack[-1][2] == HTML:
                self.cut(len(stack) - 1)
        elif name == "button":
            self.close(BUTTONS, SCOPE)
        elif name == "nobr":
            self.take_out(_NOBR)
        elif name == "form":
            if self.form and not self.templates:
                return at
            self.form = not self.templates
        elif name in ("svg", "math"):
            if not closes_itself(attributes):
                self.begin_foreign(name)
            return at
        elif name == "table":
            if stack[-1][4] == IN_TABLE:  # in a table, but in no cell of it
                self.close(TABLES, TABLE_SCOPE)
            self.push(name, flags, IN_TABLE, attributes)
            return at
        elif name == "select":
            self.push(name, flags, SELECT)
            return at
        elif name == "frameset":
            self.frameset(name, flags)
            return at
        if not flags & VOID:
            self.push(name, flags, stack[-1][4], attributes)
        return at

    def raw(self, name: str, at: int, end: int) -> int:
        """Text in which there are no tags: where it ends."""
        page = self.page
        if name == "plaintext":
            self.write(SEPARATOR + page[at:end])
            return end
        if name == "script":
            stop, steps = script_end(page, at, end, self.slow)
            self.slow -= steps
            return stop
        if name == "noscript" and self.unclosed:
            return at
        found = ENDS[name](page, at, end)
        stop = found.start() if found else end
        if name == "title" and self.items_left > 0:
            text = page[at : min(stop, at + TITLE_BYTES)].encode()[:TITLE_BYTES]
            title = in_title(text.decode("utf-8", "ignore"))
            self.notes.named(title)
            self.keep((None, title))
        elif name == "noscript":
            if found is None:
                self.unclosed = True
                return at
            self.noscript(at, stop)
        return stop

    def noscript(self, at: int, stop: int) -> None:
        """What a reader without scripts sees. Nothing in it is open behind it."""
        texts, depth = len(self.texts), len(self.stack)
        self.stack.append((*ROOT[:7], ""))  # one of its own
        self.unclosed = True  # there is none up to `stop`
        self.run(at, stop)
        self.unclosed = False
        self.cut(depth)
        self.noscript_chars += sum(map(visible_size, self.texts[texts:]))

    # -- what tags say ------------------------------------------------------------------------

    def note_script(self, attributes: str, at: int, stop: int) -> None:
        """The size of a script, and what it says if it is JSON for readers."""
        self.script_bytes += size_in_bytes(self.page[at:stop])
        if self.data_left <= 0 or self.items_left <= 0:
            return
        if lower(attributes_of(attributes).get("type", "")) == "application/ld+json":
            data = self.page[at : min(stop, at + self.data_left)].encode()[: self.data_left]
            text = data.decode("utf-8", "ignore")
            self.data_left -= size_in_bytes(text)
            self.keep(("script", {"content": text}))

    def signs(self, lines: list[Line]) -> tuple[int, ...]:
        """What was counted, in the order of `signs.Signs`."""
        counted = (self.passwords, self.script_bytes, self.noscript_chars)
        return (*self.counts.values(), *counted, *self.notes.signs(lines))

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
        """<a>: its href, or (href, rel) if it has a rel."""
        found = attributes_of(self.few(attributes))
        href = found.get("href", "").lstrip(" \t\n\f\r")
        if not href or href[0] == "#" or size_in_bytes(href) > HREF_BYTES:
            return
        if self.items_left <= 0:
            self.dropped += 1
            return
        link = in_attribute(href)
        if (rel := found.get("rel")) is None:
            self.keep(link)
        else:
            rel = rel.encode()[:HREF_BYTES].decode("utf-8", "ignore")
            self.keep((link, in_attribute(rel)))

    def note(self, name: str, attributes: str) -> None:
        """Any other tag that says something: (name, its attributes)."""
        if name == "time":
            self.times += 1
            if self.times > 1:  # the first one says enough
                return
        if self.items_left <= 0:
            self.dropped += 1
            return
        values: dict[str, str] = {}
        for match in ATTRIBUTE(self.few(attributes)):
            key = lower(match[1])
            if key in _ASKED:
                value = match[2] or match[3] or match[4] or ""
                if size_in_bytes(value) <= HREF_BYTES:
                    values.setdefault(key, in_attribute(value))
        self.keep((name, values))
