"""Seeds that are added to a crawl that runs or rests.

Lines are read as in a seed file (`node/seed_file`) and queued in chunks, each in one transaction,
as the loader of a node does (`node/seed_loader`). A URL that is known is passed over, so whoever is
cut off in the middle does the same again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from lycosa.frontier.keys import FINISHED_KEY, SEEDS_RANK_KEY
from lycosa.frontier.protocol import Frontier
from lycosa.node.seed_file import BadSeed, Seed, read
from lycosa.node.seed_loader import loading_key, seed_link

CHUNK = 5_000  # of one transaction: engines wait for it
LOADER = "seeds-add"  # who loads, in the place of a node's name
NAMED = 1_000  # refused lines that are remembered


@dataclass(slots=True)
class SeedsAdded:
    """What became of seeds: queued, known before, or no seeds (the first of them, and why)."""

    taken: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    refused_count: int = 0


def add_seeds(frontier: Frontier, lines: Iterable[str | bytes]) -> SeedsAdded:
    """Queue seeds."""
    added = SeedsAdded()
    was_finished = frontier.setting(FINISHED_KEY) == "1"
    entries = _good(read(map(_bytes, lines)), added)
    while chunk := list(islice(entries, CHUNK)):
        rank = int(frontier.setting(SEEDS_RANK_KEY) or 0)
        # Other nodes must not think between two chunks that the crawl has ended.
        progress = {
            SEEDS_RANK_KEY: rank + len(chunk),
            loading_key(LOADER): frontier.now_ms(),
            FINISHED_KEY: 0,
        }
        new = frontier.add(map(seed_link, chunk), seeds_done=progress, rank=rank)
        added.taken += new
        added.known += len(chunk) - new
    if added.taken or added.known:  # first, because a crawl does not end while seeds are loaded
        frontier.put_settings({loading_key(LOADER): 0})
    if was_finished and not added.taken and frontier.finished():
        frontier.put_settings({FINISHED_KEY: 1})  # nothing came
    return added


def _bytes(line: str | bytes) -> bytes:
    return line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line


def _good(entries: Iterable[Seed | BadSeed], added: SeedsAdded) -> Iterator[Seed]:
    for entry in entries:
        if isinstance(entry, Seed):
            yield entry
            continue
        added.refused_count += 1
        if len(added.refused) < NAMED:
            added.refused.append((entry.text, entry.why))
