"""Settings: a few small frozen values that the other modules take.

`CrawlSettings` is what all nodes of a crawl agree on, `NodeSettings` what belongs to one machine,
`RunLimits` what holds for one run. `collect` makes them from what the user said, `stored` from what
a store kept. Pure.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from lycosa import __version__
from lycosa.errors import UserError
from lycosa.frontier.protocol import StoreRules
from lycosa.urls.scope import ScopeRules

_NO_LIMIT = 0  # of the whole numbers below
_LISTS = ("exclude", "include", "language")  # fields that JSON has as lists
BOT_VERSION = "1.0"  # of a bot with a name of its own: ours would say nothing of it


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """What all nodes of a crawl agree on."""

    email: str
    contact_url: str = ""
    bot_name: str = "lycosa"  # in the user agent, and the name that robots.txt files are read by
    delay: float = 70.0  # s
    ip_delay: float = 1.0  # s
    ip_delay_given: bool = False  # else it follows the delay
    seeded_only: bool = False
    exclude: tuple[str, ...] = ()  # lines as scope reads them
    include: tuple[str, ...] = ()  # the same: only what they hit is followed; (): all
    language: tuple[str, ...] = ()  # codes of page/language; (): all
    max_depth: int | None = None  # None: no limit; 0: the seeds only
    max_pages_per_domain: int = _NO_LIMIT
    max_queued_per_domain: int = 10_000
    keep_repeats: bool = False
    sitemaps: bool = False
    ignore_nofollow: bool = False
    visit_timeout: float = 90.0  # s
    lease_time: float = 180.0  # s
    max_body: int = 5 * 1024**2  # bytes on the wire

    @property
    def user_agent(self) -> str:
        """Derived, not stored: a newer version may go on with an older crawl."""
        contact = f"+{self.contact_url}; " if self.contact_url else ""
        version = __version__ if self.bot_name == "lycosa" else BOT_VERSION
        return f"{self.bot_name}/{version} ({contact}mailto:{self.email})"

    def store_rules(self) -> StoreRules:
        """The part that the store applies."""
        return StoreRules(
            delay_ms=round(self.delay * 1000),
            lease_ms=round(self.lease_time * 1000),
            max_queued_per_domain=self.max_queued_per_domain,
            max_pages_per_domain=self.max_pages_per_domain,
            seeded_only=self.seeded_only,
        )

    def scope_rules(self) -> ScopeRules:
        """The part that says which URLs we want."""
        return ScopeRules(
            max_depth=self.max_depth,
            seeded_only=self.seeded_only,
            exclude=self.exclude,
            include=self.include,
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), **{name: list(getattr(self, name)) for name in _LISTS}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CrawlSettings:
        """Settings as stored; what an older version did not know has its default."""
        unknown = sorted(set(data) - {part.name for part in fields(cls)})
        if unknown:
            raise UserError(
                f"This crawl was made by a newer lycosa: its setting {unknown[0]!r} is not"
                " known. Install that version to go on with it."
            )
        lists = {name: tuple(data.get(name, ())) for name in _LISTS}
        return cls(**{**data, **lists})

    def difference(self, stored: CrawlSettings) -> list[str]:
        """What differs from a stored crawl, one readable line each."""
        lines = []
        for part in fields(self):
            mine, theirs = getattr(self, part.name), getattr(stored, part.name)
            if part.name == "language":
                mine, theirs = ", ".join(mine), ", ".join(theirs)
            if mine != theirs and part.name != "ip_delay_given":
                flag = f"--{option_name(part.name)}"
                lines.append(f"{flag}: {_shown(mine)} here, {_shown(theirs)} in the crawl")
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What belongs to this machine."""

    data_dir: Path = Path("lycosa-data")
    store: str = "sqlite"  # may hold a password: print redact(store)
    max_workers: int = 1000  # fetches in flight, all engines of the node together
    max_bandwidth: int = _NO_LIMIT  # bytes a second, all engines together
    engines: int = 1
    warc: bool = False
    tls_verify: bool = False
    allow_private: bool = False
    allow_network: tuple[str, ...] = ()  # private networks that may be connected to
    only_network: tuple[str, ...] = ()  # nothing outside of these is connected to; (): no limit
    ip_delay_exempt: tuple[str, ...] = ()  # networks without a delay per address, beside CDNs
    nameservers: tuple[tuple[str, int], ...] = ()  # (): those of the system
    port_map: dict[int, int] = field(default_factory=dict)  # port of the URL -> connected to
    min_free_disk: int = 2 * 1024**3  # bytes below which engines pause; 0: never
    log_level: str = "info"
    log_format: str = "text"
    log_interval: float = 5.0  # s
    notify: tuple[str, ...] = ()  # URLs and commands; may hold secrets: never printed or stored
    stalled_after: float = 600.0  # s without a visit
    view: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What holds for one run: when it ends before the crawl does, what the user vouches for."""

    max_pages: int = _NO_LIMIT
    max_duration: float = 0.0  # s; 0: no limit
    moved: bool = False  # the directory takes the place of the one it was copied from


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Fields whose name is not that of their flag.
_FLAG_OF = {
    "seeded_only": "seeded-urls-only",
    "exclude": "exclude-file",
    "allow_private": "allow-private-addresses",
    "nameservers": "nameserver",
}


def option_name(field_name: str) -> str:
    """The option that sets a field: `max_depth` is set by `max-depth`."""
    return _FLAG_OF.get(field_name, field_name.replace("_", "-"))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} lines"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g} s"
    return "none" if value in (None, "") else str(value)
