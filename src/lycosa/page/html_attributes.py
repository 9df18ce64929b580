"""The attributes of a tag, for the reader in Python: as they are written, not decoded.

Owns how a tag's text is cut into names and values (WHATWG's tokenizer); `html_scan` says which tags
there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WS = r" \t\n\f\r"
ATTRIBUTE = re.compile(
    rf"([^{_WS}/>][^{_WS}/>=]*+)"
    rf"(?:[{_WS}]*+=[{_WS}]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^{_WS}>]*+)))?"
).finditer
_FONT = frozenset(("color", "face", "size"))


def lower(name: str) -> str:
    """Lower case of ASCII letters only: U+212A is no 'k' here."""
    if name.isascii():
        return name.lower()
    return name.encode().lower().decode()


def size_in_bytes(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode())


def attributes_of(text: str) -> dict[str, str]:
    """The attributes of a tag, not decoded; the first of a name counts."""
    found: dict[str, str] = {}
    for match in ATTRIBUTE(text):
        found.setdefault(lower(match[1]), match[2] or match[3] or match[4] or "")
    return found


def in_order(text: str) -> Iterator[tuple[str, str]]:
    """The attributes of a tag, not decoded, all of them."""
    for match in ATTRIBUTE(text):
        yield lower(match[1]), match[2] or match[3] or match[4] or ""


def breaks_out(attributes: str) -> bool:
    """Whether a <font> is one of HTML."""
    return not _FONT.isdisjoint(attributes_of(attributes))


def closes_itself(attributes: str) -> bool:
    """Whether a tag ends in '/>', and the '/' is not the end of a value."""
    if not attributes.endswith("/"):
        return False
    ends = [found.end() for found in ATTRIBUTE(attributes)]
    return not ends or ends[-1] < len(attributes)
