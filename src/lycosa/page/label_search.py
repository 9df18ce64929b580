"""Which phrases of `label_phrases.txt` stand on a page. Pure.

Owns the table and how it is searched: by the words of a page, so that the cost grows with the text
and not with the table. What follows from a phrase is `labels`' part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import NamedTuple

from lycosa.page.label_rules import ERROR_PAGE

TITLE_CHARS = 200
SAYS, HINTS, WORDS, FEW, TITLE, ABOUT = "says", "hints", "words", "few", "title", "about"
_SIDES = re.compile(r" [|\-–—·•:»«/] |[|·•»«–—]|: |\. |! ?")  # between the parts of a title
_AROUND = " .,;:!?…()[]{}<>\"'“”„‘’«»‹›|/*•·–—-،؛؟。、"  # words, and no part of them
# Scripts that put no blanks between words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]").search

Phrase = tuple[str, str, str]  # words, label, strength
_Entry = tuple[str, str, str, frozenset[str], str]  # and what a page with it has: words, a stem
STEM = 4  # characters: with them begins what the last word may be on a page


class Hit(NamedTuple):
    """A phrase on a page."""

    words: str
    told: str
    strength: str
    at: int  # in the title and the text
    begin: int  # the first beyond the title; -1: in the title only


@dataclass(frozen=True, slots=True)
class Phrases:
    """The table of phrases, by a word of each."""

    by_word: dict[str, list[_Entry]]
    by_sign: dict[str, list[_Entry]]  # of scripts that put no blanks between words
    single: dict[str, list[str]]  # one word that is no more than a word, and its labels
    words: frozenset[str]  # keys of the one
    signs: frozenset[str]  # and of the other
    few: list[tuple[str, str]]  # what tells something if there is hardly more, and its label
    titles: dict[str, str]  # a part of a title, and its label
    telling: dict[str, str]  # what tells a label if it is all of a title, or of a part
    errors: dict[str, list[str]]  # what says an error-page, by a word of each
    about: frozenset[str]  # a word in the title of a page about such pages
    about_parts: list[str]  # several words, or some of a script without blanks


@cache
def phrases() -> Phrases:
    """Reads `label_phrases.txt`."""
    text = resources.files("lycosa.page").joinpath("label_phrases.txt").read_text("utf-8")
    by_word: dict[str, list[_Entry]] = {}
    by_sign: dict[str, list[_Entry]] = {}
    single: dict[str, list[str]] = {}
    few: list[tuple[str, str]] = []
    titles: dict[str, str] = {}
    telling: dict[str, str] = {}
    errors: dict[str, list[str]] = {}
    about = []
    found = read_phrases(text)
    parts_of = [_parts_of(words) for words, _, _ in found]
    often = Counter(chain.from_iterable(parts_of))
    for (words, told, strength), its_parts in zip(found, parts_of, strict=True):
        if strength == ABOUT:
            about.append(words)
            continue
        if strength == FEW:
            few.append((words if _UNSPACED(words) else f" {words} ", told))
            continue
        if strength == TITLE:
            titles.setdefault(words, told)
            continue
        parts, stem = frozenset(its_parts), words.split()[-1].strip(_AROUND)[:STEM]
        key = min(parts, key=lambda part: (len(part) < 4, often[part], -len(part), part))
        table = by_sign if _UNSPACED(words) else by_word
        if strength == WORDS and table is by_word and words == key:
            single.setdefault(key, []).append(told)
            continue
        table.setdefault(key, []).append((words, told, strength, parts, stem))
        if told == ERROR_PAGE and strength == SAYS:
            errors.setdefault(key, []).append(words)
        if strength != WORDS:
            telling.setdefault(words.strip(" .!?…"), told)
    keys = frozenset(by_word), frozenset(by_sign)
    telling.update(titles)
    words_about = frozenset(each for each in about if " " not in each and not _UNSPACED(each))
    about_parts = [
        each if _UNSPACED(each) else f" {each} " for each in about if each not in words_about
    ]
    return Phrases(
        by_word, by_sign, single, *keys, few, titles, telling, errors, words_about, about_parts
    )


def _parts_of(words: str) -> list[str]:
    """What a page with a phrase has: its words, or the characters of a script without blanks.

    The last of several words may be longer on the page: many languages decline it."""
    if not _UNSPACED(words):
        found = words_of(words)
        return found[:-1] or found
    return [sign for sign in dict.fromkeys(words) if _UNSPACED(sign)]


def read_phrases(text: str) -> list[Phrase]:
    """The phrases of a table in the form of `label_phrases.txt`."""
    found: dict[Phrase, None] = {}
    told = strength = ""
    for line in text.splitlines():
        if line.startswith("["):
            told, strength = line.strip("[]").split()
        elif line and line[0] != "#":
            words = line.partition(": ")[2] if line[0] != " " else line
            for each in words.split("|"):
                if each.strip():
                    found[each.strip(), told, strength] = None
    return list(found)


def words_of(text: str) -> list[str]:
    """The words of a text, each once, without what stands around them."""
    return [each for word in dict.fromkeys(text.split()) if (each := word.strip(_AROUND))]


def plain(text: str) -> str:
    """As phrases are written."""
    return text.lower().replace("’", "'")


def title_parts(title: str) -> list[str]:
    """A title, and its parts between separators, without what stands around them."""
    parts = [title, *_SIDES.split(title)]
    return [each.strip(" .!?…:-–—()[]'\"") for each in parts]


def titled(title: str) -> tuple[str, str]:
    """The part of a (plain) title that tells a label, and the label; '' if none does."""
    telling = phrases().telling
    for part in title_parts(title):
        if part in telling:
            return part, telling[part]
    return "", ""


def broken(begin: str) -> bool:
    """Whether even a long text may be the trace of an error, by its beginning."""
    return "rror:" in begin or "xception:" in begin or "raceback (" in begin or "arning:" in begin


def begins_with_error(begin: str) -> bool:
    """Whether a (plain) text says at its beginning that something failed."""
    errors = phrases().errors
    return any(each in begin for key in errors.keys() & words_of(begin) for each in errors[key])


def is_about(title: str) -> bool:
    """Whether a (plain) title is one of a page about such pages."""
    if not title:
        return False
    table, words = phrases(), words_of(title)
    spaced = f" {' '.join(words)} "
    return not table.about.isdisjoint(words) or any(map(spaced.__contains__, table.about_parts))


def singles(there: set[str]) -> Iterator[tuple[str, str]]:
    """Every single word of the table among those of a text, with a label."""
    single = phrases().single
    for word in sorted(single.keys() & there):
        for told in single[word]:
            yield word, told


def hits(flat: str, first: int, there: set[str]) -> Iterator[Hit]:
    """Every other phrase in a (plain) text, of which the first characters are the title."""
    table = phrases()
    stems = {word[:STEM] for word in there}
    for key in sorted(there & table.words):
        for entry in table.by_word[key]:
            if entry[4] in stems and entry[3] <= there and (hit := _hit(flat, first, entry)):
                yield hit
    if flat.isascii() or not _UNSPACED(flat):
        return
    there = set(flat)
    for key in sorted(there & table.signs):
        for entry in table.by_sign[key]:
            if entry[3] <= there and (hit := _hit(flat, first, entry)):
                yield hit


def few_hits(flat: str) -> Iterator[tuple[str, str]]:
    """What a (plain) text of a few words hints at: words, and a label."""
    spaced = f" {' '.join(word.strip(_AROUND) for word in flat.split())} "
    for words, told in phrases().few:
        if words in spaced:
            yield words.strip(), told
    for hit in hits(flat, 0, set(words_of(flat))):
        yield hit.words, hit.told
        if hit.strength != WORDS:
            yield hit.words, hit.told


def _hit(flat: str, first: int, entry: _Entry) -> Hit | None:
    words, told, strength, _, _ = entry
    at = _find(flat, words, 0)
    if at < 0:
        return None
    return Hit(words, told, strength, at, at if at >= first else _find(flat, words, first))


def _find(flat: str, words: str, start: int) -> int:
    """Where a phrase is that begins a word; scripts without blanks have no such places."""
    at = flat.find(words, start)
    while at > 0 and flat[at - 1].isalnum() and not _UNSPACED(words[0]):
        at = flat.find(words, at + len(words))
    return at
