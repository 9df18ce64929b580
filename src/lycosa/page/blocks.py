"""What one pass over a page notes of its text for the main text, and the lines that come of it.

Owns containers (elements that hold lines of text, each noted once, when text is first seen in it),
which text is that of links, and the counts of each line. `html_scan` calls `Notes` while it reads;
`main_text` makes scores of the lines. `_lines.h` has the same in C; all numbers are whole, so that
both give the same scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lycosa.page.html_text import NOTHING, has_joiners, settled_pieces, visible_of
from lycosa.page.main_model import BAD_HINTS, GOOD_HINTS, HINTS

MAX_BLOCKS = 2_048  # lines with a score each; what follows is one more
MAX_RECORDS = 4_096  # containers; those beyond count as the one around them
NEAR = 250  # size of text that makes a container worth comparing with
FAR = 1_500  # and that of a larger one
LONG_LINE = 80  # from here on it is probably a sentence
TITLE_BYTES = 511  # of the title that are compared
TITLE_LEAST = 8  # bytes of a heading that may be the title
HINT_ATTRIBUTES = 24  # of a tag that are looked at
HINT_BYTES = 256  # of a class
HINT_WORD = 16  # letters of a word that may be known

# What a container is; bits of `path` are numbered by it.
KINDS = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr"
    " optgroup option picture q rb rp rt rtc ruby s samp small source span strike strong sub sup"
    " time tt u var wbr",
    *("", "p", "li", "h1", "h2", "h3", "h4 h5 h6", "td", "th"),
    *("table tbody thead tfoot tr caption colgroup", "ul ol menu dir", "dl dt dd", "nav"),
    *("header hgroup", "footer", "aside", "form search", "article", "main", "section"),
    *("blockquote", "figure figcaption", "button", "pre listing xmp plaintext"),
    *("details summary", "dialog", "address", "fieldset legend", ""),
)
IN_LINE, OTHER, PARAGRAPH, LIST_ITEM, H1, H2, H3, H4, DATA_CELL = range(9)
ARTICLE, MAIN, PREPARED = 18, 19, 24
NO_SCRIPT = len(KINDS) - 1
_kind_of = {name: kind for kind, names in enumerate(KINDS) for name in names.split()}.get
_hint_of = {word: 1 << bit for bit, words in enumerate(HINTS) for word in words.split()}.get

SPACES = " \t\n\f\r"
_BETWEEN = re.compile(f"[{SPACES}]+").split
_WORDS = re.compile(rb"[A-Z]+[a-z]*|[a-z]+").findall
_may_hint = re.compile("class|id|role|itemprop", re.I | re.A).search  # most tags say nothing
_is_seen = re.compile(f"[^{re.escape(NOTHING)}]").search
_SPACES = SPACES.encode()
_IDEOGRAPHS = bytes(range(0xE3, 0xEE))  # first bytes, in UTF-8, of U+3000 to U+DFFF
_MARKS = b".,;:!?\xef"  # with the first byte of U+F000 to U+FFFF, where the wide ones are
_DIGITS = b"0123456789"
_ENDS = {**dict.fromkeys(".!?\u3002\uff01\uff1f", 3), **dict.fromkeys(":,;\uff1a\uff0c", 2)}
_ENDS.update(dict.fromkeys('">)|', 1))


class Container:
    """A container, and the text in it."""

    __slots__ = (
        *("bad", "best", "depth", "far", "good", "hints", "kind", "lines", "link", "marks"),
        *("near", "own", "parent", "path", "q_lines", "q_link", "q_long", "q_marks", "q_mean"),
        *("q_share", "q_size", "sentences", "size", "words"),
    )

    def __init__(self, kind: int, parent: int, own: int, around: Container | None) -> None:
        self.kind, self.parent, self.own = kind, parent, own
        self.near = self.far = self.best = 0
        self.size = self.link = self.lines = self.marks = self.words = self.sentences = 0
        self.path = self.hints = self.depth = self.good = self.bad = 0
        self.q_size = self.q_link = self.q_mean = self.q_lines = 0
        self.q_marks = self.q_long = self.q_share = 0
        if around is not None:
            self.path = around.path | 1 << kind
            self.hints = around.hints | own
            self.depth = min(around.depth + 1, 255)
            self.good = min(around.good + (own & GOOD_HINTS).bit_count(), 255)
            self.bad = min(around.bad + (own & BAD_HINTS).bit_count(), 255)


class TextLine:
    """A line of text that is not blank, or those of preformatted text in one container."""

    __slots__ = (
        *("before", "chars", "digits", "end", "last", "lines", "link", "marks", "record", "size"),
        *("sentences", "start", "words"),
    )

    def __init__(self, start: int, text: str, record: int) -> None:
        self.start, self.end, self.record = start, start + len(text), record
        self.before = self.link = self.sentences = 0
        self.lines = 1
        line = text.encode("utf-8", "surrogatepass")
        blanks = _count(line, _SPACES)
        ideographs = _ideographs(text)
        self.chars = len(text) - blanks
        self.size = self.chars + 2 * ideographs
        self.words = blanks + 1 + ideographs // 2
        self.marks = _count(line, _MARKS)
        if ideographs:
            self.marks += text.count("\u3001") + text.count("\u3002")
        self.digits = _count(line, _DIGITS)
        self.last = _last(text)

    def join(self, other: TextLine) -> None:
        """Adds the line behind this one."""
        self.end, self.last = other.end, other.last
        self.lines += 1
        self.size += other.size
        self.words += other.words
        self.link += other.link
        self.chars += other.chars
        self.marks += other.marks
        self.digits += other.digits
        self.sentences += other.sentences


def _count(line: bytes, these: bytes) -> int:
    """How many bytes are among these. An expression would take a hundred times as long."""
    return len(line) - len(line.translate(None, these))


def _ideographs(text: str) -> int:
    return 0 if text.isascii() else _count(text.encode("utf-8", "surrogatepass"), _IDEOGRAPHS)


def _last(text: str) -> int:
    """How a line ends: 3 as a sentence, 2 as one that goes on, 1 in another mark, 0 in none."""
    last = text[-1]
    if last in '")' and len(text) > 1:
        last = text[-2]
        return _ENDS.get(last, 0) if last < "\x80" else 0
    return 1 if "\u2000" <= last < "\u2040" else _ENDS.get(last, 0)


def hints_of(values: Iterable[tuple[str, str]]) -> int:
    """What a tag says of its element by the words of its class, id, role and itemprop."""
    found = 0
    for _, (name, value) in zip(range(HINT_ATTRIBUTES), values, strict=False):
        if name in ("class", "id", "role", "itemprop"):
            for word in _WORDS(value.encode()[:HINT_BYTES]):
                if len(word) <= HINT_WORD:
                    found |= _hint_of(word.decode().lower(), 0)
    return found


class Notes:
    """What is noted of a page while it is read."""

    __slots__ = ("attributes", "known", "opened", "records", "spots", "title")

    def __init__(self, attributes: Callable[[str], Iterable[tuple[str, str]]]) -> None:
        self.attributes = attributes  # of a tag, in their order
        self.records = [Container(OTHER, 0, 0, None)]
        self.known: dict[int, int] = {}  # the record of each open element
        self.opened: list[Any] = []  # these: no other may have their place in memory
        self.spots: list[tuple[int, int, bool]] = []  # where a text is, its container, in a link?
        self.title = b""

    def text(self, at: int, text: str, stack: Sequence[Any], link: bool) -> None:
        """A piece of text will be number `at` of all; what was there before has gone."""
        record = None
        if not (text[:1].isalnum() or _is_seen(text)):
            if not has_joiners(text):
                return
            record = 0  # a joiner begins no line
        spots = self.spots
        while spots and spots[-1][0] >= at:
            spots.pop()
        if record is None:
            record = self.known.get(id(stack[-1]))
        spots.append((at, self.record_here(stack) if record is None else record, link))

    def record_here(self, stack: Sequence[Any]) -> int:
        """The record of the innermost container. Each element is looked at once."""
        known = self.known
        depth = len(stack) - 1
        while depth > 0 and id(stack[depth]) not in known:
            depth -= 1
        record = known.get(id(stack[depth]), 0)
        if len(self.records) >= MAX_RECORDS and len(stack) - depth < 4:
            return record  # there will be no other
        for element in stack[depth + 1 :]:
            kind = _kind(element)
            if kind != IN_LINE:
                record = self.new_record(kind, element[9], record)
            known[id(element)] = record
            self.opened.append(element)
        return record

    def new_record(self, kind: int, attributes: str, parent: int) -> int:
        if len(self.records) >= MAX_RECORDS:
            return parent
        own = hints_of(self.attributes(attributes)) if _may_hint(attributes) else 0
        self.records.append(Container(kind, parent, own, self.records[parent]))
        return len(self.records) - 1

    def named(self, title: str) -> None:
        """The title, of which the first counts."""
        if not self.title:
            words = " ".join(_BETWEEN(title.strip(SPACES)))
            self.title = words.encode()[:TITLE_BYTES]

    def signs(self, lines: list[TextLine]) -> tuple[int, ...]:
        """What `signs.Signs` wants of lines, once their containers are summed up."""
        root, links = self.records[0], 0
        for line in lines:
            if self.records[line.record].path >> LIST_ITEM & 1 and line.link * 10 >= line.size * 9:
                links += line.lines
        every = sum(line.lines for line in lines)
        return every, root.size, root.link, root.sentences, links

    def lines(self, text: str, pieces: list[str]) -> list[TextLine]:
        """The lines of a text that is made of these pieces, with spaces folded; those of
        preformatted text as one."""
        places = _Places(self.spots, pieces, has_joiners(text))
        found: list[TextLine] = []
        record = -1
        for number, (start, line) in enumerate(lines_of(text)):
            each = TextLine(start, line, places.record())
            each.link = places.links(line, each.chars)
            if each.size >= LONG_LINE and each.link * 2 < each.size:
                each.sentences = each.size
            if each.record == record and number < MAX_BLOCKS and self.is_prepared(record):
                found[-1].join(each)
            else:
                found.append(each)
                record = each.record
        return found

    def is_prepared(self, record: int) -> bool:
        return self.records[record].kind == PREPARED


def _kind(element: Sequence[Any]) -> int:
    if not element[0]:
        return NO_SCRIPT
    return _kind_of(element[0], OTHER) if element[2] == 0 else IN_LINE


class _Places:
    """Goes through the visible characters of a page, from which piece each of them is."""

    def __init__(self, spots: list[tuple[int, int, bool]], pieces: list[str], joined: bool) -> None:
        self.ends: list[tuple[int, int, bool]] = []  # of spots, in visible characters
        end = 0
        if joined:  # joiners count, where they are kept
            pieces = settled_pieces(pieces)
        for at, record, link in spots:
            if at < len(pieces):
                end += len(pieces[at] if joined else visible_of(pieces[at]))
                self.ends.append((end, record, link))
        self.ends.append((1 << 60, 0, False))
        self.at = self.spot = 0

    def record(self) -> int:
        """The container in which the next characters begin."""
        while self.ends[self.spot][0] <= self.at:
            self.spot += 1
        return self.ends[self.spot][1]

    def links(self, line: str, size: int) -> int:
        """The size of links in a line of so many visible characters, which are then behind us."""
        start, at, seen, found = self.at, self.at, "", 0
        self.at += size
        while at < self.at:
            end, _, link = self.ends[self.spot]
            stop = min(end, self.at)
            if link:
                seen = seen or line.replace(" ", "").replace("\t", "").replace("\n", "")
                part = seen[at - start : stop - start]
                found += len(part) + (0 if part.isascii() else 2 * _ideographs(part))
            at = stop
            if end <= self.at:
                self.spot += 1
        return found


def lines_of(text: str) -> list[tuple[int, str]]:
    """Where lines that are not blank begin, and each; those beyond a number are one."""
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        stop = text.find("\n", at) if len(found) < MAX_BLOCKS else -1
        line = text[at:] if stop < 0 else text[at:stop]
        if line.strip(SPACES):
            found.append((at, line))
        at += len(line) + 1
    return found


def spans(text: str, scores: bytes) -> list[tuple[int, int, int]]:
    """(start, end, score) of each line that is not blank, in characters of the text."""
    found = zip(lines_of(text), scores, strict=False)
    return [(start, start + len(line), score) for (start, line), score in found]
