"""Clusters of duplicates: what is the same, what is nearly, and at what cost."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from lycosa.archive import duplicates
from lycosa.archive.duplicates import EXACT, SIMILAR, Duplicates, PageText, masks, near_pairs
from lycosa.page.resemblance import Sketch
from lycosa.page.simhash import NEAR, simhash
from lycosa.urls.fingerprint import content_hash

SEED = int(os.environ.get("LYCOSA_SEED", "1"))


def words(chance: random.Random, number: int = 300) -> list[str]:
    about = chance.randrange(1 << 30)
    return [f"word{about}x{int(chance.paretovariate(0.6)) % 3_000}" for _ in range(number)]


def edited(text: str, chance: random.Random, share: float) -> str:
    each = text.split()
    for at in chance.sample(range(len(each)), int(share * len(each))):
        each[at] = f"new{chance.randrange(1000)}"
    return " ".join(each)


def found(texts: dict[int, str]) -> dict[int, tuple[int, str]]:
    pages = [PageText(page, content_hash(text), simhash(text)) for page, text in texts.items()]
    with closing(Duplicates(pages)) as judge:
        marks = {page: judge.mark(page, partial(texts.__getitem__, page)) for page in texts}
    return {page: (mark.of, mark.kind) for page, mark in marks.items() if mark is not None}


def test_copies_and_near_copies_are_one_cluster_named_by_its_first_page() -> None:
    chance = random.Random(SEED)
    text, other = " ".join(words(chance)), " ".join(words(chance))
    near = edited(text, chance, 0.01)
    texts = {10: other, 20: text, 30: near, 40: text, 50: near, 60: " ".join(words(chance))}
    assert found(texts) == {30: (20, SIMILAR), 40: (20, EXACT), 50: (20, EXACT)}


def test_a_copy_of_the_last_near_duplicate_is_in_its_cluster() -> None:
    chance = random.Random(SEED)
    text = " ".join(words(chance))
    near = edited(text, chance, 0.02)
    assert found({1: text, 2: near, 3: near}) == {2: (1, SIMILAR), 3: (1, EXACT)}


def test_what_is_near_by_simhash_alone_is_no_duplicate() -> None:
    texts = {1: "alpha beta epsilon zeta", 2: "zeta epsilon beta alpha"}
    assert simhash(texts[1]) == simhash(texts[2])
    assert found(texts) == {}


def test_a_chain_of_small_changes_does_not_join_what_has_nothing_in_common() -> None:
    chance = random.Random(SEED)
    text = " ".join(words(chance, 1000))
    chain = {}
    for number in range(60):
        chain[number] = text
        text = edited(text, chance, 0.02)
    first = {cluster for cluster, _ in found(chain).values()}
    assert 1 < len(first) < 30


def test_a_text_without_words_is_near_to_nothing() -> None:
    assert found({1: "...", 2: "---", 3: "..."}) == {3: (1, EXACT)}


def test_pages_that_are_gone_meanwhile_are_near_to_nothing() -> None:
    chance = random.Random(SEED)
    text = " ".join(words(chance))
    texts = {number: edited(text, chance, 0.01) for number in range(5)}
    pages = [PageText(page, content_hash(text), simhash(text)) for page, text in texts.items()]
    with closing(Duplicates(pages)) as judge:
        marks = [judge.mark(page, partial(texts.__getitem__, page)) for page in (2, 4)]
    assert marks[0] is None and marks[1] in (None, (2, SIMILAR))


def test_where_all_pages_are_alike_a_page_is_compared_with_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(SEED)
    text = " ".join(words(chance))
    texts = {number: edited(text, chance, 0.02) for number in range(1_000)}
    compared: list[int] = []
    common = Duplicates._common

    def counted(judge: Duplicates, sketch: Sketch, page: int) -> float:
        compared.append(page)
        return common(judge, sketch, page)

    monkeypatch.setattr(Duplicates, "_common", counted)
    marks = found(texts)
    assert len(marks) > 980
    assert len(compared) < 3 * len(texts)


@pytest.mark.parametrize("pages", [10, 100_000, 3_000_000, 1 << 40])
def test_numbers_that_differ_in_few_bits_agree_in_a_mask(pages: int) -> None:
    chance = random.Random(SEED)
    chosen = masks(pages)
    for _ in range(2_000):
        flips = sum(1 << bit for bit in chance.sample(range(64), NEAR))
        assert any(not flips & mask for mask in chosen)
    every = 0
    for mask in chosen:
        every |= mask
    assert every == (1 << 64) - 1


def test_keys_grow_with_the_number_of_pages() -> None:
    sizes = (10, 10**5, 10**7, 10**9)
    bits = [min(mask.bit_count() for mask in masks(pages)) for pages in sizes]
    assert bits == sorted(bits) and bits[0] < bits[-1]


def test_signs_do_not_matter() -> None:
    assert list(near_pairs([(0, -1, 3), (0, -2, 5), (0, 1 << 40, 9)])) == [(5, 1, 3)]


def test_a_crowd_that_shares_a_key_costs_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, number, number) for number in range(1 << 6)]
    assert len(list(near_pairs(rows))) <= 64 * 2 * duplicates.ENOUGH
    monkeypatch.setattr(duplicates, "WINDOW", 10)
    monkeypatch.setattr(duplicates, "ENOUGH", 1_000)
    assert 64 < len(list(near_pairs(rows))) <= 64 * 10


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    def peak(number: int) -> int:
        chance = random.Random(SEED)

        def pages() -> Iterator[PageText]:
            for page in range(number):
                yield PageText(page, chance.getrandbits(63), chance.getrandbits(63))

        tracemalloc.start()
        with closing(Duplicates(pages(), tmp_path)) as judge:
            assert not any(judge.mark(page, lambda: "") for page in range(number))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(1_000), peak(20_000)
    assert large < small + 300_000
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_the_pages_can_not_be_read(tmp_path: Path) -> None:
    def pages() -> Iterator[PageText]:
        yield PageText(1, 2, 3)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        Duplicates(pages(), tmp_path)
    assert list(tmp_path.iterdir()) == []
