"""What may change while a crawl runs, as its store keeps it now. Pure.

Engines and supervisors read it again whenever the version of the rules has grown (`RULES_KEY`), and
go on by it. Who changes it is in the room `steering`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lycosa.errors import UserError
from lycosa.frontier.keys import (
    DELAYS_KEY,
    MAX_PAGES_KEY,
    NODE_KEY,
    PAUSED_KEY,
    SETTINGS_KEY,
)
from lycosa.frontier.protocol import Change, StoreRules
from lycosa.settings.stored import earlier_delays, node_key, stored_node, stored_settings
from lycosa.settings.values import CrawlSettings


@dataclass(frozen=True, slots=True)
class CrawlPause:
    """Since when a crawl is paused, and what whoever paused it said."""

    since_ms: int
    why: str = ""
    by: str = "user"

    def to_text(self) -> str:
        """As the store keeps it."""
        return json.dumps({"since_ms": self.since_ms, "why": self.why, "by": self.by})


@dataclass(frozen=True, slots=True)
class Steered:
    """What a store says now; None where it keeps nothing."""

    crawl: CrawlSettings | None = None
    pause: CrawlPause | None = None
    max_pages: int | None = None  # of the whole crawl; 0: no limit
    node: Mapping[str, Any] | None = None  # fields of NodeSettings
    delays: tuple[tuple[int, float], ...] = ()  # that held before, see `earlier_delays`

    def least_delay(self, now_ms: int) -> float:
        """See `least_delay`; the delay of now is that of the crawl."""
        return least_delay(self.delays, now_ms, self.crawl.delay) if self.crawl else 0.0


def steered(setting: Callable[[str], str | None], node: str) -> Steered:
    """What a store says now. `setting` reads one of its settings, `node` is the name of a node."""
    pages = setting(MAX_PAGES_KEY)
    crawl = stored_settings({SETTINGS_KEY: _known(setting(SETTINGS_KEY))})
    return Steered(
        # Exclusions may be many, and are kept apart.
        crawl=None if crawl is None else replace(crawl, exclude=()),
        pause=stored_pause(setting(PAUSED_KEY)),
        max_pages=int(pages) if pages else None,
        node=stored_node({NODE_KEY: setting(node_key(node))}),
        delays=tuple(earlier_delays({DELAYS_KEY: setting(DELAYS_KEY) or "[]"})),
    )


def least_delay(delays: Sequence[tuple[int, float]], now_ms: int, delay: float) -> float:
    """The shortest delay, in seconds, by which a domain may have been scheduled whose last visit is
    not yet `delay` seconds ago. From the moment for which a domain is scheduled nobody can tell by
    which delay that was: so it is taken for this one."""
    since = now_ms - delay * 1000
    return min([delay, *(before for until, before in delays if until >= since)])


def delay_change(crawl: CrawlSettings, new: CrawlSettings, known: str, now_ms: int) -> Change:
    """What has to be stored, and to be done with domains that wait, when the delays of a crawl
    become those of `new`; `known` is what is stored under `DELAYS_KEY`."""
    stored: dict[str, Any] = {SETTINGS_KEY: json.dumps(new.to_json())}
    if (new.delay, new.ip_delay) == (crawl.delay, crawl.ip_delay):
        return Change(stored)
    # An engine that has not heard of a longer delay when its lease ends is dead by then.
    longer = new.delay > crawl.delay or new.ip_delay > crawl.ip_delay
    until = now_ms + (round(crawl.lease_time * 1000) if longer else 0)
    delays = [*earlier_delays({DELAYS_KEY: known or "[]"}), (until, crawl.delay)]
    stored[DELAYS_KEY] = json.dumps(delays)
    if new.delay == crawl.delay:
        return Change(stored)
    before = crawl.delay if new.delay < crawl.delay else least_delay(delays, now_ms, new.delay)
    return Change(stored, (round(before * 1000), round(new.delay * 1000)))


def rules_now(rules: StoreRules, crawl: CrawlSettings) -> StoreRules:
    """The rules of a store with what may change as the crawl's settings say it."""
    now = crawl.store_rules()
    return replace(
        rules,
        delay_ms=now.delay_ms,
        max_queued_per_domain=now.max_queued_per_domain,
        max_pages_per_domain=now.max_pages_per_domain,
    )


def _known(text: str | None) -> str | None:
    """Settings that are there; a store that is just being made has an empty set."""
    return None if text == "{}" else text


def stored_pause(text: str | None) -> CrawlPause | None:
    """The pause that a store keeps; None: the crawl is not paused."""
    if not text:
        return None
    try:
        found = json.loads(text)
        return CrawlPause(int(found["since_ms"]), str(found.get("why", "")), str(found["by"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UserError(
            "What is stored of the crawl's pause can't be read: its database is damaged."
        ) from None
