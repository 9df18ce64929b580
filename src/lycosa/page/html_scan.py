"""One pass over an HTML page, in Python: the twin of `_scan.c`, for where that could not be built.

Owns the same rules as the C and gives the same answers (tests/page/test_readers.py): what is a tag,
a comment, an attribute, raw text (WHATWG's tokenizer), and, with `html_stack`, which element the
text is in. Text is moved nowhere: what a table may not hold stays where it stands.

An element that hides its text hides it when it is closed, by its own end tag or by that of an
element around it. One that nothing but the end of the page closes hides nothing: a browser would
show nothing behind it, but a forgotten `</video>` must not cost us the rest of the page. Only what
`visibility:hidden` hides is never written, because elements in it may be visible again.

Everything is linear in the page but for walks through the stack, and those share a budget (`WALK`).
"""

from __future__ import annotations

import re
from typing import Any

from lycosa.page import main_text
from lycosa.page.html_attributes import (
    attributes_of,
    breaks_out,
    closes_itself,
    is_hinted,
    lower,
)
from lycosa.page.html_elements import (
    ANCHOR,
    BLOCK,
    BREAKOUT,
    CELL,
    CLOSES_P,
    COUNTED,
    DARK,
    FLAGS,
    FLEX,
    FRAMES,
    HIDES,
    HTML,
    IN_TABLE,
    MATH,
    NOTED,
    ODD,
    OUT,
    PART,
    PRE,
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
    opened_in,
)
from lycosa.page.html_raw import ENDS, script_end
from lycosa.page.html_references import in_attribute, in_title
from lycosa.page.html_stack import (
    BUTTONS,
    HEADINGS,
    ITEMS,
    MAX_DEPTH,
    TABLES,
    Stack,
    html_in,
)
from lycosa.page.html_style import considered
from lycosa.page.html_text import LINE, NOTHING, clean, fold, is_marked, kept, seen

# Beyond these Python takes too long; of 1,330 real pages none had more than 14,000 and 7,000. The C
# has no such bounds.
MAX_TAGS = 18_000  # and comments, about 3 us each
MAX_SLOW = 13_000  # of those that take more thought; links and their like count three times
MARKED_CHARS = 1 << 18  # of a page with control characters, as hardly any text has
TITLE_BYTES = 8_192  # looked at
UNVEILED_LEAST = 500  # bytes of hidden text that make a page worth reading once more

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

    What tags say: the href of an <a>, (href, rel) if that may forbid it, (name, attributes) of
    others, (None, title).
    """
    reader, text = _read(page, max_items)
    lines = reader.notes.lines(text, reader.texts)
    scores, chosen = main_text.judge(text, lines, reader.notes)
    return text, reader.items, reader.dropped, scores, chosen, reader.signs(lines)


def _read(page: bytes, max_items: int) -> tuple[_Page, str]:
    """Reads a page. If it shows nothing it is read again as if its attributes hid nothing: a
    script will show what they hide. Little of that is not worth having."""
    decoded = page.decode("utf-8", "replace")
    if is_marked(decoded):
        decoded = decoded[:MARKED_CHARS]
    reader = _Page(decoded, max_items, unveil=False)
    text = reader.read()
    if not text and is_hinted(decoded):
        again = _Page(decoded, max_items, unveil=True)
        again.budget, again.slow = reader.budget, reader.slow  # both together
        shown = again.read()
        if len(shown.encode()) >= UNVEILED_LEAST:
            return again, shown
    return reader, text


class _Page(Stack):
    """The state of one pass."""

    __slots__ = ("budget", "marked", "page", "slow", "unclosed", "unveil")

    def __init__(self, page: str, max_items: int, *, unveil: bool) -> None:
        super().__init__(max_items)
        self.unveil = unveil  # attributes hide nothing
        self.page = page
        self.marked = is_marked(page)
        self.budget = iter(range(MAX_TAGS))
        self.slow = MAX_SLOW
        self.unclosed = False  # there is no more </noscript>

    def read(self) -> str:
        """The text of the whole page."""
        self.run(0, len(self.page))
        return fold("".join(self.texts))

    def run(self, at: int, end: int) -> None:
        """Reads a part of the page.

        What most tags do is done here and not in methods, which would double the time.
        """
        page, stack, texts, write = self.page, self.stack, self.texts, self.texts.append
        push, pop, known, html = stack.append, stack.pop, _known, HTML
        waiting, marked, counts = self.waiting, self.marked, self.counts
        note = self.notes.text
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
                if marked or stack[-1][8]:
                    self.show(text)
                else:
                    text = self.decoded(text) if "&" in text else text
                    note(len(texts), text, stack, self.a > 0)
                    write(text)
            flags = known(name)
            if flags is None:
                name = lower(name)
                flags = known(name, UNKNOWN)
            top = stack[-1]
            if closing:
                if top[0] != name or top[2] != html:
                    self.end(name, flags)
                elif top[1] & COUNTED or top[5] >= 0:
                    self.cut(len(stack) - 1)
                else:
                    pop()
                    if top[1] & BLOCK:
                        write(LINE)
                continue
            if name in counts:
                counts[name] += 1
            opened = None if attributes and is_hinted(attributes) else top[7].get(name)
            if opened is not None:
                if flags & CLOSES_P:
                    if self.p:
                        self.close_p()
                        opened = stack[-1][7].get(name)
                elif waiting and flags & REOPENS:
                    self.reopen()
                    opened = stack[-1][7].get(name)
            if opened is None or len(stack) >= MAX_DEPTH:
                at = self.start(name, flags, attributes, at, end)
                continue
            push((*opened, attributes))
            if name == "p":
                self.p += 1
            if flags & BLOCK:
                write(LINE)

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
        self.show(text)
        if mark < 0:
            return end
        following = page[mark + 1 : min(mark + 3, end)]
        if _TAG_BEGINS(following):
            return end  # the page ends in a tag
        if page.startswith("<!--", mark, end):
            return self.comment(mark + 4, end)
        if self.stack[-1][2] != HTML and page.startswith("<![CDATA[", mark, end):
            stop = page.find("]]>", mark + 9, end)
            self.show(page[mark + 9 : end if stop < 0 else stop], literal=True)
            return end if stop < 0 else stop + 3
        if following[:1] in ("!", "?") or (following[:1] == "/" and len(following) > 1):
            stop = page.find(">", mark, end)
            return end if stop < 0 else stop + 1
        if self.waiting:
            self.reopen()
        self.show("<")  # just a character
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
        style = 0
        if is_hinted(attributes) or name in ("dialog", "template"):
            flags, style = considered(name, flags, attributes_of(attributes), unveil=self.unveil)
        if mode >= SELECT:
            if not self.within(name, flags, attributes, mode):
                self.break_at(flags)
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
            at = self.odd(name, flags, attributes, at, end, style)
        elif not flags & VOID:
            self.push(name, flags, OUT if name == "template" else mode, style, attributes)
        self.break_at(flags)
        return at

    def break_at(self, flags: int) -> None:
        """Breaks the line where a start tag was, if its element does."""
        look = self.stack[-1][8]
        breaks = flags & BLOCK or (flags & VOID and look & FLEX and not flags & HIDES)
        if breaks and not flags & (PART | RAW) and not look & DARK:
            self.texts.append(LINE)

    def foreign(self, name: str, flags: int, attributes: str, top: Open) -> None:
        """A start tag in a drawing or a formula."""
        if flags & ANCHOR:
            self.anchor(attributes)
        space, point = top[2], 0
        if space == MATH:
            self.texts.append(" ")  # "x2" would be another number
        if len(self.stack) >= MAX_DEPTH or closes_itself(attributes):
            return
        if space == SVG:
            point = 2 if name in _POINTS_SVG else 0
        elif name in _POINTS_MATH:
            point = 1
        elif name == "annotation-xml":
            encoding = attributes_of(attributes).get("encoding", "")
            point = 2 if in_attribute(encoding).lower() in _PAGES else 0
        stops = SPECIAL | SCOPE if point or name == "annotation-xml" else 0
        if space == MATH and name in ("annotation", "annotation-xml"):
            stops |= HIDES
        self.push_foreign(name, stops, space, point, top)

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

    def odd(self, name: str, flags: int, attributes: str, at: int, end: int, style: int) -> int:
        """A start tag with rules of its own."""
        stack = self.stack
        if flags & RAW:
            stop = self.raw(name, at, end, bool(flags & HIDES))
            if name == "script":
                self.note_script(attributes, self.page[at:stop])
            return stop
        if flags & PART:
            self.part(name, flags, style, attributes)
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
                self.begin_foreign(name, flags)
            return at
        elif name == "table":
            if stack[-1][4] == IN_TABLE:  # in a table, but in no cell of it
                self.close(TABLES, TABLE_SCOPE)
            self.push(name, flags, IN_TABLE, style, attributes)
            return at
        elif name == "select":
            self.push(name, flags, SELECT, style, attributes)
            return at
        elif name == "frameset":
            self.frameset(name, flags, attributes)
            return at
        if not flags & VOID:
            self.push(name, flags, stack[-1][4], style, attributes)
        return at

    def raw(self, name: str, at: int, end: int, hidden: bool) -> int:
        """Text in which there are no tags: where it ends."""
        page = self.page
        if name == "plaintext":
            self.show_raw(name, page[at:end], hidden)
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
        elif name in ("textarea", "xmp"):
            self.show_raw(name, page[at:stop], hidden)
        return stop

    def show_raw(self, name: str, text: str, hidden: bool) -> None:
        """Raw text that is seen, with its lines: stands alone, unless there is nothing in it."""
        if hidden or self.stack[-1][8] & DARK:
            return
        text = self.kept(text, name != "textarea")
        if name != "textarea" or text.strip(NOTHING):
            self.texts.append(LINE)
            self.write(text)
            self.texts.append(LINE)

    def noscript(self, at: int, stop: int) -> None:
        """Runs no scripts, so it is markup. No tag in it closes anything around it."""
        depth, look = len(self.stack), self.stack[-1][8] & (PRE | DARK)
        texts = len(self.texts)
        self.stack.append((*ROOT[:7], opened_in(look, OUT), look, ""))
        self.unclosed = True  # there is none up to `stop`
        self.run(at, stop)
        self.unclosed = False
        self.cut(depth)
        self.noscript_chars += len(seen(self.texts, texts))

    # -- text ---------------------------------------------------------------------------------

    def show(self, text: str, literal: bool = False) -> None:
        """Text of the current element, however it looks."""
        look = self.stack[-1][8]
        if look & DARK:
            return
        if look & PRE:
            self.write(self.kept(text, literal))
            return
        text = text if literal else self.decoded(text)
        self.write(clean(text) if self.marked else text)

    def write(self, text: str) -> None:
        """Text that is seen, if nothing hides it."""
        self.notes.text(len(self.texts), text, self.stack, self.a > 0)
        self.texts.append(text)

    def kept(self, text: str, literal: bool) -> str:
        """Text whose lines and spaces are kept."""
        text = text.replace("\r\n", "\n")
        text = text if literal else self.decoded(text)
        return kept(clean(text) if self.marked else text)
