"""What the response to a request for a robots.txt means: rules, a redirect, or nothing. Pure.

Owns how HTTP and robots.txt meet (RFC 9309, section 2.3.1). Knows nothing of visits or domains.
"""

from __future__ import annotations

from lycosa.page.decode import TOO_SLOW, decode
from lycosa.politeness import robots
from lycosa.records import NO_URL, Response, Truncated, Url
from lycosa.urls.canonical import MAX_RAW, canonical

_UNREADABLE = frozenset({"truncated", "broken", "too-many-members", "too-many-encodings", TOO_SLOW})


def location_text(location: str) -> str:
    """A Location header in characters: servers send UTF-8, headers were read as latin-1."""
    if len(location) > MAX_RAW:
        return location  # it may be cut: `canonical` refuses it
    return location.encode("latin-1").decode("utf-8", "replace")


def redirect_of(response: Response) -> Url:
    """Where a robots.txt redirects, '' if it does not."""
    location = response.header(b"location") if 300 <= response.status < 400 else ""
    target = canonical(location_text(location), response.request.url) if location else None
    return NO_URL if response.failure or target is None else target


def rules_of(response: Response, agent: str = robots.AGENT_TOKEN) -> robots.Rules | None:
    """What a robots.txt response allows the bot of that name; None: it could not be reached,
    disallow for now."""
    status = response.status
    if response.failure or status == 429 or status < 200 or status >= 500:
        return None
    if status >= 300:
        return robots.ALLOW_ALL
    if response.truncated in (Truncated.TIME, Truncated.DISCONNECT):
        return None  # the rest may forbid what the beginning does not
    encoding = response.joined(b"content-encoding")
    body, cut, problem = decode(response.body, encoding, robots.MAX_BYTES)
    # From the limit of RFC 9309 on, the beginning counts. A shorter body that we cut, because it
    # was too large on the wire or too costly to unpack, may hide rules: it counts as unreachable.
    short = not cut and len(body) < robots.MAX_BYTES
    unfinished = problem in _UNREADABLE or response.truncated == Truncated.LENGTH
    return None if short and unfinished else robots.parse_robots(body, agent)
