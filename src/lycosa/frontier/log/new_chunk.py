"""New chunks: what one commit or one delivery says, all of it at one moment. Pure.

Owns how URLs that were found together become groups. The compiled module makes the same chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lycosa.frontier.log import compiled
from lycosa.frontier.log.format import (
    MAX_COUNT,
    MAX_KILLS,
    OWN_FLAGS,
    REOPENED,
    ChunkHead,
    Group,
    Kill,
    Records,
    Wait,
    write,
)
from lycosa.frontier.values import Link
from lycosa.records import Flag


class NewRecords(NamedTuple):
    """What a new chunk is made of. The flags of a link may have the bit REOPENED."""

    links: Sequence[Link] = ()
    done: Sequence[int] = ()
    drops: Sequence[int] = ()
    waits: Sequence[Wait] = ()
    kills: Sequence[Kill] = ()


def chunks_in_python(
    domain_id: int, stamp: int, responses: int, balance: int, new: NewRecords, limit: int
) -> list[bytes]:
    """The chunks that say this; nearly always one. See `format.write`."""
    found: dict[tuple[int, int], tuple[list[int], list[bytes]]] = {}
    kills = list(new.kills)
    for _, fp, url, depth, _, flags in new.links:
        if killed := (flags & 255) // Flag.KILL:
            kills.append((fp, stamp, min(killed, MAX_KILLS)))
        kind = min(depth, MAX_COUNT), flags & (OWN_FLAGS | REOPENED)
        fps, urls = found.setdefault(kind, ([], []))
        fps.append(fp)
        urls.append(url.encode("utf-8", "surrogatepass"))
    records = Records(
        [Group(depth, flags, stamp, len(fps)) for (depth, flags), (fps, _) in found.items()],
        [fp for fps, _ in found.values() for fp in fps],
        [url for _, urls in found.values() for url in urls],
        sorted(new.done),
        new.drops,
        new.waits,
        kills,
    )
    return write(ChunkHead(domain_id, 0, stamp, stamp, responses, balance), records, limit)


NewChunks = Callable[[int, int, int, int, NewRecords, int], list[bytes]]
new_chunks: NewChunks = compiled.new_chunks or chunks_in_python
