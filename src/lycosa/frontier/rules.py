"""The settings that the store itself applies when URLs come in, and what they refuse. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lycosa.frontier.states import DomainState
from lycosa.frontier.values import Link
from lycosa.outcomes import Drop
from lycosa.records import Flag, SharedRobots

NOT_SEEDED = Drop.NOT_SEEDED
EXCLUDED = Drop.EXCLUDED  # the reason for which an exclusion drops a URL
ANSWER_MS = 3_600_000  # for which the answer of an errand is kept for others


@dataclass(frozen=True, slots=True)
class StoreRules:
    """The part of the settings that the store itself applies when URLs come in."""

    delay_ms: int = 70_000
    lease_ms: int = 180_000
    max_queued_per_domain: int = 10_000
    max_pages_per_domain: int = 0  # 0: no limit
    seeded_only: bool = False
    run_urls: int = 8  # handed out with a lease or refill, per domain
    run_bytes: int = 4096  # of URLs per domain; at least one URL is handed out
    robots_bytes: int = 32 << 20  # of robots rules handed out by one lease call
    left_out: int = 1_000_000  # URLs taken out by exclusions that are kept, the newest
    buckets: int = 0  # for links to domains of others, a power of two; 0: by the size of the crawl

    def refuses(self, state: DomainState | None, own: int, seed: bool) -> str:
        """The reason for which a domain takes no more URLs; '' if it takes them. `own` is the
        engine that asks: to the domains that it holds it has applied the caps itself."""
        if seed:
            return ""
        if state is None:
            return NOT_SEEDED if self.seeded_only else ""
        if own and state.engine_id == own:
            return ""
        if self.seeded_only and not state.seeded:
            return NOT_SEEDED
        if 0 < self.max_pages_per_domain <= state.pages:
            return Drop.PAGE_CAP
        return Drop.QUEUE_CAP if state.queued >= self.max_queued_per_domain else ""

    @staticmethod
    def kept(links: list[Link], refused: str) -> list[Link]:
        """Those that are queued although their domain takes no more. Caps are for pages: an errand
        is let in, because an origin of another domain waits for it, and there are no more errands
        than such origins."""
        if not refused:
            return links
        return [] if refused == NOT_SEEDED else errands_of(links)


def errands_of(links: list[Link]) -> list[Link]:
    """Those that are robots.txt files of other domains."""
    return [link for link in links if link[5] & Flag.ERRAND]


def refusals(links: list[Link], now: int) -> list[SharedRobots]:
    """What the origins hear that sent us to a domain that is none of the seeds'."""
    return [SharedRobots(ident, fp, url, now, 0) for ident, fp, url, _, _, _ in errands_of(links)]
