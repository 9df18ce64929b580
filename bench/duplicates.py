"""Near duplicates: how many are found, how many of those found are none, and what it costs.

    python bench/duplicates.py                       # 2,000 pages of the documentation in DIR
    python bench/duplicates.py --gold FILE           # and those of wcxb-dev.jsonl.zst
    python bench/duplicates.py --quick

Each page gets a copy with an edit of 0 to 20 % of its words: substitutions, deletions and
insertions of words (of the other pages), and in one copy of three a block that moves. All go
through `archive/duplicates` as an export would send them. Printed are, by the size of the edit,
how many copies are in the cluster of their page; of all pairs in one cluster, how many have a
Jaccard index of three words in a row below 0.5; the same among the pages alone, without copies;
and the CPU for a page.

DIR holds HTML. On Debian: apt install python3-doc postgresql-doc-15 debian-handbook
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import zstandard

import parse
from lycosa.archive.duplicates import Duplicates, PageText
from lycosa.page import html
from lycosa.page.resemblance import Shingles, jaccard, shingles
from lycosa.page.simhash import NEAR, distance, simhash
from lycosa.urls.fingerprint import content_hash

DIR = Path("/usr/share/doc")
PACKAGES = ("python3*", "postgresql-doc*", "debian-handbook")
WORDS = 30  # a page with fewer is left out: an edit of 5 % would be less than two words
STEPS = (0.0, 0.01, 0.025, 0.05, 0.1, 0.2)
BELOW = 0.5
MOVES = 0.33  # share of the copies in which a block moves


@dataclass
class Copy:
    page: int
    share: float  # of its words that were edited
    text: str


def text_of(body: bytes) -> str:
    parsed = html.parse(body, "text/html; charset=utf-8")
    return getattr(parsed, "main", "") or parsed.text


def documentation(folder: Path) -> Iterator[str]:
    """The pages of the packages; a page that several of them have comes once."""
    paths = [path for name in PACKAGES for path in folder.glob(f"{name}/**/*.html")]
    for path in sorted({path.resolve() for path in paths if path.is_file()}):
        yield text_of(path.read_bytes())


def gold(file: Path) -> Iterator[str]:
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with file.open("rb") as packed:
        for line in io.TextIOWrapper(reader.stream_reader(packed), "utf-8"):
            yield text_of(json.loads(line)["html"].encode("utf-8", "replace"))


def made(number: int) -> Iterator[str]:
    """For a machine that has no documentation."""
    for seed in range(number):
        yield text_of(parse.page(20_000, 10, seed))


def edited(text: str, share: float, words: list[str], chance: random.Random) -> str:
    each = text.split()
    left = round(share * len(each))
    if left and chance.random() < MOVES:
        size = chance.randrange(1, max(2, len(each) // 4))
        start = chance.randrange(len(each) - size)
        block = each[start : start + size]
        del each[start : start + size]
        to = chance.randrange(len(each))
        each[to:to] = block
        left -= 1
    for at in sorted(chance.sample(range(len(each)), left), reverse=True):
        kind = chance.randrange(3)
        each[at : at + (kind > 0)] = [chance.choice(words)] if kind < 2 else []
    return " ".join(each)


class Clusters:
    """All texts, clustered; pages come first, then the copies."""

    def __init__(self, texts: list[str]) -> None:
        began = time.process_time()
        numbers = [simhash(text) for text in texts]
        self.hashing = time.process_time() - began
        pages = [
            PageText(key, content_hash(text), number)
            for key, (text, number) in enumerate(zip(texts, numbers, strict=True))
        ]
        began = time.process_time()
        self.of = {}
        with closing(Duplicates(pages)) as duplicates:
            for key in range(len(texts)):
                found = duplicates.mark(key, partial(texts.__getitem__, key))
                if found:
                    self.of[key] = self.of[found.of] = found.of
        self.clustering = time.process_time() - began
        self.numbers, self.texts = numbers, texts

    def together(self, one: int, other: int) -> bool:
        return self.of.get(one, -one - 1) == self.of.get(other, -other - 1)

    def pairs(self) -> Iterator[tuple[int, int]]:
        order = sorted(self.of, key=lambda key: (self.of[key], key))
        for _, group in itertools.groupby(order, key=self.of.__getitem__):
            yield from itertools.combinations(group, 2)

    def below(self) -> tuple[int, int]:
        """Pairs in one cluster, and those of them that have little in common."""
        known: dict[int, Shingles] = {key: shingles(self.texts[key]) for key in self.of}
        found = [jaccard(known[one], known[other]) for one, other in self.pairs()]
        return len(found), sum(each < BELOW for each in found)


def measure(name: str, texts: list[str], chance: random.Random) -> None:
    words = [word for text in chance.sample(texts, min(50, len(texts))) for word in text.split()]
    shares = [STEPS[-1] * number / max(1, len(texts) - 1) for number in range(len(texts))]
    chance.shuffle(shares)
    copies = [
        Copy(page, share, edited(text, share, words, chance))
        for page, (text, share) in enumerate(zip(texts, shares, strict=True))
    ]
    alone, every = Clusters(texts), Clusters(texts + [copy.text for copy in copies])
    print(f"{name}: {len(texts):,} pages and a copy of each, edits of 0 to {STEPS[-1]:.0%}")
    for low, high in itertools.pairwise(STEPS):
        chosen = [copy for copy in copies if low <= copy.share < high or copy.share == high == 0.2]
        _print_step(f"edits of {low:.1%} to {high:.1%}", chosen, every)
    _print_step("edits of at most 5 %", [copy for copy in copies if copy.share <= 0.05], every)
    for what, found in (("with copies", every), ("pages alone", alone)):
        pairs, below = found.below()
        share = below / pairs if pairs else 0.0
        print(f"  {what}: {pairs:,} pairs reported, {below:,} below {BELOW} ({share:.2%})")
    count = len(every.texts)
    print(
        f"  CPU a page: simhash {every.hashing / count * 1e6:,.0f} us"
        f" ({sum(map(len, every.texts)) / count:,.0f} characters),"
        f" clustering {every.clustering / count * 1e6:,.0f} us",
        flush=True,
    )


def _print_step(name: str, copies: list[Copy], found: Clusters) -> None:
    pages = len(found.texts) // 2
    if not copies:
        return
    apart = [distance(found.numbers[copy.page], simhash(copy.text)) for copy in copies]
    near = sum(each <= NEAR for each in apart) / len(apart)
    together = sum(found.together(copy.page, pages + copy.page) for copy in copies) / len(copies)
    bits = sum(apart) / len(apart)
    print(
        f"  {name:24}{len(copies):6,} copies, {bits:4.1f} bits apart,"
        f" within {NEAR} bits {near:6.1%}, found {together:6.1%}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a few pages, only to see it run")
    options.add_argument("--pages", type=int, default=2_000)
    options.add_argument("--dir", type=Path, default=DIR, help="folder of documentation packages")
    options.add_argument("--gold", type=Path, metavar="FILE", help="WCXB's pages, JSON lines, zstd")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    chance = random.Random(chosen.seed)
    found = made(40) if chosen.quick else documentation(chosen.dir)
    texts = [text for text in found if len(text.split()) >= WORDS]
    if not texts:
        options.error(f"{chosen.dir} has no pages; see --help")
    texts = chance.sample(texts, min(chosen.pages, len(texts)))
    measure("made pages" if chosen.quick else "documentation", texts, chance)
    if chosen.gold:
        gold_texts = [text for text in gold(chosen.gold) if len(text.split()) >= WORDS]
        measure("gold pages", gold_texts, chance)


if __name__ == "__main__":
    main()
