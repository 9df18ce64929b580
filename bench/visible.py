"""Compares the visible text of real pages with what a browser shows: `innerText` of headless
Chromium, with scripts and outside CSS off.

    python bench/visible.py [--pages 300] [--worst 5] [--quick] [DIRECTORY ...]

Without a directory it reads what Debian's documentation packages installed (on Debian: apt install
chromium python3-doc postgresql-doc-15 debian-handbook). Pages are taken evenly from each directory.
Both texts are written in the same way (NFKC, case folded, nothing invisible) and compared as
tokens: words, and single other characters. Printed are the shares of the browser's tokens that are
missing and of ours that are extra, for each directory and for all. Wanted: each at most 0.3 %.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import parse
from lycosa.page import charset, html_scan
from lycosa.page.html import MAX_TEXT, PARSE_BYTES, parse_html
from support import chromium
from support.chromium import Chromium, tokens

PLACES = (
    *("/usr/share/doc/python3.11/html", "/usr/share/doc/postgresql-doc-15/html"),
    *(f"/usr/share/doc/debian-handbook/html/{each}" for each in ("en-US", "ja-JP", "fa-IR")),
)
WANTED = 0.003
SIZE = PARSE_BYTES // 4  # bytes of the largest page that is compared


@dataclass
class Shares:
    """How two texts differ, in tokens."""

    pages: int = 0
    seen: int = 0  # by the browser
    missing: int = 0
    extra: int = 0

    def __iadd__(self, other: Shares) -> Shares:
        self.pages += other.pages
        self.seen += other.seen
        self.missing += other.missing
        self.extra += other.extra
        return self

    def __str__(self) -> str:
        seen = max(self.seen, 1)
        return (
            f"{self.pages:5} pages {self.seen:9} tokens"
            f"   missing {self.missing / seen:8.4%}   extra {self.extra / seen:8.4%}"
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("places", nargs="*", metavar="DIRECTORY", type=Path)
    options.add_argument("--pages", type=int, default=300, help="of all directories together")
    options.add_argument("--worst", type=int, default=0, help="pages shown with what differs")
    options.add_argument("--quick", action="store_true", help="no browser: only to see it run")
    chosen = options.parse_args()
    places = chosen.places or [place for each in PLACES if (place := Path(each)).is_dir()]
    if chosen.quick:
        page = parse.page(20_000, 20)
        print(*judge(html_scan.scan(page, None, 1_000, MAX_TEXT)[0], page))
        return 0
    if not chromium.found():
        print(f"{chromium.ABSENT}.", file=sys.stderr)
        return 2
    if not places:
        print(
            "No directory of pages was given, and no documentation is installed.", file=sys.stderr
        )
        return 2
    with Chromium() as browser:
        return compare(browser, places, chosen.pages, chosen.worst)


def compare(browser: Chromium, places: list[Path], pages: int, worst: int) -> int:
    total = Shares()
    bad: list[tuple[int, Path, str]] = []
    for place in places:
        here = Shares()
        for path in sample(place, -(-pages // len(places))):
            page, _ = charset.to_utf8(path.read_bytes(), "text/html")
            shares, what = judge(browser.text(page), page)
            here += shares
            bad.append((shares.missing + shares.extra, path, what))
        print(f"{place!s:45} {here}")
        total += here
    for count, path, what in sorted(bad, key=lambda each: -each[0])[:worst]:
        print(f"{count:6}  {path}\n{what}")
    print(f"{'all':45} {total}")
    return int(max(total.missing, total.extra) > WANTED * total.seen)


def sample(place: Path, count: int) -> list[Path]:
    """Pages from all over a directory."""
    found = [path for path in chromium.pages_under(place) if 0 < path.stat().st_size <= SIZE]
    step = max(len(found) / max(count, 1), 1.0)
    return [found[int(number * step)] for number in range(min(count, len(found)))]


def judge(text: str, page: bytes) -> tuple[Shares, str]:
    """How our text of a page differs from another one, and the differences that are most common."""
    seen = tokens(text)
    ours = tokens(parse_html(page, "text/html; charset=utf-8").text)
    shares = Shares(1, len(seen))
    if seen == ours:
        return shares, ""
    notes: Counter[str] = Counter()
    matcher = difflib.SequenceMatcher(None, seen, ours, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            shares.missing += b - a
            shares.extra += d - c
            notes[f"    {' '.join(seen[a:b])[:70]!r} -> {' '.join(ours[c:d])[:70]!r}"] += 1
    return shares, "\n".join(f"{note} x {count}" for note, count in notes.most_common(6))


if __name__ == "__main__":
    sys.exit(main())
