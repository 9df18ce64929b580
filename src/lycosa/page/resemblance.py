"""How much two texts have in common: the judge of near duplicates, where both texts are at hand.

`simhash` says which pairs are worth looking at; here the share of three words in a row that both
have (Jaccard's index) decides. Characters of scripts without spaces count as words. Pure.
"""

from __future__ import annotations

from lycosa.page.simhash import runs

SHINGLE = 3  # words in a row; with four, an edit of 5 % could cost more than NEAR_DUPLICATE allows
NEAR_DUPLICATE = 0.7  # of all shingles of two texts that both have
DRIFTED = 0.5  # texts below it are not in one cluster, even if a third is near to both

Shingles = frozenset[int]


def shingles(text: str) -> Shingles:
    """What a text consists of, as numbers that hold within one process."""
    words: list[str] = []
    for run, unspaced in runs(text):
        if unspaced:
            words += run
        else:
            words.append(run)
    if len(words) < SHINGLE:
        return frozenset((hash(tuple(words)),)) if words else frozenset()
    return frozenset(map(hash, zip(*(words[at:] for at in range(SHINGLE)), strict=False)))


def jaccard(one: Shingles, other: Shingles) -> float:
    """The share of what both have in what either has, 0 to 1."""
    common = len(one & other)
    either = len(one) + len(other) - common
    return common / either if either else 1.0
