"""A text in 64 bits: both ways give the same, and texts that are nearly the same are near."""

from __future__ import annotations

import os
import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from lycosa.page import simhash as made
from lycosa.page.simhash import NEAR, distance, runs, simhash, simhash_in_python

SEED = int(os.environ.get("LYCOSA_SEED", "1"))
WAYS = [simhash_in_python] if made.compiled is None else [made.compiled, simhash_in_python]
needs_both = pytest.mark.skipif(len(WAYS) < 2, reason="needs a C compiler when lycosa is installed")
every_way = pytest.mark.parametrize("way", WAYS)
Way = Callable[[str], int]

UNITS = [
    *(
        "word",
        "a",
        "The",
        "AND",
        " ",
        "\n",
        ".",
        "été",
        "ÀÉ",
        "×",
        "÷",
        "Жук",
        "ЁЖ",
        "ΣΩ",
        "日本語",
    ),
    *(
        "。",
        "東",
        "カナ",
        "ｶﾅ",
        "ไทย",
        "ខ្មែរ",
        "မြန်မာ",
        "한국어",
        "हिन्दी",
        "\ud800",
        "\udfff",
        "\0",
        "😀",
    ),
    *(
        "\U00020000",
        "\U0010ffff",
        "\u2028",
        "\u3000",
        "\u00ad",
        "ſ",
        "İ",
        "1234",
        "x" * 300,
        "０１",
    ),
]

NUMBERS = (8215508586897069284, -6541458186500734943, 6251243982218532148)


def sentence(chance: random.Random, words: int) -> list[str]:
    """As in a language, few words are frequent and many rare; each text has its own."""
    about = chance.randrange(10_000)
    return [f"word{about}x{int(chance.paretovariate(0.6)) % 3_000}" for _ in range(words)]


@every_way
def test_a_text_without_words_is_0(way: Way) -> None:
    for text in ("", " \n\t", "... --- !", "。、「」", "×÷", "\u2014\u2026", "😀"):
        assert way(text) == 0
    assert all(way(text) != 0 for text in ("a", "Ж", "日", "1", "the"))


@needs_both
def test_both_ways_give_the_same_number() -> None:
    chance = random.Random(SEED)
    print("seed", SEED)
    compiled, twin = WAYS
    for _ in range(1_500):
        text = "".join(chance.choices(UNITS, k=chance.randrange(80)))
        assert compiled(text) == twin(text), ascii(text)
    for words in (254, 255, 256, 263, 264, 3_000, 20_000):
        text = " ".join(sentence(chance, words))
        assert compiled(text) == twin(text)


@needs_both
def test_both_ways_know_the_same_characters() -> None:
    """Each character between two words, where it separates, joins or stands for itself."""
    compiled, twin = WAYS
    wrong = [
        hex(code)
        for code in (*range(0x3500), *range(0x9FF0, 0xA010), *range(0xD7F0, 0x11000, 3))
        if compiled(f"left{chr(code)}{chr(code)}right") != twin(f"left{chr(code)}{chr(code)}right")
    ]
    edges = {edge for low, high, *_ in (*made.SEPARATORS, *made.UNSPACED) for edge in (low, high)}
    texts = [f"left{chr(each + step)}right" for each in edges for step in (-1, 0, 1)]
    assert [ascii(text) for text in texts if compiled(text) != twin(text)] == wrong == []


def test_the_compiled_module_has_the_same_ranges_and_weights() -> None:
    source = (Path(__file__).parents[2] / "src/lycosa/page/_simhash.c").read_text()
    found = re.findall(r"\{0x(\w+), 0x(\w+), (SEPARATOR|UNSPACED)\}", source)
    ranges = [(int(low, 16), int(high, 16), kind) for low, high, kind in found]
    assert ranges == sorted(ranges), "they are searched by halves"
    for kind, own in (("SEPARATOR", made.SEPARATORS), ("UNSPACED", made.UNSPACED)):
        assert [(low, high) for low, high, each in ranges if each == kind] == sorted(own)
    for name in ("MAX_CHARS", "SHORT", "CAP"):
        assert f"#define {name} {getattr(made, name)}\n" in source
    assert f"#define SLOT_BITS {made.SLOTS.bit_length() - 1}\n" in source
    assert f"#define ALPHABETS_END {made.ALPHABETS_END:#x}\n" in source


def test_separators_are_no_letters() -> None:
    odd = [
        hex(code)
        for low, high in made.SEPARATORS
        for code in range(low, high + 1)
        if code < 0x2000 and unicodedata.category(chr(code)) in ("Lu", "Ll")
    ]
    assert odd == [hex(0xB5)]  # the micro sign


@every_way
def test_case_and_marks_do_not_count(way: Way) -> None:
    assert way("Some WORDS, Été; Жук") == way("some words été жук")
    assert way("one two") != way("one three")


@every_way
def test_what_lies_beyond_is_not_looked_at(way: Way) -> None:
    for filler in ("many words ", "слово ", "漢字"):
        text = (filler * (made.MAX_CHARS // len(filler) + 1))[: made.MAX_CHARS - 1]
        assert way(text + " x more") == way(text + " x") == way(text + " ")


@every_way
def test_few_edits_change_few_bits(way: Way) -> None:
    chance = random.Random(SEED)
    far = 0
    for _ in range(60):
        words = sentence(chance, 400)
        other = list(words)
        for at in chance.sample(range(400), 12):  # 3 %
            other[at] = f"new{chance.randrange(2_000)}"
        far += distance(way(" ".join(words)), way(" ".join(other))) > NEAR
    assert far <= 6
    apart = [
        distance(way(" ".join(sentence(chance, 400))), way(" ".join(sentence(chance, 400))))
        for _ in range(60)
    ]
    assert min(apart) > NEAR


@every_way
def test_text_without_spaces_is_near_too(way: Way) -> None:
    chance = random.Random(SEED)
    letters = [chr(0x4E00 + chance.randrange(600)) for _ in range(800)]
    other = list(letters)
    for at in chance.sample(range(800), 8):
        other[at] = chr(0x4E00 + chance.randrange(600))
    assert distance(way("".join(letters)), way("".join(other))) <= NEAR
    chance.shuffle(other)
    assert distance(way("".join(letters)), way("".join(other))) > NEAR


@every_way
def test_a_word_that_fills_a_table_is_not_all_that_counts(way: Way) -> None:
    chance = random.Random(SEED)
    one, other = sentence(chance, 200), sentence(chance, 200)
    table = " null" * 5_000
    assert distance(way(" ".join(one) + table), way(" ".join(other) + table)) > NEAR


def test_the_numbers_stay_as_they_are() -> None:
    """They are kept with the pages of a crawl, and compared with those of later runs."""
    assert simhash("The quick brown fox jumps over the lazy dog") == NUMBERS[0]
    assert simhash("日本語のページ") == NUMBERS[1]
    assert simhash("Съешь же ещё этих мягких французских булок") == NUMBERS[2]


def test_runs_are_words_and_what_has_no_spaces() -> None:
    assert list(runs("Eine Größe: 日本 x")) == [
        *(("eine", False), ("größe", False), ("日本", True), ("x", False)),
    ]
