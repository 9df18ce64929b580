"""Pages by outcome, kept in the row of the engine that recorded them. Pure.

They change in the transaction that changes `pages`, so that what a person is told is what the table
holds, whatever was killed when. Row 0, which belongs to nobody, counts what people took back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import orjson

from lycosa.outcomes import Outcome
from lycosa.records import Flag, Url

TEXT_LOST = Outcome.TEXT_LOST  # outcome of a page whose text is gone and is not to be fetched again
Key = tuple[int, int]  # domain_id, fp
NOTHING: Mapping[str, int] = {}
# domain_id, fp, url, depth, status, outcome, label
Done = tuple[int, int, Url, int, int, str, str]


def counted(stored: str, outcomes: Iterable[str], more: Mapping[str, int]) -> str:
    """The counts of a row with those of a batch."""
    counts: Counter[str] = Counter(orjson.loads(stored))
    counts.update(outcomes)
    counts.update(more)
    return orjson.dumps(counts).decode()


def taken_back(names: Iterable[str]) -> dict[str, int]:
    """What to add for pages that are no longer recorded so; names are outcomes, or labels."""
    return {name: -count for name, count in Counter(names).items() if name}


def stats_with_labels(stored: str, more: Mapping[str, int]) -> str:
    """The stats of a row with other counts of labels, which engines count for themselves."""
    stats = orjson.loads(stored)
    labels: Counter[str] = Counter(stats.get("labels", {}))
    labels.update(more)
    return orjson.dumps({**stats, "labels": labels}).decode()


def flags_again(url: str, depth: int, outcome: str) -> int:
    """What a page that is queued again was, as far as its row tells.

    The root of a site over https, at depth 0: as a bare domain it may also be tried over http.
    """
    if outcome == Outcome.SITEMAP:
        return Flag.SITEMAP
    bare = depth == 0 and url.startswith("https://") and url.count("/") == 3 and url.endswith("/")
    return Flag.BARE if bare else Flag.NONE
