"""`promtool`, Prometheus' own checker: that of the system, or Debian's, unpacked without root."""

from __future__ import annotations

from support.debian_program import program

ABSENT = (
    "promtool is not installed (on Debian: apt install prometheus) and could not be unpacked from"
    " Debian's package, and this needs it"
)


def found() -> str:
    """The path of promtool, '' if there is none and none can be had."""
    try:
        return str(program("promtool", "prometheus")[0])
    except LookupError:
        return ""
