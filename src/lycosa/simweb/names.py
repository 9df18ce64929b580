"""Names of the simulated web: the map from hosts to loopback addresses, and DNS answers.

Owns the packet format and the address map. Pure: `server` receives and sends the packets.

The map: domain number i of a group lives at address i mod `addresses` of that group, where
  127.10.x.y  full    http and https
  127.20.x.y  http    http; https is refused
  127.30.x.y  broken  http; https answers every handshake with an alert
  127.40.x.y  closed  nothing listens
and address n of a group ends in x = n // 250, y = n % 250 + 1. The ports are the same on all.
"""

from __future__ import annotations

import struct
import zlib
from typing import Protocol

from lycosa.simweb import malice
from lycosa.simweb.paths import registrable
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import Place

GROUPS = {"full": 10, "http": 20, "broken": 30, "closed": 40}
TTL = 300  # seconds
MAX_ADDRESSES = 250 * 250
_CACHED_NAMES = 200_000
_A, _ANY, _IN = 1, 255, 1
_NO_ERROR, _SERVFAIL, _NXDOMAIN, _NOT_IMPLEMENTED = 0, 2, 3, 4
_GARBLED = -1


def address(group: str, number: int) -> str:
    """Address `number` of a group."""
    return f"127.{GROUPS[group]}.{number // 250}.{number % 250 + 1}"


class Hosts(Protocol):
    """What says which names there are: a world, or something else that is served."""

    spec: WorldSpec

    def resolve(self, host: str) -> str:
        """The group of addresses at which a host is, or how its name fails."""

    def place(self, host: str) -> Place | None:
        """The site of a host, if it has a number."""


class Names:
    """Answers DNS queries for one world."""

    def __init__(self, world: Hosts, addresses: int) -> None:
        self._world = world
        self._addresses = addresses
        self._known: dict[bytes, tuple[int, bytes] | None] = {}

    def lookup(self, host: str) -> tuple[str, str]:
        """(failure, address): one of them is ''. Failures: nxdomain, servfail, silent, garbled."""
        group = self._world.resolve(host)
        if group not in GROUPS:
            return group, ""
        place = self._world.place(host)
        number = place.site.index if place else zlib.crc32(registrable(host).encode())
        return "", address(group, number % self._addresses)

    def answer(self, packet: bytes) -> bytes | None:
        """The response to a query; None for silence."""
        end = packet.find(b"\x00", 12) + 1
        if len(packet) < end + 4 or not end or packet[2] & 0x80:
            return None
        name, question = packet[12:end], packet[12 : end + 4]
        if packet[2] & 0x78:
            return _response(packet, question, _NOT_IMPLEMENTED, b"")
        key = name.lower()
        if key not in self._known:
            self._remember(key)
        known = self._known[key]
        if known is None:
            return None
        code, record = known
        if code == _GARBLED:
            spec = self._world.spec
            number = malice.number_of(_host(key), spec.malice)
            return malice.garbled(spec.seed, number, _response(packet, question, 0, record))
        wants_a = packet[end : end + 2] in (b"\x00\x01", b"\x00\xff")
        return _response(packet, question, code, record if wants_a else b"")

    def _remember(self, key: bytes) -> None:
        if len(self._known) >= _CACHED_NAMES:
            self._known.clear()
        failure, found = self.lookup(_host(key))
        if failure == "silent":
            self._known[key] = None
        elif failure == "garbled":
            self._known[key] = (_GARBLED, _record("127.0.0.1"))
        elif failure:
            self._known[key] = (_SERVFAIL if failure == "servfail" else _NXDOMAIN, b"")
        else:
            self._known[key] = (_NO_ERROR, _record(found))


def _record(address: str) -> bytes:
    ip = bytes(map(int, address.split(".")))
    return struct.pack(">HHHIH", 0xC00C, _A, _IN, TTL, 4) + ip


def _host(name: bytes) -> str:
    """The text of a name in wire form."""
    labels, at = [], 0
    while at < len(name) and name[at]:
        size = name[at]
        labels.append(name[at + 1 : at + 1 + size].decode("latin-1"))
        at += 1 + size
    return ".".join(labels)


def _response(packet: bytes, question: bytes, code: int, record: bytes) -> bytes:
    # Answer, authoritative; recursion desired as asked, recursion available.
    flags = struct.pack(">BB", 0x84 | packet[2] & 1, 0x80 | code)
    counts = struct.pack(">HHHH", 1, 1 if record else 0, 0, 0)
    return packet[:2] + flags + counts + question + record
