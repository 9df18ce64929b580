"""How one value is read from text: amounts with units, switches, names. Pure.

Owns the units that people may write. `options` says which setting has which kind of value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

KIB = 1024
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"": 1, "k": KIB, "m": KIB**2, "g": KIB**3, "t": KIB**4}
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class ValueKind:
    """How a value is read: `parse` raises ValueError on anything that is not `expects`."""

    expects: str
    parse: Callable[[object], object]
    most: str = ""  # the largest value, as a person writes it


class TooMuch(ValueError):
    """A value larger than its option allows: probably a slip of the keyboard."""


def text_of(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError
    return value.strip()


def _amount(value: object, units: dict[str, float] | dict[str, int]) -> float:
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, int | float):
        return value
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([a-z]*)", text_of(value).lower())
    if not found or found[2] not in units:
        raise ValueError
    return float(found[1]) * units[found[2]]


def at_least(amount: float, low: float, above: bool = False) -> float:
    # Written so that NaN and infinity are refused as well.
    if not (low < amount if above else low <= amount) or amount > 1e15:
        raise ValueError
    return amount


def parse_seconds(value: object) -> float:
    """90, '90', '30m', '12h', '2d' or '500ms' as seconds."""
    return at_least(_amount(value, _SECONDS), 0)


def parse_size(value: object) -> int:
    """5000, '512k', '5M', '5MiB' or '1.5G' as bytes; K, M, G and T are powers of 1,024."""
    if isinstance(value, str):
        value = re.sub(r"(?i)(?<=[kmgt])i?b$|(?<=\d)b$", "", value.strip())
    return int(at_least(_amount(value, _SIZES), 1))


def at_most(amount: float, high: float) -> float:
    if amount > high:
        raise TooMuch
    return amount


def parse_whole(value: object, low: int = 0) -> int:
    """A whole number; '1_000' and '1,000' are fine."""
    if isinstance(value, str):
        value = int(value.replace(",", ""))
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return int(at_least(value, low))


def parse_switch(value: object) -> bool:
    """On or off; a variable may say 1, true, yes, on or 0, false, no, off."""
    if isinstance(value, bool):
        return value
    word = text_of(value).lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def parse_bot_name(value: object) -> str:
    """A product token of RFC 9309: letters, hyphens and underscores."""
    text = text_of(value)
    if not re.fullmatch(r"[A-Za-z_-]{1,64}", text) or text.lower() == "robots":
        raise ValueError
    return text


_BITS = re.compile(r"(\d+(?:\.\d+)?) *([kmg]?)(?:bits?(?:/s|ps)?|bps)", re.IGNORECASE)
_BIT_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
LEAST_BANDWIDTH = 1_000  # bytes a second


def parse_bandwidth(value: object) -> int:
    """'500k', '2M/s' or '2MiB/s' as bytes a second, powers of 1,024; '20Mbit/s' as an eighth."""
    if isinstance(value, str):
        value = value.strip()
        if bits := _BITS.fullmatch(value):
            value = round(float(bits[1]) * _BIT_UNITS[bits[2].lower()] / 8)
        else:
            value = value.removesuffix("/s")
    return int(at_least(parse_size(value), LEAST_BANDWIDTH))
