"""What it costs to make a page worth having: main text, simhash, label and language.

    python bench/worth.py --gold FILE [--before DIR] [--quick]

FILE holds real pages, a line of JSON each with the key `html`, packed with zstd, like the
development part of WCXB; those of 60 to 100 KB are taken, and beside them the generated page of
`bench/parse.py`, of which half is text. DIR is a checkout of an earlier commit with its .venv: its
`parse_html` is measured in turns with ours, and the ratio of our whole work to it is printed.
Microseconds of CPU per page: the best of several rounds for each page, since what disturbs a
measurement only ever adds to it.
"""

from __future__ import annotations

import argparse
import io
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import zstandard

from lycosa.page import html

TYPE = "text/html; charset=utf-8"
URL = "https://www.example.com/a/b.html"
LEAST, MOST = 60_000, 100_000  # bytes of a real page
PAGES = 200
ROUNDS = 5
TURNS = 3
Costs = dict[str, float]


def real_pages(path: Path) -> list[bytes]:
    """Pages of some 80 KB."""
    found: list[bytes] = []
    with path.open("rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8")
        for line in lines:
            page = json.loads(line)["html"].encode()
            if LEAST <= len(page) <= MOST:
                found.append(page)
            if len(found) == PAGES:
                break
    return found


def cost(work: Callable[[int], object], count: int, rounds: int) -> float:
    """Microseconds of CPU for one of so many pages."""
    best = [float("inf")] * count
    for _ in range(rounds):
        for number in range(count):
            start = time.thread_time()
            work(number)
            best[number] = min(best[number], time.thread_time() - start)
    return sum(best) / count * 1e6


def measured(pages: list[bytes], rounds: int) -> Costs:
    """What this checkout needs for some pages, step by step."""
    count = len(pages)
    found = {"parse": cost(lambda n: html.parse_html(pages[n], TYPE), count, rounds)}
    if not hasattr(html.Parsed, "blocks"):
        return found  # an earlier commit
    from lycosa.page.labels import LabelFacts, label
    from lycosa.page.language import languages
    from lycosa.page.simhash import simhash

    parsed = [html.parse_html(page, TYPE) for page in pages]
    facts: list[Any] = [
        LabelFacts.of(each, URL, 200, lambda _: "", "text/html", "", page)
        for each, page in zip(parsed, pages, strict=True)
    ]
    steps: dict[str, Callable[[int], object]] = {
        "simhash": lambda n: simhash(parsed[n].main or parsed[n].text),
        "label": lambda n: label(facts[n]),
        "language": lambda n: languages(parsed[n].main or parsed[n].text, parsed[n].lang),
    }
    return found | {name: cost(work, count, rounds) for name, work in steps.items()}


def in_checkout(root: Path, pages: Path, rounds: int) -> dict[str, Costs]:
    """The same, by another checkout."""
    python = root / ".venv/bin/python"
    words = [str(python), __file__, "--child", str(pages), "--rounds", str(rounds)]
    done = subprocess.run(words, cwd=root, stdout=subprocess.PIPE, check=True)
    answer: dict[str, Costs] = json.loads(done.stdout)
    return answer


def by_kind(path: Path, rounds: int) -> dict[str, Costs]:
    kinds: dict[str, list[bytes]] = pickle.loads(path.read_bytes())
    return {kind: measured(pages, rounds) for kind, pages in kinds.items()}


def middle(turns: list[dict[str, Costs]], kind: str, step: str) -> float:
    return median(turn[kind][step] for turn in turns)


def show(kind: str, ours: list[dict[str, Costs]], theirs: list[dict[str, Costs]]) -> None:
    steps = list(ours[0][kind])
    print(f"{kind}: " + ", ".join(f"{step} {middle(ours, kind, step):.0f}" for step in steps), "us")
    whole = median(sum(turn[kind].values()) - turn[kind]["language"] for turn in ours)
    print(f"  parse with simhash and label: {whole:.0f} us", end="")
    if theirs:
        before = middle(theirs, kind, "parse")
        print(f"; parse before: {before:.0f} us; ratio {whole / before:.2f}", end="")
    print()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gold", type=Path, help="real pages")
    options.add_argument("--before", type=Path, help="a checkout to compare with")
    options.add_argument("--quick", action="store_true", help="a single round, only to see it run")
    options.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--rounds", type=int, default=ROUNDS, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.child:
        print(json.dumps(by_kind(args.child, args.rounds)))
        return
    sys.path.insert(0, str(Path(__file__).parent))
    from parse import page

    kinds = {"generated, 80 KB": [page(80_000, 60, seed) for seed in range(4)]}
    if args.gold:
        kinds["real, 60 to 100 KB"] = real_pages(args.gold)
    rounds, turns = (1, 1) if args.quick else (args.rounds, TURNS)
    ours: list[dict[str, Costs]] = []
    theirs: list[dict[str, Costs]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages"
        path.write_bytes(pickle.dumps(kinds))
        for _ in range(turns):
            if args.before:
                theirs.append(in_checkout(args.before, path, rounds))
            ours.append(by_kind(path, rounds))
    for kind in kinds:
        show(kind, ours, theirs)


if __name__ == "__main__":
    main()
