"""Pages with their main text as people see it: lines, labels, folds, and the same in ideographs.

Reads WCXB's development part (JSON lines, zstd): `html`, `gold`, `type`, `url`. The data is not
part of this repository; NOTICES says where it is from.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import zstandard
from publicsuffixlist import PublicSuffixList

from lycosa.page import _scan, blocks

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
TOKENS = re.compile(f"[{CJK}]|[^\\W{CJK}]+").findall
SHINGLE = 4  # words
SHORT = 6  # words; of shorter lines the neighbours have a say
FOLDS = 5
IDEOGRAPHS = (0x4E00, 20_000)

_LETTERS = re.compile(r"[^\W\d_]+")
_JOINED = re.compile(r"(?<=[\u4e00-\u9fff.,;:!?]) (?=[\u4e00-\u9fff])")
_MARKUP = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>|<!--.*?-->|<[a-zA-Z/!][^>]*>|&[#a-zA-Z0-9]+;)",
    re.S | re.I,
)
_suffixes = PublicSuffixList()


@dataclass(slots=True)
class Page:
    """A page with a label for each of its lines."""

    id: str
    type: str
    fold: int
    html: bytes
    gold: str
    lines: list[str]
    columns: np.ndarray  # a row for each line, a byte for each feature
    labels: np.ndarray  # 0 to 1: how much of the line is main text
    sizes: np.ndarray  # words of the line


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        yield from map(json.loads, io.TextIOWrapper(reader, "utf-8"))


def pages(path: Path, *, ideographs: bool = False, step: int = 1) -> list[Page]:
    """Each page, or each so many; with `ideographs` every word is one to three of them, and no
    space is between."""
    found = []
    for number, row in enumerate(rows(path)):
        if number % step:
            continue
        html, gold = row["html"], row["gold"]
        if ideographs:
            html, gold = _in_ideographs(html, number % 3 + 1), written(gold, number % 3 + 1)
        found.append(_page(row, html.encode("utf-8", "replace"), gold))
    return found


def _page(row: dict[str, str], html: bytes, gold: str) -> Page:
    lines, columns = features(html, b"")
    labels, sizes = labelled(lines, gold)
    return Page(
        row["id"],
        row["type"],
        _fold(row["url"] or row["id"]),
        html,
        gold,
        lines,
        columns,
        labels,
        sizes,
    )


def features(html: bytes, sums: bytes) -> tuple[list[str], np.ndarray]:
    """Lines of a page and their features, as the compiled reader has them."""
    text, columns, counts = _scan.features(html, html5, sums)
    each = iter([line for _, line in blocks.lines_of(text)])
    lines = ["\n".join(islice(each, count)) for count in counts]
    table: np.ndarray = np.frombuffer(columns, np.uint8)
    table = table.reshape(-1, len(lines)).T if lines else table.reshape(0, 0)
    return lines, np.ascontiguousarray(table)


def _fold(url: str) -> int:
    """All pages of a site are in one fold."""
    host = urlsplit(url).hostname or url
    site = _suffixes.privatesuffix(host) or host
    return int(hashlib.md5(site.encode()).hexdigest(), 16) % FOLDS


def labelled(lines: list[str], gold: str) -> tuple[np.ndarray, np.ndarray]:
    """How much of each line is in the gold text, and its words."""
    words = TOKENS(gold.lower())
    known = {
        size: {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}
        for size in range(1, SHINGLE + 1)
    }
    whole = {tuple(TOKENS(line.lower())) for line in gold.split("\n")}
    tokens = [TOKENS(line.lower()) for line in lines]
    found = np.array([_covered(each, known, whole) for each in tokens], float)
    sizes = np.array([len(each) for each in tokens], int)
    return _smoothed(found, sizes), sizes


def _covered(
    line: list[str], known: dict[int, set[tuple[str, ...]]], whole: set[tuple[str, ...]]
) -> float:
    size = min(SHINGLE, len(line))
    if size == 0:
        return 0.0
    covered = [False] * len(line)
    for at in range(len(line) - size + 1):
        if tuple(line[at : at + size]) in known[size]:
            covered[at : at + size] = [True] * size
    share = sum(covered) / len(line)
    return share if size == SHINGLE or tuple(line) in whole else share / 2


def _smoothed(found: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Short lines may be in the gold text by chance: they count where their neighbours do."""
    labels = found.copy()
    for at in np.flatnonzero(sizes < SHORT):
        near = [each for each in range(at - 4, at + 5) if 0 <= each < len(found) and each != at]
        weights = np.array([min(sizes[each], 30) / abs(each - at) for each in near])
        total = weights.sum() if near else 0
        mean = float(weights @ found[near] / total) if total else 0.0
        labels[at] = mean / 2 if sizes[at] == 0 else found[at] * (0.25 + 0.75 * mean)
    return labels


def written(text: str, size: int) -> str:
    """Words as so many ideographs each, the same for the same word, without spaces between."""
    return _JOINED.sub("", _LETTERS.sub(lambda word: _ideographs(word[0].lower(), size), text))


@lru_cache(1 << 18)
def _ideographs(word: str, size: int) -> str:
    chance = random.Random(word)
    first, count = IDEOGRAPHS
    return "".join(chr(first + chance.randrange(count)) for _ in range(size))


def _in_ideographs(html: str, size: int) -> str:
    """Only what is between tags; not scripts, styles and references."""
    parts = _MARKUP.split(html)
    parts[::2] = [written(part, size) if part.strip() else part for part in parts[::2]]
    return "".join(parts)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = TOKENS(text)
    count = max(1, len(words) - SHINGLE + 1) if words else 0
    return Counter(tuple(words[at : at + SHINGLE]) for at in range(count))


def shared(gold: Counter[tuple[str, ...]], found: Counter[tuple[str, ...]]) -> tuple[float, float]:
    """Precision and recall."""
    both = sum((gold & found).values())
    return both / max(1, sum(found.values())), both / max(1, sum(gold.values()))


def word_f1(gold: str, text: str) -> float:
    a, b = Counter(TOKENS(gold.lower())), Counter(TOKENS(text.lower()))
    both = sum((a & b).values())
    return 2 * both / (sum(a.values()) + sum(b.values())) if both else float(not a and not b)
