"""The answers of the dashboard: questions to a crawl, and the shape in which the page gets them.

Everything that leaves here went through `shown`: what strangers wrote has its control characters
written out, and what belongs to this machine alone is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from lycosa import __version__
from lycosa.dashboard import overview
from lycosa.errors import UserError
from lycosa.outcomes import DROPS, FINE, OUTCOMES, explained
from lycosa.reading.crawl import Crawl
from lycosa.reading.values import Page
from lycosa.terminal import visible
from lycosa.what_limits import LIMITS

EXAMPLES = 10
LINES = 500  # of a chart
SLOW_SECONDS = 20.0  # between two looks at an hour of the history
STATUS_SECONDS = 4.5  # between two looks at a store that has no history
TOP = 50  # domains of a list
SORTS = ("pages", "queued", "failing", "delay", "slowest")
# Of a machine, not of a crawl: neither on the page nor in the API.
HIDDEN = frozenset({"directory", "host", "pid", "data_dir"})
Json = dict[str, Any]


def shown(value: Any) -> Any:
    """A value as it may be seen: texts with control characters written out, nothing hidden."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(str(key)): shown(each) for key, each in value.items() if key not in HIDDEN}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return shown(asdict(value))
    return value


class Answers:
    """The questions that the page asks. Each is a function of an open crawl; those that would cost
    too much every few seconds are kept for a while."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._before: Json | None = None
        self._started: float | None = None
        self._end: tuple[str, float | None] = ("", None)
        self._end_at = 0.0
        self._end_state = ""
        self._seen = False  # lines of the history: a crawl that has just begun has none

    # -- the whole crawl ----------------------------------------------------------------------

    def overview(self, crawl: Crawl) -> Json:
        """All that the page shows without being asked."""
        now, nodes = self._now(crawl)
        if self._started is None:
            self._started = crawl.started_ms() / 1000
        end, hours = self._slow(crawl, now["state"])
        told = overview.overview(now, nodes, self._started, end, hours, self._clock())
        return dict(shown(told))

    def _now(self, crawl: Crawl) -> tuple[Json, list[Json]]:
        history = crawl.history()
        now = history.now()
        if now is not None:
            if crawl.shared:
                now["latest"] = crawl.latest(EXAMPLES)
            return now, history.nodes()
        before = self._before
        if before is not None and self._clock() - before["at"] < STATUS_SECONDS:
            return before, [before]
        line = overview.of_status(crawl.status(quick=True).details, before)
        self._before = line
        line["latest"] = [_brief(page) for page in crawl.pages(newest=True, limit=EXAMPLES)]
        return line, [line]

    def _slow(self, crawl: Crawl, state: str) -> tuple[str, float | None]:
        """The end in words, and when the disk is full: by the state of now, the rest may be old."""
        wait = SLOW_SECONDS if self._seen else STATUS_SECONDS
        if state != self._end_state or self._clock() - self._end_at > wait:
            self._end_at, self._end_state = self._clock(), state
            history = crawl.history()
            lines = history.lines(since=self._end_at - overview.FULL_SECONDS, most=LINES)
            self._end = history.end(lines), overview.hours_until_full(lines)
            self._seen = bool(lines)
        return self._end

    def history(self, crawl: Crawl, since: float | None, until: float | None) -> Json:
        """The figures of a time as columns."""
        lines = crawl.history().lines(since=since, until=until, most=LINES)
        return dict(shown(overview.columns(lines)))

    def status(self, crawl: Crawl) -> Json:
        """What `lycosa status --json` tells, without what belongs to this machine."""
        return dict(shown(crawl.status(quick=True).details))

    def health(self, crawl: Crawl) -> Json:
        """Whether the crawl can be read, and how old its newest figures are."""
        now, _ = self._now(crawl)
        return {"state": now["state"], "age": max(0.0, self._clock() - now["at"])}

    # -- one URL, one domain ------------------------------------------------------------------

    def examples(self, crawl: Crawl, outcome: str) -> Json:
        """Ten pages with an outcome, the newest first."""
        pages = [_brief(page) for page in crawl.examples(outcome, EXAMPLES)]
        return {"outcome": shown(outcome), "meaning": explained(outcome, 1), "pages": shown(pages)}

    def why(self, crawl: Crawl, url: str) -> Json:
        """The whole answer of `lycosa why`."""
        told = crawl.why(url)
        page = _brief(told.page) if told.page else None
        return dict(
            shown({"url": told.url, "domain": told.domain, "lines": told.lines, "page": page})
        )

    def domains(self, crawl: Crawl, sort: str) -> Json:
        """The first domains in an order."""
        if sort not in SORTS:
            raise UserError(f"Domains are sorted by {', '.join(SORTS)}.")
        found = crawl.domains(sort, TOP)
        return {"sort": sort, "of": shown(found.of), "domains": shown(list(found))}

    def domain(self, crawl: Crawl, name: str) -> Json:
        """What is known of a domain."""
        return dict(shown(crawl.domain(name)))

    def search(self, crawl: Crawl, text: str) -> Json:
        """What a person typed: a domain, or any URL."""
        text = text.strip()
        if not text:
            raise UserError("Write a domain or a URL.")
        if "/" in text.removesuffix("/") or "?" in text:
            url = text if "://" in text else f"https://{text}"
            return {"kind": "url", "why": self.why(crawl, url)}
        return {"kind": "domain", "domain": self.domain(crawl, text.removesuffix("/"))}


def words() -> Json:
    """The words of the page and what they mean: they never change while it is open."""
    return {
        "version": __version__,
        "outcomes": {name: _plain(each.documented) for name, each in OUTCOMES.items()},
        "fine": sorted(FINE),
        "drops": {name: _plain(each) for name, each in DROPS.items()},
        "limits": {name: _plain(cause.meaning) for name, cause in LIMITS.items()},
        "sorts": list(SORTS),
    }


def _plain(text: str) -> str:
    return text.replace("`", "")


def _brief(page: Page) -> Json:
    return {
        "url": page.url,
        "title": page.title,
        "at": page.fetched_ms / 1000,
        "outcome": page.outcome,
        "status": page.status,
        "label": page.label,
        "language": page.language,
        "chars": page.text_chars,
    }
