"""Judges the labels: on the frozen pages, on real documentation, on gold pages, and what they cost.

    python bench/labels.py [--quick] [--gold wcxb-dev.jsonl.zst] [--docs /usr/share/doc]

The frozen pages are tests/data/labels.jsonl.zst: for each label precision, recall and what it was
taken for; beside them the pages on which the rules were tried (labels_dev.jsonl.zst). Documentation
and gold pages are all real: the share that is called content or listing.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import zstandard

from lycosa.page.html import parse
from lycosa.page.label_rules import LABELS, REAL
from lycosa.page.labels import LabelFacts, label

FROZEN = Path(__file__).parents[1] / "tests" / "data" / "labels.jsonl.zst"
TRIED = FROZEN.with_name("labels_dev.jsonl.zst")
TYPE = "text/html; charset=utf-8"


def facts_of(body: bytes, headers: dict[str, str], status: int = 200, url: str = "") -> LabelFacts:
    """What the engine would tell of a page."""
    kind = headers.get("content-type", TYPE)

    def header(name: bytes) -> str:
        return headers.get(name.decode(), "")

    return LabelFacts.of(parse(body, kind), url, status, header, kind, "", body)


def lines_of(path: Path) -> Iterator[dict[str, object]]:
    """The objects of a file of JSON lines."""
    with path.open("rb") as file:
        unpacked = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        for line in io.TextIOWrapper(unpacked, "utf-8"):
            yield json.loads(line)


def frozen(path: Path = FROZEN) -> dict[tuple[str, str], int]:
    """How often pages of one label got another."""
    found: Counter[tuple[str, str]] = Counter()
    for page in lines_of(path):
        headers = dict(page["headers"])  # type: ignore[call-overload]
        body = str(page["html"]).encode()
        facts = facts_of(body, headers, int(str(page["status"])), str(page["url"]))
        found[str(page["label"]), label(facts)[0]] += 1
    return dict(found)


def judged(found: dict[tuple[str, str], int]) -> dict[str, tuple[float, float]]:
    """Precision and recall of each label."""
    result = {}
    for name in LABELS:
        right = found.get((name, name), 0)
        said = sum(number for (_, got), number in found.items() if got == name)
        true = sum(number for (want, _), number in found.items() if want == name)
        result[name] = (right / said if said else 0.0, right / true if true else 0.0)
    return result


def print_frozen(title: str, path: Path) -> None:
    found = frozen(path)
    print(f"{title}: {sum(found.values())} pages")
    print(f"{'label':14} precision  recall  taken for")
    for name, (precision, recall) in judged(found).items():
        others = {got: n for (want, got), n in found.items() if want == name and got != name}
        words = ", ".join(f"{got} {n}" for got, n in sorted(others.items()))
        print(f"{name:14} {precision:9.3f} {recall:7.3f}  {words}")


def print_real(name: str, pages: Iterator[LabelFacts]) -> None:
    """The share of real pages, and what a label costs."""
    found: Counter[str] = Counter()
    costs = []
    for facts in pages:
        label(facts)
        begin = time.process_time_ns()
        for _ in range(5):
            told, _ = label(facts)
        costs.append((time.process_time_ns() - begin) / 5_000)
        found[told] += 1
    total = found.total()
    if not total:
        return
    real = sum(found[each] for each in REAL)
    mean, middle = sum(costs) / total, median(costs)
    print(
        f"{name}: {real:,} of {total:,} real ({real / total:.2%}), {dict(found.most_common())};"
        f" {middle:.1f} us of CPU a page (median; mean {mean:.1f})"
    )


def documentation(root: Path, most: int) -> Iterator[LabelFacts]:
    """Pages of documentation packages, evenly chosen."""
    names = ("python3*", "postgresql-doc*", "debian-handbook", "*")
    paths = [path for name in names for path in sorted(root.glob(f"{name}/**/*.html"))]
    paths = [path for path in dict.fromkeys(paths) if path.is_file() and not path.is_symlink()]
    for path in paths[:: max(1, len(paths) // most)][:most]:
        yield facts_of(path.read_bytes()[: 2 << 20], {}, url=f"https://docs.example/{path.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--gold", type=Path, help="pages of WCXB: JSON lines, zstd")
    parser.add_argument("--docs", type=Path, default=Path("/usr/share/doc"))
    parser.add_argument("--most", type=int, default=2_000, help="pages of documentation")
    parser.add_argument("--quick", action="store_true", help="100 pages of documentation")
    options = parser.parse_args()
    print_frozen("frozen pages", FROZEN)
    print_frozen("pages the rules were tried on", TRIED)
    print_real("documentation", documentation(options.docs, 100 if options.quick else options.most))
    if options.gold:
        gold = (
            facts_of(str(page["html"]).encode("utf-8", "replace"), {}, url=str(page["url"]))
            for page in lines_of(options.gold)
        )
        print_real("gold pages", gold)


if __name__ == "__main__":
    main()
