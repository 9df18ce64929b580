"""`lycosa retry`: pages that failed for good become queued URLs again, each once.

The user names the outcome. Origins that were given up are tried anew as well: the store forgets
that they were, and so do engines that hold their domains now.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from lycosa.called import called
from lycosa.commands.change import check_terminal, confirmed, wheel_of
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import same_crawl
from lycosa.errors import UserError
from lycosa.frontier.filters import Filter
from lycosa.outcomes import Outcome
from lycosa.reading.names import check_outcome, known_domain
from lycosa.settings.collect import Values

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader
    from lycosa.steering.wheel import Wheel

_CHUNK = 2000  # pages of one transaction
_EVERY = 10**15  # more pages than any crawl has


def retry(values: Values, _: list[str]) -> int:
    """Queue pages with one outcome again."""
    outcome: str = values["outcome"]
    if not outcome:
        raise UserError("Say which pages to try again: --outcome NAME, such as timeout.")
    if outcome == Outcome.OK:
        raise UserError("Pages with the outcome ok did not fail, and their text is kept.")
    with wheel_of(values) as wheel:
        reader = wheel.reader
        check_outcome(reader, outcome)
        domain = known_domain(reader, values["domain"])
        keys = _keys(reader, outcome, domain)
        pages = len(keys) // 2
        what = f"{pages:,} page{'' if pages == 1 else 's'} with the outcome {outcome}"
        wanted = bool(pages) and not values["dry-run"]
        if wanted:
            check_terminal(values["yes"], f"queue {what} again")
            if not confirmed(values["yes"], f"Queue {what} again?"):
                return 1
        queued = _again(wheel, keys) if wanted else 0
    if values["json"]:
        found = {"outcome": outcome, "pages": pages, "queued_again": queued}
        print_json({**found, "dry_run": values["dry-run"]})
    elif wanted:
        hint = called("crawl", "--resume", *same_crawl(values))
        print(f"{queued:,} URLs are queued again; a stopped crawl goes on with: {hint}")
    else:
        print(f"There {'is' if pages == 1 else 'are'} {what}. Nothing was changed.")
    return 0


def _keys(reader: Reader, outcome: str, domain: str) -> array[int]:
    """Domain and fingerprint of each page, one after the other: there may be millions."""
    where = Filter(domains=(domain,) if domain else (), outcomes=(outcome,))
    rows = reader.pages(where, limit=_EVERY, newest=False)
    return array("q", (number for row in rows for number in (row.domain_id, row.fp)))


def _again(wheel: Wheel, keys: array[int]) -> int:
    """Queue pages again. Engines must forget first which origins they gave up: a page that is
    queued earlier would fail again at once."""
    wheel.reader.rules_changed()
    wheel.wait_until_heard()
    frontier, count = wheel.writer(), 0
    try:
        for at in range(0, len(keys), 2 * _CHUNK):
            chunk = keys[at : at + 2 * _CHUNK]
            pairs = list(zip(chunk[::2], chunk[1::2], strict=True))
            count += sum(frontier.requeue(pairs).values())
    finally:
        frontier.close()
    return count
