"""The values that a domain's log takes in and hands out. Owns their fields, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lycosa.frontier.values import Link, LinkBlock
from lycosa.records import QueuedUrl

UrlWait = tuple[int, int, int]
"""A URL that waits: fingerprint, until (ms of the store's clock), attempts."""
LogPurge = tuple[str, str, bool, bool]
"""Origin ('' for the whole domain), outcome, forget, errands too: as `frontier.values.Purge`."""


class LogChanges(NamedTuple):
    """What a commit changes in one domain that its engine holds. Applied in this order."""

    done: Sequence[tuple[int, bool]] = ()  # fingerprint, whether there was a response
    deferred: Sequence[UrlWait] = ()  # of URLs that are queued; of others they change nothing
    links: Sequence[Link] = ()  # as found; multiples of Flag.KILL in their flags become kills
    first_waits: Sequence[UrlWait] = ()  # of URLs that `links` brings: those that are new wait
    purges: Sequence[LogPurge] = ()  # they see the links of the same commit
    dropped: Sequence[int] = ()  # fingerprints; of URLs that are not queued they change nothing
    blocks: Sequence[LinkBlock] = ()  # more links, which come before the others


@dataclass(frozen=True, slots=True)
class Limits:
    """How a log is kept; tests make them small."""

    tier: int = 8  # chunks of a level that are folded into one of the next
    chunk_bytes: int = 256 * 1024  # of the largest chunk
    rewrite_bytes: int = 1024 * 1024  # of chunks that one commit folds, and writes by it
    max_urls: int = 2_000_000  # fingerprints of a domain that takes no more links
    # Marks that are older share one stamp when they are folded. Whoever reopens a page read the log
    # less than this before, so that its stamp is beyond theirs.
    settle_ms: int = 3_600_000


class LogPlan(NamedTuple):
    """What a commit does to one domain, for the transaction and for `DomainLog.apply`.

    The store's count of queued URLs changes by `change`: added - left - purged - dropped - lost -
    gone. `queued` and what follows it tell how the log is afterwards."""

    puts: list[bytes]  # chunks to insert; none if nothing changes
    deletes: list[int]  # seqs of the chunks that these replace: all of them must be there
    recorded: list[int]  # fingerprints of `done` that were not done before: they become pages
    left: int  # how many of them were queued
    added: int  # new URLs that are queued, those included that a purge takes out again
    purged: list[list[QueuedUrl]]  # for each purge, the URLs that it takes out of the queue
    dropped: list[int]  # fingerprints of `dropped` that were queued
    lost: list[int]  # fingerprints of URLs whose text can't be read: they leave the queue too
    refused: int  # new URLs beyond Limits.max_urls
    gone: int  # copies that the store has counted twice, or that came after their URL was done
    change: int
    queued: int
    responses: int  # pages of the domain with a response
    runnable: bool  # see `DomainLog.ready`
    first_wait_ms: int


class LogCounts(NamedTuple):
    """What a log amounts to."""

    queued: int  # URLs that are queued: each once
    copies: int  # what the chunks that were read added to the store's count of queued URLs
    done: int
    responses: int
