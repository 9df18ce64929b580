"""A tiny DNS server on loopback, over UDP and TCP, that answers from a dict, well or badly."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

A, CNAME, AAAA = 1, 5, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


Mangle = Callable[[bytes], list[bytes]]


@dataclass
class Zone:
    """What the server says of one name."""

    addresses: list[str] = field(default_factory=list)
    ttl: int = 300
    rcode: int = NOERROR
    silent: bool = False
    delay: float = 0.0
    truncate: bool = False  # over UDP: the client has to come back over TCP
    cname: str = ""
    mangle: Mangle | None = None  # over UDP: what is sent instead of the reply
    stream: Mangle | None = None  # the same over TCP, as raw bytes; then the connection is closed


def _wire_name(name: str) -> bytes:
    return b"".join(bytes([len(p)]) + p.encode() for p in name.rstrip(".").split(".")) + b"\0"


def _same_port() -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket on one port, which may take a few tries to find."""
    while True:
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        udp.bind(("127.0.0.1", 0))
        try:
            tcp.bind(udp.getsockname())
            tcp.listen(16)
            return udp, tcp
        except OSError:
            udp.close()
            tcp.close()


class DnsServer:
    """`names` may be changed while it runs; `queries` counts (name, type)."""

    def __init__(self) -> None:
        self.names: dict[str, Zone] = {}
        self.queries: Counter[tuple[str, int]] = Counter()
        self._udp, self._tcp = _same_port()
        self.port = self._udp.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        for target in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=target, daemon=True).start()

    def add(self, name: str, *addresses: str, **more: Any) -> None:
        """`more` are fields of `Zone`."""
        self.names[name] = Zone(list(addresses), **more)

    def close(self) -> None:
        for sock in (self._udp, self._tcp):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _serve_udp(self) -> None:
        while True:
            try:
                query, peer = self._udp.recvfrom(4096)
            except OSError:
                return
            if not query:
                return
            zone, reply = self._reply(query, udp=True)
            if zone.silent:
                continue
            for packet in zone.mangle(reply) if zone.mangle else [reply]:
                if zone.delay:
                    threading.Timer(zone.delay, self._send, (packet, peer)).start()
                else:
                    self._send(packet, peer)

    def _send(self, reply: bytes, peer: tuple[str, int]) -> None:
        try:
            self._udp.sendto(reply, peer)
        except OSError:
            pass

    def _serve_tcp(self) -> None:
        while True:
            try:
                sock, _ = self._tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_stream, args=(sock,), daemon=True).start()

    def _serve_stream(self, sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as stream:
            while len(head := stream.read(2)) == 2:
                zone, reply = self._reply(stream.read(struct.unpack(">H", head)[0]), udp=False)
                framed = struct.pack(">H", len(reply)) + reply
                sock.sendall(b"".join(zone.stream(framed)) if zone.stream else framed)
                if zone.stream:
                    return

    def _reply(self, query: bytes, udp: bool) -> tuple[Zone, bytes]:
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
            at += query[at] + 1
        name, kind = ".".join(labels), struct.unpack(">H", query[at + 1 : at + 3])[0]
        self.queries[name, kind] += 1
        zone = self.names.get(name, Zone(rcode=NXDOMAIN))
        records = b"" if zone.truncate and udp else self._records(zone, kind)
        count = records.count(b"\0\1" + struct.pack(">I", zone.ttl))
        flags = 0x8180 | zone.rcode | (0x0200 if zone.truncate and udp else 0)
        head = query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0)
        return zone, head + query[12 : at + 5] + records

    @staticmethod
    def _records(zone: Zone, kind: int) -> bytes:
        owner, out = b"\xc0\x0c", b""
        fixed = struct.pack(">HI", 1, zone.ttl)
        if zone.cname:
            alias = _wire_name(zone.cname)
            out += owner + struct.pack(">H", CNAME) + fixed + struct.pack(">H", len(alias)) + alias
            owner = alias
        for address in zone.addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if kind == (AAAA if ":" in address else A):
                packed = socket.inet_pton(family, address)
                out += owner + struct.pack(">H", kind) + fixed + struct.pack(">H", len(packed))
                out += packed
        return out
