"""`lycosa exclude`: says what a pattern hits, asks, and makes a crawl leave it alone.

Engines take excluded URLs out of the queue when their domain's turn comes. The store keeps these,
up to a bound, so that `--remove` can queue them again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from lycosa.commands.change import check_terminal, confirmed, wheel_of
from lycosa.commands.printing import print_json
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line

if TYPE_CHECKING:
    from lycosa.steering.hits import Counter

SHOWN = 20  # lines that are printed one by one


def exclude(values: Values, words: list[str]) -> int:
    """Add exclusions to a crawl, list them, or take them back."""
    from lycosa.steering.wheel import exclusion_lines

    if values["list"]:
        if words or values["remove"]:
            raise UserError("--list lists all exclusions: leave the rest out.")
        return _list(values)
    if not words:
        raise UserError("Name what to exclude: a domain, host or URL pattern; or --list.")
    lines = exclusion_lines(words, known=values["remove"])
    if not lines:
        raise UserError("There is no pattern in these words: write a domain, host or URL pattern.")
    return _remove(values, lines) if values["remove"] else _add(values, lines)


def _list(values: Values) -> int:
    with wheel_of(values) as wheel:
        lines = wheel.exclusions()
    if values["json"]:
        print_json({"exclusions": lines})
    else:
        for line in lines:
            print(one_line(line))
    return 0


def _add(values: Values, lines: list[str]) -> int:
    quiet: bool = values["json"]
    with wheel_of(values) as wheel:
        counter = wheel.hits(lines)
        total, added = len(wheel.exclusions()), []
        if values["dry-run"]:
            tell(lines, counter, quiet)
            warn_of_none(counter)
        elif allowed(values["yes"], lines, counter, quiet):
            added = list(counter.by_line)
            total = wheel.exclude(added)
        else:
            return 1
    if quiet:
        print_json(
            {"hits": counter.by_line, "total": counter.total, "added": added, "exclusions": total}
        )
    elif values["dry-run"]:
        print("Nothing was changed.")
    else:
        print(f"The crawl now has {total:,} exclusion{'' if total == 1 else 's'}.")
    return 0


def tell(lines: Iterable[str], counter: Counter, quiet: bool = False) -> None:
    """What each line hits."""
    if quiet:
        return
    for line in islice(lines, SHOWN):
        hits = counter.by_line.get(line)
        print(one_line(f"{line} hits {hits.text()}." if hits else f"{line} is excluded already."))
    if len(counter.by_line) > 1:
        print(f"Together they hit {counter.total.text()}.")


def warn_of_none(counter: Counter) -> None:
    """Warn of lines that hit nothing: they may be misspelt."""
    none = [line for line, each in counter.by_line.items() if each.none and not each.at_least]
    for line in none[:SHOWN]:
        print(
            f"lycosa: {one_line(line)} hits nothing that this crawl knows: is it spelt right? It"
            " holds for what is found from now on.",
            file=sys.stderr,
        )
    if none[SHOWN:]:
        print(f"lycosa: {len(none) - SHOWN:,} more lines hit nothing.", file=sys.stderr)


def allowed(yes: bool, lines: Iterable[str], counter: Counter, quiet: bool = False) -> bool:
    """Print what lines hit, and whether the user wants them; nobody is asked about lines that hit
    nothing."""
    total = counter.total
    if total.none and not total.at_least:
        yes = True
    check_terminal(yes, f"take out {total.text()}")
    tell(lines, counter, quiet)
    warn_of_none(counter)
    return confirmed(yes, f"Exclude {total.text()}?")


def _remove(values: Values, lines: list[str]) -> int:
    with wheel_of(values) as wheel:
        rows = wheel.freed(lines)
        if not values["dry-run"]:
            rows = wheel.take_back(lines)
        total = len(wheel.exclusions())
    if values["json"]:
        removed = [] if values["dry-run"] else lines
        print_json({"removed": removed, "queued_again": rows, "dry_run": values["dry-run"]})
    elif values["dry-run"]:
        print(f"About {rows:,} URLs would be queued again. Nothing was changed.")
    else:
        print(f"{rows:,} URLs that were taken out are queued again.")
        print(f"The crawl now has {total:,} exclusion{'' if total == 1 else 's'}.")
    return 0
