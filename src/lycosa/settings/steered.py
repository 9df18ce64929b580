"""What may change while a crawl runs, as its store keeps it now. Pure.

Engines and supervisors read it again whenever the version of the rules has grown (`RULES_KEY`), and
go on by it. Who changes it is in the room `steering`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lycosa.errors import UserError
from lycosa.frontier.keys import MAX_PAGES_KEY, NODE_KEY, PAUSED_KEY, SETTINGS_KEY
from lycosa.frontier.rules import StoreRules
from lycosa.settings.stored import node_key, stored_node, stored_settings
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
    )


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
