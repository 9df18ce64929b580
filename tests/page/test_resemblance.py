"""What two texts have in common."""

from __future__ import annotations

from lycosa.page.resemblance import NEAR_DUPLICATE, jaccard, shingles


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
    words = [f"w{n}" for n in range(400)]
    other = [f"x{n}" if n % 20 == 10 else word for n, word in enumerate(words)]
    assert jaccard(shingles(" ".join(words)), shingles(" ".join(other))) >= NEAR_DUPLICATE
