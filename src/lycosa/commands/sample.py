"""`lycosa sample`: a few pages by chance, the way a person looks at a data set first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lycosa.commands.filters import filters_of
from lycosa.commands.printing import page_json, print_json
from lycosa.commands.which_crawl import opened_nodes
from lycosa.errors import StoreError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line
from lycosa.units import utc

if TYPE_CHECKING:
    from lycosa.reading.values import TextPage

WIDTH = 96  # characters of a line of text
LINES = 5  # of text


def sample(values: Values, _: list[str]) -> int:
    """Show some pages; with --json one object a line."""
    with opened_nodes(values) as crawl:
        where = crawl.filter(**filters_of(values))
        found = crawl.sample(values["count"], where, seed=values["seed"], missing="skip")
        missing = crawl.missing
    if missing and not found:
        raise StoreError(next(iter(missing)))
    for number, page in enumerate(found):
        if values["json"]:
            print_json(page_json(page), indent=False)
        else:
            print("\n" * bool(number) + "\n".join(sample_lines(page)))
    for reason, count in missing.items():
        print(f"lycosa: {count:,} of the pages drawn can't be read. {reason}", file=sys.stderr)
    if not found:
        print("lycosa: No page with a text fits.", file=sys.stderr)
    return 0


def sample_lines(page: TextPage) -> list[str]:
    """A page in a few lines; pure."""
    language = f"{page.language} {page.language_score} %" if page.language else "language unknown"
    facts = [page.label or "no label", language, f"{page.text_chars:,} characters"]
    shown = page.main or page.text
    if page.main:
        facts.append(f"{len(page.main):,} of main text")
    return [
        one_line(page.url),
        f"  {', '.join(facts)}, fetched {utc(page.fetched_ms)}",
        *([f"  {one_line(cut(page.title, WIDTH))}"] if page.title else []),
        *(f"  | {one_line(line)}" for line in first_lines(shown)),
    ]


def first_lines(text: str) -> list[str]:
    """The first lines of a text, long ones broken."""
    from textwrap import wrap

    start = text[: 4 * WIDTH * LINES]  # of a text of any length
    lines = [
        part for line in start.split("\n") if line.strip() for part in wrap(line, WIDTH) if part
    ]
    if lines and (len(lines) > LINES or len(start) < len(text)):
        lines = lines[:LINES]
        lines[-1] = cut(f"{lines[-1]} …", WIDTH)
    return lines


def cut(text: str, most: int) -> str:
    """A text that is not longer; what is left out is marked."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
