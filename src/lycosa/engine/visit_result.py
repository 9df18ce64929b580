"""What a visit must know of the settings, and what came of it. Pure values."""

from __future__ import annotations

from dataclasses import dataclass, field

from lycosa.engine.scheduler import Held
from lycosa.politeness.robots import AGENT_TOKEN
from lycosa.records import Flag, Kind, Origin, QueuedUrl, Request, Response, SharedRobots, Url
from lycosa.urls.canonical import Parts

DETAIL_CHARS = 200  # of a library's words that are kept with an origin


@dataclass(frozen=True, slots=True)
class VisitRules:
    """What a visit must know of the settings."""

    delay: float
    timeout: float = 90.0  # seconds for the whole visit
    max_hosts: int = 100  # origins of one domain that are known at a time
    sitemaps: bool = False
    agent: str = AGENT_TOKEN  # the name by which robots.txt files are read


@dataclass(slots=True)
class Result:
    """What came of a visit."""

    held: Held
    started: float  # engine clock
    ended: float  # or, while the visit goes on, the moment of its last step
    ended_ms: int = 0  # the same by the store's clock
    requests: int = 0
    address: str = ""
    outcome: str = "nothing"
    stopped: bool = False  # the engine cut it off
    page: tuple[QueuedUrl, Response] | None = None
    moved: list[tuple[QueuedUrl, Url, Response | None]] = field(default_factory=list)
    failed: list[tuple[QueuedUrl, str, int]] = field(default_factory=list)  # reason, status
    deferred: list[tuple[QueuedUrl, int, int]] = field(default_factory=list)  # until, attempts
    dropped: list[tuple[QueuedUrl, str]] = field(default_factory=list)
    found: list[tuple[Url, int, int]] = field(default_factory=list)  # url, depth, flags
    origins: dict[str, Origin] = field(default_factory=dict)
    purges: list[tuple[str, str]] = field(default_factory=list)  # origin ('': all), outcome
    pause: float = 0.0  # seconds until the next visit, beyond the delay
    learnt_delay: float = 0.0
    robots_fetched: int = 0
    errands: list[tuple[Url, int]] = field(default_factory=list)  # url, depth: to be queued
    answers: list[SharedRobots] = field(default_factory=list)  # to errands of others


def detail(response: Response) -> str:
    """A failure in words: lycosa's name for it, and what the library said."""
    what = "robots.txt" if response.request.kind == Kind.ROBOTS else "a page"
    called = response.failure or f"status {response.status}"
    return ": ".join(filter(None, (f"{what}: {called}", response.reason[:DETAIL_CHARS])))


def request(result: Result, rules: VisitRules, url: str, parts: Parts, kind: Kind) -> Request:
    """A request of a visit, counted; it may take until the visit's time is up."""
    result.requests += 1
    deadline = result.started + rules.timeout
    return Request(url, parts.host, parts.port, parts.https, kind, deadline)


def kind_of(url: QueuedUrl) -> Kind:
    """What the request for a queued URL is for."""
    return Kind.SITEMAP if url.flags & Flag.SITEMAP else Kind.PAGE
