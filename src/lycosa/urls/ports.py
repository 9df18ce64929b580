"""Ports at which we never ask for a web page. Owns their list. Pure.

A stranger writes a link: with one to such a port he could make us send lines to a service that acts
on them. Browsers refuse these ports too (the Fetch standard's bad ports); we add stores that listen
without a password on many inner networks.
"""

from __future__ import annotations

_BAD_PORTS = (
    *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
    *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
    *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601),
    *(636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566),
    *(6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
)
_STORES = (3306, 5432, 6379, 11211, 27017)  # MySQL, PostgreSQL, Redis, memcached, MongoDB

BLOCKED = frozenset((*_BAD_PORTS, *_STORES))


def blocked_port(origin: str) -> int:
    """The port of an origin (or of what a URL has before its path) if it is blocked, else -1."""
    colon = origin.rfind(":")
    digits = origin[colon + 1 :]
    return int(digits) if colon > 6 and digits.isdecimal() and int(digits) in BLOCKED else -1
