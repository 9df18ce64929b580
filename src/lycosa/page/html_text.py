"""Visible text from its pieces: white space folded, lines, rows of tables, text kept as it is.

Owns the marks that stand between the pieces while a page is read, and what they become. The marks
are control characters, which no text keeps. `_scan.c` writes the same text as it goes. Knows no
tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LINE = "\x1e"  # a block begins or ends
ROW, END_ROW, CELL = "\x1c", "\x1f", "\x1d"
BREAK, BLANK, TAB = "\x01", "\x02", "\x03"  # white space of text whose lines are kept
MARKS = LINE + ROW + END_ROW + CELL + BREAK + BLANK + TAB

SPACES = "\xa0\x85\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# Soft hyphens, marks of direction and the like: nothing of them is seen.
INVISIBLE = "\xad\u180e\u200b\u200e\u200f\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2060, 0x2070)))
)
_WHITE = "\n\t\r\f"
_CONTROLS = "".join(chr(code) for code in range(32) if chr(code) not in MARKS + _WHITE)
NOTHING = " " + _WHITE + SPACES + INVISIBLE + MARKS + _CONTROLS + "\u200c\u200d"
_UNSEEN_ASCII = str.maketrans(dict.fromkeys(each for each in NOTHING if each.isascii()))
_UNSEEN = re.compile(f"[{re.escape(NOTHING)}]+").sub
_WHITE_OR_MARK = re.compile(f"[ {MARKS}]+").sub
_NO_WIDTH = re.compile(f"[{re.escape(INVISIBLE + _CONTROLS)}]+").sub
_ANY_SPACE = re.compile(f"[{_WHITE}{SPACES}]").sub

_KEPT = str.maketrans({"\n": BREAK, "\r": BREAK, "\t": TAB, **dict.fromkeys(" \f" + SPACES, BLANK)})
# Persian, Hindi and emojis are spelled with joiners; behind ASCII or a space they mean nothing.
_JOINERS = re.compile("(?:^|(?<=[\x00-\x7f]))[\u200c\u200d]+")
# Folded spaces beside kept ones, blanks before a tab, which takes them in, and the ends of lines.
_BESIDE = re.compile(f"(?<=[{BLANK}{TAB}]) | (?=[{BLANK}{TAB}])")
_BEFORE_TAB = re.compile(f"(?<!{BLANK}){BLANK}++(?={TAB})")
_AT_END = re.compile(
    f"(?<![ {BLANK}{TAB}])[ {BLANK}{TAB}]++(?=[{BREAK}{LINE}{ROW}{END_ROW}{CELL}]|\\Z)"
)
_EDGES = " " + BREAK


def clean(text: str) -> str:
    """Text that may hold what looks like marks, without these; `fold` leaves out other controls."""
    for mark in MARKS:
        if mark in text:
            text = text.replace(mark, "")
    return text


def is_marked(page: str) -> bool:
    return any(mark in page for mark in MARKS)


def kept(text: str) -> str:
    """Text whose lines and spaces are kept, with marks for them."""
    return text.translate(_KEPT)


def fold(text: str) -> str:
    """One line per block or row, single spaces within; text that is kept has its lines."""
    for white in _WHITE:
        if white in text:
            text = text.replace(white, " ")
    for control in _CONTROLS:
        if control in text:
            text = text.replace(control, "")
    if not text.isascii():
        text = _fold_unicode(text)
    while text.rfind("  ") >= 0:
        text = text.replace("  ", " ")
    is_kept = BREAK in text or BLANK in text or TAB in text
    if is_kept:
        text = _settled(text)
    if ROW in text or CELL in text:
        text = "\n".join(_rows(text))
    else:
        text = "\n".join(_lines(text.replace(END_ROW, LINE)))
    if is_kept:
        text = text.replace(BREAK, "\n").replace(BLANK, " ").replace(TAB, "\t")
    return text


def visible_of(text: str) -> str:
    """The characters of a piece that are seen, without white space and joiners."""
    if text.isalnum():
        return text
    return text.translate(_UNSEEN_ASCII) if text.isascii() else _UNSEEN("", text)


def settled_behind(text: str, before: str) -> str:
    """A piece behind this character (or at the beginning), with spaces as they are and without what
    has no width: joiners are kept where they mean something."""
    text = _ANY_SPACE(" ", _NO_WIDTH("", text))
    if before.isascii():  # or none
        return _JOINERS.sub("", " " + text)[1:]
    return _JOINERS.sub("", "\xff" + text)[1:]


def seen(pieces: list[str], start: int) -> str:
    """The characters of pieces from one on that are seen, without white space."""
    text = "".join(pieces[start:])
    if not has_joiners(text):
        return visible_of(text)
    before = settled_behind("".join([each[-64:] for each in pieces[max(0, start - 8) : start]]), "")
    return _WHITE_OR_MARK("", settled_behind(text, before[-1:]))


def settled_pieces(pieces: list[str]) -> list[str]:
    """The characters of each piece that are seen, without white space."""
    found, before = [], ""
    for piece in pieces:
        text = settled_behind(piece, before)
        before = text[-1:] or before
        found.append(_WHITE_OR_MARK("", text))
    return found


def has_joiners(text: str) -> bool:
    return not text.isascii() and ("\u200c" in text or "\u200d" in text)


def _fold_unicode(text: str) -> str:
    for each in INVISIBLE:
        if each in text:
            text = text.replace(each, "")
    for each in SPACES:
        if each in text:
            text = text.replace(each, " ")
    return _JOINERS.sub("", text) if has_joiners(text) else text


def _settled(text: str) -> str:
    """Text with marks of kept white space, without what is nothing beside it."""
    if " " in text:
        text = _BESIDE.sub("", text)
    if BLANK + TAB in text:
        text = _BEFORE_TAB.sub("", text)
    text = _AT_END.sub("", text)
    return text.replace(BREAK + " ", BREAK)


def _lines(text: str) -> list[str]:
    """Blocks, each a line or, with marks, several: no empty ones at its ends."""
    return list(filter(None, [block.strip(_EDGES) for block in text.split(LINE)]))


def _rows(text: str) -> Iterable[str]:
    """Lines of blocks, and rows."""
    before, *rows = text.split(ROW)
    yield from _outside(before)
    for each in rows:
        row, _, behind = each.partition(END_ROW)
        if line := _row(row):
            yield line
        yield from _outside(behind)


def _outside(text: str) -> list[str]:
    """Text in no row."""
    return _lines(text.replace(CELL, LINE).replace(END_ROW, LINE))


def _row(text: str) -> str:
    """A row: cells go on in its line as long as each is a single line."""
    parts: list[str] = []
    tabs, torn = -1, False
    for number, cell in enumerate(text.split(CELL)):
        if number and not torn:
            tabs += 1
        lines = _lines(cell)
        if not lines:
            continue
        if parts and (torn or tabs <= 0):
            parts.append("\n")
        parts.append("\t" * tabs + "\n".join(lines))
        tabs, torn = 0, torn or len(lines) > 1 or BREAK in lines[0]
    return "".join(parts)
