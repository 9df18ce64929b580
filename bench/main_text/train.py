"""Trains the model of the main text on gold data, or measures it by cross-validation.

    python bench/main_text/train.py --gold wcxb-dev.jsonl.zst             writes the tables
    python bench/main_text/train.py --gold wcxb-dev.jsonl.zst --cross DIR

The second one trains five times, each time without a fifth of the sites, and writes what the model
finds on the pages of these: DIR/texts.jsonl for the scorer of the gold data, DIR/ideographs.jsonl
for the same pages with every word as one to three ideographs. It prints the scores of both. It
needs numpy, catboost and publicsuffixlist, which are not needed to crawl, and the compiled reader.
After the tables have changed, build the compiled modules again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from main_text import gold, model, tables


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--gold", type=Path, required=True, help="pages with their main text")
    options.add_argument("--cross", type=Path, metavar="DIR", help="measure, write texts here")
    options.add_argument("--folds", type=int, default=gold.FOLDS, help="only the first so many")
    chosen = options.parse_args()
    pages = gold.pages(chosen.gold)
    again = gold.pages(
        chosen.gold, ideographs=True, step=1 if chosen.cross else model.IDEOGRAPHS_EACH
    )
    say(f"{len(pages)} pages, {sum(len(page.lines) for page in pages)} lines")
    if chosen.cross:
        chosen.cross.mkdir(parents=True, exist_ok=True)
        cross(pages, again, chosen.cross, chosen.folds)
    else:
        made = model.fit(pages + again)
        tables.write(made)
        say(f"{tables.HEADER}, {tables.MODULE}: {len(made.leaves)} trees")


def cross(pages: list[gold.Page], again: list[gold.Page], folder: Path, folds: int) -> None:
    """Every page by a model that has seen no page of its site."""
    texts: dict[str, list[tuple[gold.Page, str]]] = {"texts": [], "ideographs": []}
    for fold in range(folds):
        trained = [page for page in pages if page.fold != fold]
        trained += [page for page in again[:: model.IDEOGRAPHS_EACH] if page.fold != fold]
        made = model.fit(trained)
        for name, group in (("texts", pages), ("ideographs", again)):
            texts[name] += [(page, main_of(page, made)) for page in group if page.fold == fold]
        say(f"fold {fold + 1}: {measured(texts['texts'])}")
    for name, found in texts.items():
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for page, text in found:
                file.write(json.dumps({"id": page.id, "text": text}) + "\n")
        print(f"{name}: {measured(found)}")
        print("  " + "  ".join(f"{kind} {value:.3f}" for kind, value in by_type(found).items()))


def main_of(page: gold.Page, made: model.Model) -> str:
    """The lines with a good score, or the best there is, as the readers choose them."""
    if not page.lines:
        return ""
    scores = model.predicted(page, made)
    least = min(tables.MAIN_SCORE, scores.max())
    return "\n".join(line for line, score in zip(page.lines, scores, strict=True) if score >= least)


def measured(found: list[tuple[gold.Page, str]]) -> str:
    """As the scorer of the gold data prints it."""
    shared = [
        gold.shared(gold.shingles(page.gold), gold.shingles(text)) for page, text in found if text
    ]
    precision = sum(each for each, _ in shared) / len(shared)
    recall = sum(each for _, each in shared) / len(found)
    f1 = 2 * precision * recall / (precision + recall)
    words = sum(gold.word_f1(page.gold, text) for page, text in found) / len(found)
    empty = sum(not text for _, text in found)
    return (
        f"pages {len(found)}  P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}  "
        f"word-F1 {words:.3f}  empty {empty}"
    )


def by_type(found: list[tuple[gold.Page, str]]) -> dict[str, float]:
    types: dict[str, list[float]] = defaultdict(list)
    for page, text in found:
        types[page.type].append(gold.word_f1(page.gold, text))
    return {kind: sum(values) / len(values) for kind, values in sorted(types.items())}


def say(text: str) -> None:
    print(f"{time.process_time():.0f} s CPU: {text}", flush=True)


if __name__ == "__main__":
    main()
