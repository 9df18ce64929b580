"""How amounts are written for people: durations, sizes, rates, moments. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def utc(ms: int) -> str:
    """A moment for people and for JSON alike."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shorter_before(delay: float, before: Sequence[tuple[int, float]]) -> str:
    """Until when the delay was shorter than now, from (until_ms, delay); '' if it never was."""
    shorter = [each for each in before if each[1] < delay]
    if not shorter:
        return ""
    until, least = max(ms for ms, _ in shorter), min(seconds for _, seconds in shorter)
    return f" (until {utc(until)} at least {least:g} s)"


def duration(seconds: float) -> str:
    """'45 s', '3:20 min', '1:05 h', '2 d 3 h'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    if whole < 86400:
        return f"{whole // 3600}:{whole % 3600 // 60:02} h"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def size(amount: float) -> str:
    """'512 B', '3.4 MB': decimal units, as disks and networks have them."""
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return (
                f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
            )
        amount /= 1000
    return f"{amount:.1f} TB"


def rate(per_second: float) -> str:
    """'0.029', '9.8', '1,234'."""
    if 0 < per_second < 1:
        return f"{per_second:.2g}"
    return f"{per_second:.1f}" if per_second < 100 else f"{per_second:,.0f}"
