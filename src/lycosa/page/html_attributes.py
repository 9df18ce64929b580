"""The attributes of a tag, as the Python reader sees them: names, values, whether it closes itself.

Owns how they are taken apart (WHATWG's tokenizer) and which of them decide what is seen. Values
keep their character references. Knows no elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WS = r" \t\n\f\r"
_ATTRIBUTE = re.compile(
    rf"([^{_WS}/>][^{_WS}/>=]*+)"
    rf"(?:[{_WS}]*+=[{_WS}]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^{_WS}>]*+)))?"
).finditer
_FONT = frozenset(("color", "face", "size"))


def each_attribute(text: str) -> Iterator[tuple[str, str]]:
    """Names, in lower case, and values, in the order of the tag."""
    for match in _ATTRIBUTE(text):
        yield lower(match[1]), match[2] or match[3] or match[4] or ""


def attributes_of(text: str) -> dict[str, str]:
    """The attributes of a tag, of which the first of a name counts."""
    found: dict[str, str] = {}
    for name, value in each_attribute(text):
        found.setdefault(name, value)
    return found


def is_hinted(text: str) -> bool:
    """Whether attributes may decide what is seen."""
    low = text.lower()
    return "style" in low or "hidden" in low or "popover" in low


def breaks_out(text: str) -> bool:
    """Whether a <font> is one of HTML."""
    return not _FONT.isdisjoint(attributes_of(text))


def closes_itself(text: str) -> bool:
    """Whether a tag ends in '/>', and the '/' is not the end of a value."""
    if not text.endswith("/"):
        return False
    ends = [found.end() for found in _ATTRIBUTE(text)]
    return not ends or ends[-1] < len(text)


def lower(name: str) -> str:
    """Lower case of ASCII letters only: U+212A is no 'k' here."""
    if name.isascii():
        return name.lower()
    return name.encode().lower().decode()


def size_of(value: str) -> int:
    """Bytes of a value in UTF-8."""
    return len(value) if value.isascii() else len(value.encode())
