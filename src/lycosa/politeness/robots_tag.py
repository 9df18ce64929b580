"""What X-Robots-Tag headers ask of us. Pure; the cost is linear in the header's length.

Owns which words of a field value are for us: a user agent in front holds for all words after it in
the same field, until another agent is named. A field without an agent is for everybody. The colon
of `unavailable_after: DATE` or `max-snippet:-1` names no agent. `engine/harvest` obeys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lycosa.politeness.robots import AGENT_TOKEN

_EVERYBODY = ("*", "robots")
# A name has no blank and not only digits: '15' of '15:00:00' is none.
_agent = re.compile(r"(?=[^\s]*[a-z*])[^\s]+\Z").match
# Rules that have a value behind a colon.
_valued = re.compile(r"max-|unavailable[_-]after\Z").match


def wishes(fields: Iterable[str], agent: str = AGENT_TOKEN) -> tuple[bool, bool]:
    """Whether the fields ask the bot of that name not to keep the page, and not to follow its
    links."""
    ours = frozenset({agent.lower(), *_EVERYBODY})
    words = {word for field in fields for word in _for_us(field.lower(), ours)}
    none = "none" in words
    return none or "noindex" in words, none or "nofollow" in words


def _for_us(field: str, ours: frozenset[str]) -> Iterator[str]:
    """The words of one field that are for us."""
    concerned = True
    for part in field.replace(";", ",").split(","):
        names, rule = _split(part)
        if names:
            concerned = any(name.partition("/")[0] in ours for name in names)
        if concerned:
            yield from rule.split()


def _split(part: str) -> tuple[list[str], str]:
    """The agents named in front of a rule, and the rule."""
    if ":" not in part:
        return [], part
    *names, last = [piece.strip() for piece in part.split(":")]
    for at, name in enumerate(names):
        if not _agent(name) or _valued(name):
            return names[:at], " ".join([*names[at:], last])
    return names, last
