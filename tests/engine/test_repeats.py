"""Duplicates counted while a crawl runs, in tables that do not grow."""

from __future__ import annotations

import random

import pytest

from lycosa.engine.repeats import Repeats
from lycosa.metrics import Stats
from lycosa.page.simhash import NEAR
from support.harvest_bench import Bench

BODY = b"<p>%s</p>"


def test_copies_and_near_copies_are_counted_apart() -> None:
    repeats, stats = Repeats(), Stats()
    one, near, far = 5 << 40, 6 << 40, 0x5555_5555_5555_5555
    for content, value in ((1, one), (2, near), (1, one), (3, far), (2, near)):
        repeats.count(content, value, stats)
    assert (stats.duplicates, stats.near_duplicates) == (2, 1)


def test_pages_without_words_repeat_nothing() -> None:
    repeats, stats = Repeats(), Stats()
    for _ in range(3):
        repeats.count(7, 0, stats)
    assert (stats.duplicates, stats.near_duplicates) == (0, 0)


def test_numbers_that_have_nothing_to_do_with_each_other_are_not_near() -> None:
    chance, repeats, stats = random.Random(1), Repeats(), Stats()
    for number in range(20_000):
        repeats.count(number + 1, chance.getrandbits(64) - (1 << 63), stats)
    assert stats.near_duplicates <= 2


@pytest.mark.parametrize(("bits", "least"), [(2, 300), (NEAR, 120)])
def test_all_that_differ_in_few_bits_are_found_and_of_others_many(bits: int, least: int) -> None:
    chance, repeats, stats = random.Random(1), Repeats(), Stats()
    for number in range(300):
        value = chance.getrandbits(63)
        other = value ^ sum(1 << bit for bit in chance.sample(range(63), bits))
        repeats.count(2 * number + 1, value, stats)
        repeats.count(2 * number + 2, other, stats)
    assert least <= stats.near_duplicates <= 300


def test_memory_is_bounded() -> None:
    repeats, stats = Repeats(), Stats()
    sizes = (len(repeats._texts), len(repeats._near))
    for number in range(1, 10_000):
        repeats.count(number << 30, number << 20, stats)
    assert (len(repeats._texts), len(repeats._near)) == sizes
    assert sum(sizes) * 8 <= 8 << 20


def test_the_harvest_counts_pages_and_keeps_their_simhash() -> None:
    bench = Bench()
    words = [f"word{n}" for n in range(200)]
    for text in (
        " ".join(words),
        " ".join(words),
        " ".join(words[:199]),
        "something else entirely",
    ):
        bench.page(BODY % text.encode())
    assert (bench.stats.duplicates, bench.stats.near_duplicates) == (1, 1)
    assert bench.batch.pages[0].simhash == bench.batch.pages[1].simhash != 0
    assert b'"simhash":"%016x"' % (bench.batch.pages[0].simhash & (2**64 - 1)) in bytes(
        bench.batch.pages[0].text_row
    )


def test_counts_of_engines_add_up() -> None:
    total = Stats.merge([Stats(duplicates=2, near_duplicates=1), Stats(duplicates=3)])
    assert (total.duplicates, total.near_duplicates) == (5, 1)
