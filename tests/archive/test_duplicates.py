"""Clusters of duplicates: what is the same, what is nearly, and at what cost."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.archive import duplicates
from lycosa.archive.duplicates import EXACT, FIRST, SIMILAR, PageText, clusters, masks, near_pairs
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
    pages = [PageText(key, content_hash(text), simhash(text)) for key, text in texts.items()]
    return {key: (cluster, kind) for key, cluster, kind in clusters(pages, texts.__getitem__)}


def test_copies_and_near_copies_are_one_cluster_named_by_its_first_page() -> None:
    chance = random.Random(SEED)
    text, other = " ".join(words(chance)), " ".join(words(chance))
    near = edited(text, chance, 0.01)
    texts = {70: other, 50: text, 40: near, 30: text, 20: near, 10: " ".join(words(chance))}
    assert found(texts) == {
        50: (50, FIRST), 40: (50, SIMILAR), 30: (50, EXACT), 20: (50, EXACT),
    }  # fmt: skip


def test_pages_come_back_in_the_order_in_which_they_came() -> None:
    chance = random.Random(SEED)
    texts = dict.fromkeys(chance.sample(range(1000), 500), "the same words everywhere")
    assert list(found(texts)) == list(texts)


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
    clusters_of = found(chain)
    first = {cluster for cluster, _ in clusters_of.values()}
    assert 1 < len(first) < 30


def test_a_text_without_words_is_near_to_nothing() -> None:
    assert found({1: "...", 2: "---", 3: "..."}) == {1: (1, FIRST), 3: (1, EXACT)}


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
    bits = [min(mask.bit_count() for mask in masks(pages)) for pages in (10, 10**5, 10**6, 10**7)]
    assert bits == sorted(bits) and bits[0] < bits[-1]


def test_signs_do_not_matter() -> None:
    assert list(near_pairs([(0, -1, 5), (0, -2, 3), (0, 1 << 40, 9)])) == [(3, 5)]


def test_a_crowd_that_shares_a_key_costs_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "WINDOW", 10)
    pairs = list(near_pairs((0, number, number) for number in range(1 << 6)))
    assert len(pairs) <= 64 * 10


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    def peak(number: int) -> int:
        chance = random.Random(SEED)

        def pages() -> Iterator[PageText]:
            for key in range(number):
                yield PageText(key, chance.getrandbits(63), chance.getrandbits(63))

        tracemalloc.start()
        assert list(clusters(pages(), lambda key: "", tmp_path)) == []
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(1_000), peak(20_000)
    assert large < small + 300_000
    assert list(tmp_path.iterdir()) == []
