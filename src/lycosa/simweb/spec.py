"""The specification of a simulated web: one frozen value, and the shares of all behaviours in it.

Owns the names of all behaviours that a domain can have and their default shares. The same
`WorldSpec` always gives the same web, on every machine. Imports no I/O and no randomness.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from lycosa.errors import UserError

# Shares of all domains: what is wrong with the whole domain. At most one of them.
FAULTS = {
    "nxdomain": 0.02,  # the name does not exist
    "servfail": 0.01,  # its name server fails
    "refused": 0.02,  # nothing listens at its address
    "tls-broken": 0.02,  # https answers with an alert, http works
    "empty-reply": 0.01,  # every request is answered by closing the connection
}

# Shares of the domains that speak https, or of all domains: how the site is laid out.
LAYOUT = {
    "upgrade": 0.5,  # of https domains: http redirects to https; the others serve both
    "www": 0.15,  # the site lives on www., the bare domain redirects there
    "www-alias": 0.15,  # the site lives on the bare domain, www. redirects there
    "blog": 0.1,  # a second host, blog., with pages and a robots.txt of its own
}

# Weights among each other: every host has exactly one kind of robots.txt.
ROBOTS = {
    "robots-allow": 0.28,
    "robots-404": 0.18,
    "robots-dirs": 0.12,  # two directories are disallowed
    "robots-wildcard": 0.06,  # `*`, `$` and a longer Allow
    "robots-lycosa": 0.04,  # all disallowed, but not for lycosa
    "robots-others": 0.04,  # another crawler is disallowed
    "robots-deny": 0.02,  # all disallowed
    "robots-crawl-delay": 0.06,  # 1, 2 or 3 times the spec's delay
    "robots-403": 0.02,
    "robots-500": 0.01,  # for ever
    "robots-503": 0.01,  # for ever
    "robots-503-twice": 0.02,  # two requests long, then as robots-dirs
    "robots-slow": 0.02,  # held for `slow_seconds`, then as robots-dirs
    "robots-hang": 0.0,  # never answered; off by default, as it costs a crawler minutes
    "robots-redirect": 0.03,  # to another path of the host
    "robots-away": 0.02,  # to a domain that keeps the robots.txt of many
    "robots-aimed": 0.0,  # an attack: to that domain too, but each host to another URL of it
    "robots-loop": 0.01,  # redirects to itself
    "robots-huge": 0.01,  # more than 500 KiB; what follows them does not count
    "robots-bom": 0.02,  # byte order mark and CRLF
    "robots-sitemap": 0.03,  # names a sitemap that has one page more than the links
}

# Shares of all hosts: pages that are out of the ordinary, see `special`.
FEATURES = {
    "errors": 0.2,  # 404, 410, 500
    "busy": 0.1,  # 503 with Retry-After and 429, once; then fine
    "redirects": 0.2,  # in the domain: single, chains of 5 and 6, loops
    "leaving": 0.15,  # a redirect to another domain
    "directives": 0.15,  # noindex, nofollow, rel=nofollow, X-Robots-Tag, canonical
    "base": 0.1,  # <base href>
    "charsets": 0.15,  # latin-1, shift_jis, utf-16 with byte order mark
    "framing": 0.15,  # chunked; no length and close
    "media": 0.2,  # text/plain and images
    "tracking": 0.15,  # utm_ parameters that all lead to one page
    "faults": 0.05,  # reset in the middle of the body, empty reply
}

DEFAULT_MIX: dict[str, float] = {**FAULTS, **LAYOUT, **ROBOTS, **FEATURES}


@dataclass(frozen=True)
class WorldSpec:
    """One simulated web. Defaults make a small one with a little of everything."""

    seed: int = 1
    domains: int = 100
    pages: int = 20  # ordinary pages per domain: the mean; exact if plain
    page_bytes: int = 20_000  # mean size of a page's HTML
    links: int = 60  # per page
    out_links: float = 0.1  # share of a page's links that leave the domain
    https: float = 0.7  # share of domains that speak https; the others refuse it
    delay: float = 1.0  # seconds; a Crawl-delay is 1 to 3 times this
    latency_ms: float = 0.0  # every response is held so long
    slow: float = 0.0  # share of domains that hold every response for slow_seconds
    slow_seconds: float = 1.0
    plain: bool = False  # ordinary sites only, exact page counts: for measurements
    real: bool = False  # sizes, menus, paths and links as real sites have; `pages` is the smallest
    languages: bool = False  # the text of a domain is in the language that it declares
    hostile: bool = False  # adds the domains of `hostile`
    malice: int = 0  # adds so many domains of `malice`
    mix: tuple[tuple[str, float], ...] = ()  # overrides of DEFAULT_MIX, by name

    def __post_init__(self) -> None:
        if self.domains < 1 or self.pages < 1 or self.links < 1:
            raise UserError("A simulated web needs at least 1 domain, 1 page and 1 link.")
        for name, value in (("https", self.https), ("slow", self.slow), *self.mix):
            if not 0 <= value <= 1:
                raise UserError(f"The share of {name} must lie between 0 and 1, not {value}.")
        for name, _ in self.mix:
            if name not in DEFAULT_MIX:
                raise UserError(f"No behaviour is named {name!r}; known: {', '.join(DEFAULT_MIX)}.")

    def with_mix(self, shares: Mapping[str, float]) -> WorldSpec:
        """The same web with other shares of the named behaviours."""
        return replace(self, mix=tuple(sorted({**dict(self.mix), **shares}.items())))

    def only(self, *names: str) -> WorldSpec:
        """A web in which every domain has the named behaviours and no other."""
        wanted = {name: float(name in names) for name in DEFAULT_MIX}
        if not any(name in ROBOTS for name in names):
            wanted["robots-allow"] = 1.0
        return self.with_mix(wanted)

    def shares(self) -> dict[str, float]:
        """The share of each behaviour."""
        if self.plain:
            return dict.fromkeys(DEFAULT_MIX, 0.0) | {"robots-allow": 1.0, "upgrade": 1.0}
        return {**DEFAULT_MIX, **dict(self.mix)}

    def dump(self) -> str:
        """As JSON, for `load`."""
        return json.dumps(asdict(self))

    @staticmethod
    def load(text: str) -> WorldSpec:
        """What `dump` wrote."""
        values = json.loads(text)
        known = {field.name for field in fields(WorldSpec)}
        values["mix"] = tuple((name, share) for name, share in values["mix"])
        return WorldSpec(**{name: value for name, value in values.items() if name in known})
