"""What two texts have in common."""

from __future__ import annotations

import os
import random
import re
from zlib import crc32

import pytest

from lycosa.page.resemblance import NEAR_DUPLICATE, SKETCH, Sketch, jaccard, shingles
from lycosa.page.simhash import (
    ASCII_SEPARATORS,
    MAX_CHARS,
    SEPARATORS,
    UNSPACED,
    char_class,
    runs,
)
from lycosa.page.word_hashes import word_hashes

SEED = int(os.environ.get("LYCOSA_SEED", "1"))


def test_the_same_words_in_a_row_are_common() -> None:
    one = shingles("One two three, four five!")
    assert one == shingles("one TWO three four - five")
    assert len(one) == 3
    assert jaccard(one, shingles("one two three four six")) == 0.5
    assert jaccard(one, shingles("five four three two one")) == 0.0


def test_short_and_empty_texts_compare_as_well() -> None:
    assert jaccard(shingles("two words"), shingles("Two words.")) == 1.0
    assert jaccard(shingles("two words"), shingles("two")) == 0.0
    assert jaccard(shingles(""), shingles("...")) == 1.0
    assert jaccard(shingles(""), shingles("word")) == 0.0


def test_characters_of_scripts_without_spaces_are_words() -> None:
    one = shingles("吾輩は猫である。名前はまだ無い")
    assert len(one) == 12
    assert jaccard(one, shingles("吾輩は犬である。名前はまだ無い")) < NEAR_DUPLICATE


def test_an_edit_of_five_per_cent_is_a_near_duplicate_in_the_worst_case() -> None:
    one = [f"w{n}" for n in range(400)]
    other = [f"x{n}" if n % 20 == 10 else word for n, word in enumerate(one)]
    assert jaccard(shingles(" ".join(one)), shingles(" ".join(other))) >= NEAR_DUPLICATE


def test_texts_of_few_shingles_are_compared_exactly_by_their_sketches() -> None:
    chance = random.Random(SEED)
    for _ in range(50):
        one, other = two_texts(chance, chance.randrange(SKETCH))
        exact = jaccard(shingles(one), shingles(other))
        assert Sketch.of(one).jaccard(Sketch.of(other)) == exact


def test_of_long_texts_a_sketch_is_nearly_as_good() -> None:
    chance = random.Random(SEED)
    wrong = []
    for _ in range(100):
        one, other = two_texts(chance, chance.randrange(SKETCH, 5_000))
        estimated = Sketch.of(one).jaccard(Sketch.of(other))
        assert estimated == Sketch.of(other).jaccard(Sketch.of(one))
        wrong.append(estimated - jaccard(shingles(one), shingles(other)))
    assert max(map(abs, wrong)) < 0.1
    assert (sum(each**2 for each in wrong) / len(wrong)) ** 0.5 < 0.025
    assert abs(sum(wrong) / len(wrong)) < 0.01  # neither too much nor too little


@pytest.mark.parametrize("number", [0, 1, 2, SKETCH + 1, SKETCH + 2, SKETCH + 3, 3_000])
def test_a_sketch_is_kept_in_few_bytes(number: int) -> None:
    sketch = Sketch.of(" ".join(f"w{n}" for n in range(number)))
    packed = sketch.packed()
    assert len(packed) <= 8 * SKETCH
    assert Sketch.unpacked(packed) == sketch
    assert sketch.jaccard(Sketch.unpacked(packed)) == 1.0


def test_sketches_are_the_same_in_every_process() -> None:
    assert sorted(Sketch.of("one two three four").hashes) == [
        -5301705068450921256,
        2254190025028948504,
    ]


_words = re.compile(
    f"[{char_class(UNSPACED)}]|[^{ASCII_SEPARATORS}{char_class(SEPARATORS)}{char_class(UNSPACED)}]+"
).findall


def words(text: str) -> list[int]:
    """As plain as it can be said."""
    found = _words(text[:MAX_CHARS].lower())
    return [crc32(word.encode("utf-8", "replace")) for word in found]


def test_words_are_those_of_runs_however_a_text_is_written() -> None:
    told = ["eine", "größe", *"日本x"]
    assert word_hashes("Eine Größe: 日本 x") == [crc32(word.encode()) for word in told]
    chance = random.Random(SEED)
    for _ in range(200):
        text = "".join(chr(chance.randrange(128)) for _ in range(chance.randrange(300)))
        plain = [crc32(run.encode()) for run, _ in runs(text)]
        assert word_hashes(text) == plain
        assert word_hashes(text + " é") == [*plain, crc32("é".encode())]
    assert word_hashes("a " * MAX_CHARS) == [crc32(b"a")] * (MAX_CHARS // 2)
    assert word_hashes("half \ud800 a character") == words("half a character")


def test_all_ways_to_cut_a_text_give_the_same_words() -> None:
    """Every character, among few and among many words of ASCII; and texts of all scripts."""
    around = " plain words" * 9
    for code in range(0x80, 0x110000, 1 if SEED != 1 else 3):
        text = f"A{chr(code)}b"
        assert word_hashes(text) == words(text), hex(code)
        if code < 0x3200:
            assert word_hashes(text + around) == words(text + around), hex(code)
    chance = random.Random(SEED)
    blocks = ((0, 128), (0, 0x250), (0x2000, 0x3200), (0x4E00, 0x9FFF), (0, 0x110000))
    for _ in range(3_000):
        chars = [chr(chance.randrange(*chance.choice(blocks))) for _ in range(30)]
        text = "".join(chars[: chance.randrange(30)]) + around * chance.randrange(3)
        assert word_hashes(text) == words(text), ascii(text)


def test_a_sketch_has_the_least_shingles_whether_many_are_the_same_or_not() -> None:
    chance = random.Random(SEED)
    for vocabulary in (3, 10, 12, 30, 3_000):
        text = " ".join(f"w{chance.randrange(vocabulary)}" for _ in range(3_000))
        found = sorted(shingles(text))
        assert sorted(Sketch.of(text).hashes) == found[:SKETCH], vocabulary
        assert Sketch.of(text).limit == (found[SKETCH - 1] if len(found) >= SKETCH else None)


def two_texts(chance: random.Random, number: int) -> tuple[str, str]:
    one = [f"w{chance.randrange(number + 1)}" for _ in range(number)]
    other = one.copy()
    for at in chance.sample(range(number), int(number * chance.random() * 0.15)):
        other[at] = "edited"
    return " ".join(one), " ".join(other[: int(number * chance.uniform(0.7, 1))])
