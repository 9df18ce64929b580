"""The rule by which chunks tell the state of a URL. Pure.

A chunk holds copies of URLs, done marks, drops, waits and kills, each with a stamp. The state of a
URL depends on the set of chunks alone, not on the order in which they are read:

    reopened: the newest copy with the bit REOPENED; it counts if its stamp is beyond those of the
              newest done mark and the newest drop. Then the URL is queued, by this copy.
    done:     else, if there is a done mark and no drop has a newer stamp.
    queued:   else, if there is a copy whose stamp is beyond that of the newest drop. The one that
              is first in the queue counts.
    unknown:  else.

A wait or a kill of a queued URL counts if it is not older than the reopened copy, or newer than the
newest drop. Of waits the newest counts, kills are summed.

The queue is in the order of (depth, stamp, seq, place in the chunk). URLs that wait stand behind
it, by the time until which they do.
"""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN, QUEUED, IS_DONE = 0, 1, 2  # states of a URL
ALWAYS = -1  # no stamp is below


class Fate(NamedTuple):
    """What became of a URL that has more to it than one copy or a mark."""

    state: int
    place: int = -1  # of the copy by which it is queued
    base: int = ALWAYS  # waits and kills count from this stamp on
    done: int = ALWAYS  # the newest stamps
    drop: int = ALWAYS


def fate_of(done: int, drop: int, copies: list[tuple[int, int, int, bool]]) -> Fate:
    """The rule, for one URL: its newest mark and drop, and its copies (depth, stamp, place,
    whether it is reopened)."""
    barrier = max(done, drop)
    reopened = [(-stamp, depth, place) for depth, stamp, place, again in copies if again]
    if reopened and -min(reopened)[0] > barrier:
        stamp, _, place = min(reopened)
        return Fate(QUEUED, place, -stamp, done, drop)
    if done >= drop and done != ALWAYS:
        return Fate(IS_DONE, done=done, drop=drop)
    newer = [(depth, stamp, place) for depth, stamp, place, _ in copies if stamp > drop]
    if newer:
        return Fate(QUEUED, min(newer)[2], drop + 1, done, drop)
    return Fate(UNKNOWN, done=done, drop=drop)
