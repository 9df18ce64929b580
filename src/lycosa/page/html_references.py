"""Character references replaced by what they stand for, by WHATWG's rules. Pure, and linear.

Text and attributes differ: `&copy=1` in an attribute is no reference, since links were written so.
Control characters are nothing to read and are left out of text; all else is as the standard says.
The compiled reader has these rules in C; the tests compare the two.
"""

from __future__ import annotations

import re
from html.entities import html5

_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([a-zA-Z][a-zA-Z0-9]+)(;?)(=?))")
_LONGEST_OLD = 6  # letters of a name that does without the ';'
_MANY = 4_096  # remembered; pages repeat a dozen

# Numbers of C1 controls mean Windows-1252, where that has a character.
_WINDOWS = {
    code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)
}
_KEPT = "\t\n\f\r"

_in_text: dict[str, str] = {}
_in_attribute: dict[str, str] = {}


def in_text(text: str) -> str:
    """Text as it reads."""
    return _REFERENCE.sub(_for_text, text) if "&" in text else text


def in_title(text: str) -> str:
    """The same; a NUL, which is dropped from other text, is a bad character here."""
    return in_text(text.replace("\0", "\ufffd"))


def in_attribute(value: str) -> str:
    """The value of an attribute."""
    if "\0" in value:
        value = value.replace("\0", "\ufffd")
    return _REFERENCE.sub(_for_attribute, value) if "&" in value else value


def _for_text(found: re.Match[str]) -> str:
    whole = found[0]
    value = _in_text.get(whole)
    return _remember(_in_text, whole, _value(found, False)) if value is None else value


def _for_attribute(found: re.Match[str]) -> str:
    whole = found[0]
    value = _in_attribute.get(whole)
    return _remember(_in_attribute, whole, _value(found, True)) if value is None else value


def _remember(memo: dict[str, str], whole: str, value: str) -> str:
    if len(memo) >= _MANY:
        memo.clear()
    memo[whole] = value
    return value


def _value(found: re.Match[str], attribute: bool) -> str:
    digits, decimal, name, semicolon, equals = found.groups()
    if digits or decimal:
        character = _numbered(digits, 16) if digits else _numbered(decimal, 10)
        return character if attribute or character >= " " or character in _KEPT else ""
    if semicolon and (value := html5.get(name + ";")) is not None:
        return value + equals
    rest = semicolon + equals
    for size in range(min(len(name), _LONGEST_OLD), 1, -1):
        if attribute and (size < len(name) or (equals and not semicolon)):
            continue
        if (value := html5.get(name[:size])) is not None:
            return value + name[size:] + rest
    return found[0]


def _numbered(digits: str, base: int) -> str:
    digits = digits.lstrip("0")
    code = int(digits or "0", base) if len(digits) < 8 else 0x110000
    if 0x80 <= code < 0xA0:
        return _WINDOWS[code]
    if code == 0 or code >= 0x110000 or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return chr(code)
