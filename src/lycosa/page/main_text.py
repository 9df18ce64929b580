"""Scores of the lines of a page: how likely each is main text, 0 to 100; and the main text.

Owns the features of a line (a column for each: one byte for every line), the trees that make a
score of them (`main_model`, made by bench/main_text), and which lines are the main text. The trees
ask the same question of all lines at a time. `_main_text.h` has the same in C, for pages as they
are read; this is for where that could not be built. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import add

from lycosa.page import blocks, main_model
from lycosa.page.blocks import H1, H4, KINDS, Container, Notes, TextLine

WINDOW = 4  # lines before and behind that are looked at together
PADDING = 8  # bytes around a column: neighbours of the first and the last line

# Columns by number. The others follow from a rule: see `_column`.
_LINE: dict[int, Callable[[TextLine], int]] = {
    0: lambda line: steps(line.size),
    1: lambda line: steps(line.words),
    2: lambda line: share(line.link, line.size),
    3: lambda line: steps(line.marks),
    4: lambda line: each_word(line.marks, line.words),
    5: lambda line: share(line.digits, line.chars),
    6: lambda line: line.last,
    7: lambda line: min(line.size * 8 // line.words, 255),
}
_RECORD: dict[int, Callable[[Container], int]] = {
    8: lambda own: own.kind,
    9: lambda own: own.depth,
    16: lambda own: own.good,
    17: lambda own: own.bad,
    18: lambda own: own.best,
    21: lambda own: own.q_size,
    22: lambda own: own.q_lines,
}
_PARENT, _GRANDPARENT, _NEAR, _FAR, _KIND_AROUND = 23, 29, 35, 42, 49
_AROUND = ("q_size", "q_link", "q_mean", "q_lines", "q_marks", "q_long", "q_share")
_WINDOWS = {
    53: (WINDOW, False),
    54: (WINDOW, True),
    55: (4 * WINDOW, False),
    56: (4 * WINDOW, True),
}
_PAGE, _SCORE, _PATH = 57, 70, 77
_HINTS = _PATH + len(KINDS)
_OWN_HINTS = _HINTS + 64
_PAGE_SHARES = _OWN_HINTS + 64
_PAGE_COUNTS = _PAGE_SHARES + len(main_model.PAGE_SHARES)


def judge(text: str, lines: list[TextLine], notes: Notes) -> tuple[bytes, str]:
    """The score of each line of a page's text, and its main text."""
    page = _Page(text, notes, lines)
    scores = page.scores()
    main = chosen(text, [(line.start, line.end) for line in lines], scores)
    every = b"".join(bytes([score]) * line.lines for score, line in zip(scores, lines, strict=True))
    return every, main


def chosen(
    text: str, spans: list[tuple[int, int]], scores: bytes, least: int = main_model.MAIN_SCORE
) -> str:
    """The lines with such a score, or with the best there is."""
    least = min(least, max(scores, default=0))
    parts: list[str] = []
    before = -2
    for number, ((start, end), score) in enumerate(zip(spans, scores, strict=True)):
        if score < least:
            continue
        if before == number - 1:  # with empty lines between, if there are some
            start = spans[before][1]
        elif parts:
            parts.append("\n")
        parts.append(text[start:end])
        before = number
    return "".join(parts)


def steps(value: int) -> int:
    """Up to 15 the number itself, then eight steps for each power of two."""
    if value < 16:
        return value
    top = value.bit_length() - 1
    return 16 + (top - 4) * 8 + (value >> (top - 3) & 7)


def share(part: int, whole: int) -> int:
    """A share as 0 to 255."""
    return min(part * 255 // whole, 255) if whole else 0


def each_word(count: int, words: int) -> int:
    """How many of something there are for a word, in 64ths."""
    return min(count * 64 // words, 255) if words else 0


def _so_far(total: int) -> int:
    """A score so far as a byte: 16 steps for a factor of e in the odds."""
    unit = main_model.UNIT // 16
    return max(0, min((total + 128 * unit) // unit, 255))


@cache
def _tables() -> list[list[bytes]]:
    """For each question of each tree what a byte of its column adds to the number of the leaf."""
    return [
        [
            bytes((value > more) << level for value in range(256))
            for level, (_, _, more) in enumerate(tree)
        ]
        for tree in main_model.QUESTIONS
    ]


class _Page:
    """The lines of a page with what is around them."""

    __slots__ = (
        "best",
        "kinds",
        "lines",
        "paragraphs",
        "records",
        "sums",
        "text",
        "title",
        "within",
    )

    def __init__(self, text: str, notes: Notes, lines: list[TextLine]) -> None:
        self.text, self.records, self.lines = text, notes.records, lines
        self.title = -1  # the line that is the title
        self.paragraphs = self.best = self.kinds = 0
        self.within = [0, 0]  # sizes of text in list items and in cells
        self.sums: list[int] = []
        self.sum_records()
        self.sum_lines(notes.title)
        self.find_best()
        self.judge_records()

    def sum_records(self) -> None:
        """Text of lines, for all containers around them."""
        records = self.records
        for line in self.lines:
            record = records[line.record]
            record.size += line.size
            record.link += line.link
            record.lines += 1
            record.marks += line.marks
            record.words += line.words
            record.sentences += line.sentences
        for record in reversed(records[1:]):
            around = records[record.parent]
            around.size += record.size
            around.link += record.link
            around.lines += record.lines
            around.marks += record.marks
            around.words += record.words
            around.sentences += record.sentences

    def sum_lines(self, title: bytes) -> None:
        before = 0
        for number, line in enumerate(self.lines):
            record = self.records[line.record]
            line.before = before
            before += line.size
            if record.kind == blocks.PARAGRAPH:
                self.paragraphs += line.size
            for place, kind in enumerate((blocks.LIST_ITEM, blocks.DATA_CELL)):
                if record.path >> kind & 1:
                    self.within[place] += line.size
            if self.title < 0 and H1 <= record.kind <= H4:
                heading = self.text[line.start : line.end].encode()
                if blocks.TITLE_LEAST <= len(heading) <= len(title) and heading in title:
                    self.title = number

    def find_best(self) -> None:
        """The container with most sentences in paragraphs of its own: an article's place."""
        records = self.records
        sentences = [0] * len(records)
        for line in self.lines:
            if line.sentences:
                parent = records[line.record].parent
                sentences[parent] += line.sentences
                sentences[records[parent].parent] += line.sentences // 2
        self.best = max(sentences)
        best = sentences.index(self.best)
        records[best].best = 3
        around = records[best].parent
        if around != best and not records[around].best:
            records[around].best = 2

    def judge_records(self) -> None:
        """What all lines in a container have in common."""
        records = self.records
        whole = records[0].size
        for number, record in enumerate(records):
            around = records[record.parent]
            record.near = number if record.size >= blocks.NEAR else around.near
            record.far = number if record.size >= blocks.FAR else around.far
            record.best = max(record.best, around.best)
            record.q_size = steps(record.size)
            record.q_link = share(record.link, record.size)
            record.q_mean = steps(record.size // record.lines if record.lines else 0)
            record.q_lines = steps(record.lines)
            record.q_marks = each_word(record.marks, record.words)
            record.q_long = share(record.sentences, record.size)
            record.q_share = share(record.size, whole)
            if record.lines:
                self.kinds |= record.path

    # -- columns --------------------------------------------------------------------------------

    def column(self, number: int) -> bytes:
        """A byte for each line."""
        lines = self.lines
        if number in _LINE:
            return bytes(map(_LINE[number], lines))
        if number >= _PAGE_SHARES:
            return bytes([self.hinted(number)]) * len(lines)
        if number in _RECORD or number >= _PATH:
            return self.by_record(_RECORD.get(number) or _bit(number, self.records))
        if _PARENT <= number < _KIND_AROUND:
            return self.by_record(self.around(number))
        if _KIND_AROUND <= number < _KIND_AROUND + 4:
            of = self.places[number - _KIND_AROUND + 1]
            return self.by_record(lambda own: of(own).kind)
        if number in _WINDOWS:
            return self.window(*_WINDOWS[number])
        if _PAGE <= number < _SCORE:
            return bytes([self.whole(number - _PAGE)]) * len(lines)
        if number == _SCORE:
            return bytes(map(_so_far, self.sums))
        if number > _SCORE:
            return self.opinion(number - _SCORE - 1)
        return self.placed(number)

    def by_record(self, value: Callable[[Container], int]) -> bytes:
        known: dict[int, int] = {}
        for line in self.lines:
            if line.record not in known:
                known[line.record] = value(self.records[line.record])
        return bytes([known[line.record] for line in self.lines])

    @property
    def places(self) -> list[Callable[[Container], Container]]:
        """The container itself, its parent, grandparent, the nearest with some text, with much."""
        records = self.records
        return [
            lambda own: own,
            lambda own: records[own.parent],
            lambda own: records[records[own.parent].parent],
            lambda own: records[own.near],
            lambda own: records[own.far],
            lambda _: records[0],
        ]

    def around(self, number: int) -> Callable[[Container], int]:
        first = max(start for start in (_PARENT, _GRANDPARENT, _NEAR, _FAR) if start <= number)
        of = self.places[1 + (_PARENT, _GRANDPARENT, _NEAR, _FAR).index(first)]
        name = _AROUND[number - first]
        return lambda own: int(getattr(of(own), name))

    def window(self, wide: int, links: bool) -> bytes:
        """Text around a line, together."""
        sizes, links_before = [0], [0]
        for line in self.lines:
            sizes.append(sizes[-1] + line.size)
            links_before.append(links_before[-1] + line.link)
        column = bytearray()
        count = len(self.lines)
        for number in range(count):
            first, stop = max(number - wide, 0), min(number + wide + 1, count)
            size = sizes[stop] - sizes[first]
            link = links_before[stop] - links_before[first]
            column.append(share(link, size) if links else steps(size))
        return bytes(column)

    def whole(self, number: int) -> int:
        """What is true for the whole page."""
        root, lines = self.records[0], len(self.lines)
        size = root.size
        return (
            steps(size), steps(lines), share(root.link, size), share(root.sentences, size),
            each_word(root.marks, root.words), share(self.paragraphs, size),
            share(self.within[0], size), share(self.within[1], size),
            steps(size // lines if lines else 0), share(self.best, size),
            self.kinds >> blocks.ARTICLE & 1, self.kinds >> blocks.MAIN & 1, self.kinds >> H1 & 1,
        )[number]  # fmt: skip

    def hinted(self, number: int) -> int:
        """How much text of the page, or how many lines, have a hint."""
        records = self.records
        if number >= _PAGE_COUNTS:
            bit = main_model.PAGE_COUNTS[number - _PAGE_COUNTS]
            found = 0
            for line in self.lines:
                record = records[line.record]
                found += (record.own | records[record.parent].own) >> bit & 1
            return min(found, 255)
        bit = main_model.PAGE_SHARES[number - _PAGE_SHARES]
        sizes = (line.size for line in self.lines if records[line.record].hints >> bit & 1)
        return share(sum(sizes), records[0].size)

    def placed(self, number: int) -> bytes:
        """Where a line is: in the page, behind the title, behind a heading."""
        count, size, title = len(self.lines), self.records[0].size, self.title
        if number == 10:
            return bytes(share(line.before, size) for line in self.lines)
        if number in (19, 20):
            return self.headings(since=number == 20)
        place: dict[int, Callable[[int], int]] = {
            11: lambda at: share(at, count),
            12: steps,
            13: lambda at: steps(count - 1 - at),
            14: lambda at: 0 if title < 0 else 1 if at < title else 2 if at == title else 3,
            15: lambda at: 0 if title < 0 or at < title else 1 + min(at - title, 254),
        }
        return bytes(map(place[number], range(count)))

    def headings(self, *, since: bool) -> bytes:
        """Lines since the last heading, or its level."""
        column = bytearray()
        distance, level = 255, 0
        for line in self.lines:
            kind = self.records[line.record].kind
            if H1 <= kind <= H4:
                distance, level = 0, kind - H1 + 1
            column.append(distance if since else level)
            distance = min(distance + 1, 255)
        return bytes(column)

    def opinion(self, which: int) -> bytes:
        """What the first trees think of all the text in a container."""
        records = self.records
        sums, sizes = [0] * len(records), [record.size for record in records]
        for line, total in zip(self.lines, self.sums, strict=True):
            sums[line.record] += _so_far(total) * line.size
        for number in range(len(records) - 1, 0, -1):
            sums[records[number].parent] += sums[number]
        number_of = {id(record): number for number, record in enumerate(records)}
        of = self.places[which]

        def mean(own: Container) -> int:
            number = number_of[id(of(own))]
            return sums[number] // sizes[number] if sizes[number] else 0

        return self.by_record(mean)

    # -- scores ---------------------------------------------------------------------------------

    def scores(self) -> bytes:
        self.sums = [main_model.BIAS] * len(self.lines)
        columns: dict[int, bytes] = {}
        self.ask(range(main_model.FIRST), columns)
        self.ask(range(main_model.FIRST, len(main_model.LEAVES)), columns)
        return bytes(map(_score, self.sums))

    def ask(self, trees: range, columns: dict[int, bytes]) -> None:
        """Adds what some trees say of each line."""
        pad, count = bytes(PADDING), len(self.lines)
        for number in {column for tree in trees for column, _, _ in main_model.QUESTIONS[tree]}:
            if number not in columns:
                columns[number] = pad + self.column(number) + pad
        tables = _tables()
        for tree in trees:
            leaf = 0
            for (column, shift, _), table in zip(
                main_model.QUESTIONS[tree], tables[tree], strict=True
            ):
                start = PADDING + shift
                part = columns[column][start : start + count].translate(table)
                leaf |= int.from_bytes(part, "little")
            values = main_model.LEAVES[tree].__getitem__
            self.sums = list(map(add, self.sums, map(values, leaf.to_bytes(count, "little"))))


def _bit(number: int, records: list[Container]) -> Callable[[Container], int]:
    """Whether a container is in a kind of element, or has a hint, or one around it has."""
    if number >= _OWN_HINTS:
        bit = number - _OWN_HINTS
        return lambda own: (own.own | records[own.parent].own) >> bit & 1
    if number >= _HINTS:
        return lambda own: own.hints >> (number - _HINTS) & 1
    return lambda own: own.path >> (number - _PATH) & 1


def _score(total: int) -> int:
    """A sum as a score of 0 to 100."""
    steps_up = main_model.SCORE_STEPS
    step = (total + main_model.SCORE_RANGE) // main_model.SCORE_STEP
    return steps_up[max(0, min(step, len(steps_up) - 1))]
