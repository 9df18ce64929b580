"""Measures the CPU of the network edge: robots.txt and a page of 20 KB from a new host each time.

Prints microseconds of client CPU (user + system, own process only) per pair, over http and https,
with 200 and 2,000 in flight, with a DNS lookup per host and without. The server runs in its own
process, answers with prepared bytes, and is not counted. Every host has its own loopback address.

    python bench/fetch.py [--quick] [--profile]
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import datetime
import os
import resource
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any

from lycosa.clock import engine_now
from lycosa.fetch.dns import Answer, Resolver
from lycosa.fetch.fetcher import Fetcher, FetchLimits, FetchSettings
from lycosa.fetch.poller import Poller
from lycosa.records import Kind, Request

_HEADERS = (
    "Server: bench\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: max-age=600\r\n"
    "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: W/abc\r\nVary: Accept-Encoding\r\n"
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nConnection: keep-alive\r\n"
)


def _reply(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return (head + _HEADERS + "\r\n").encode() + body


ROBOTS = _reply(b"User-agent: *\nDisallow: /private/\n" * 20, "text/plain")
PAGE = _reply(b"<p>text text text text text text</p>" * 569, "text/html; charset=utf-8")


class _Site(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(ROBOTS if data.startswith(b"GET /robots") else PAGE)


class _Names(asyncio.DatagramProtocol):
    """h123456.test has the address that its number says."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        number = int(data[14 : 13 + data[12]])
        end = data.index(b"\0", 12) + 5
        head = data[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + data[12:end]
        record = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 300, 4)
        self.transport.sendto(head + record + _packed(number), addr)


def _packed(number: int) -> bytes:
    return struct.pack(">I", (127 << 24) + 256 + number)


def _address(number: int) -> str:
    return ".".join(map(str, _packed(number)))


async def _serve(certificate: str) -> None:
    loop = asyncio.get_running_loop()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    plain = await loop.create_server(_Site, "0.0.0.0", 0, backlog=4096)
    secure = await loop.create_server(_Site, "0.0.0.0", 0, backlog=4096, ssl=tls)
    names, _ = await loop.create_datagram_endpoint(_Names, ("127.0.0.1", 0))
    ports = [s.sockets[0].getsockname()[1] for s in (plain, secure)]
    print(*ports, names.get_extra_info("sockname")[1], flush=True)
    await asyncio.Event().wait()


def _certificate(path: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bench")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    with open(path, "wb") as file:
        file.write(key.private_bytes(*form, serialization.NoEncryption()))
        file.write(made.public_bytes(serialization.Encoding.PEM))


class Run:
    """One measurement: `pairs` hosts, robots.txt then page, `in_flight` at a time."""

    def __init__(self, ports: list[int], https: bool, names: bool) -> None:
        self.https, self.names = https, names
        self.port = ports[1] if https else ports[0]
        self.poller = Poller()
        self.resolver = Resolver(self.poller, [f"127.0.0.1:{ports[2]}"], engine_now)
        self.failed = 0
        self.slowest = 0.0  # turn, seconds

    def request(self, number: int, kind: Kind) -> Request:
        host = f"h{number}.test"
        path = "/robots.txt" if kind == Kind.ROBOTS else "/page"
        scheme = "https" if self.https else "http"
        url = f"{scheme}://{host}:{self.port}{path}"
        made = Request(url, host, self.port, self.https, kind, engine_now() + 90, token=number)
        made.keep_alive = kind == Kind.ROBOTS
        return made

    def measure(self, first: int, pairs: int, in_flight: int) -> float:
        """Microseconds of CPU per pair."""
        settings = FetchSettings("bench", allow_private=True)
        if not self.names:
            for number in range(first, first + pairs):
                self.resolver.remember(f"h{number}.test", Answer((_address(number),)), 3600.0)
        fetcher = Fetcher(
            self.poller, self.resolver, settings, FetchLimits(), in_flight, engine_now
        )
        before = _cpu()
        done, following, end = 0, first, first + pairs
        while done < pairs:
            while fetcher.in_flight < in_flight and following < end:
                fetcher.start(self.request(following, Kind.ROBOTS))
                following += 1
            done += self._turn(fetcher)
        used = _cpu() - before
        fetcher.close()
        return used / pairs * 1e6

    def _turn(self, fetcher: Fetcher) -> int:
        waits = [w for w in (fetcher.timeout(), self.resolver.timeout()) if w is not None]
        ready = self.poller.poll(min(waits, default=1.0))
        begun = time.monotonic()
        self.poller.serve(ready)
        self.resolver.turn()
        fetcher.turn(engine_now())
        done = 0
        for response in fetcher.take(1000):
            good = response.status == 200 and not response.failure
            self.failed += not good
            if good and response.request.kind == Kind.ROBOTS:
                number = response.request.token
                assert isinstance(number, int)
                fetcher.start(self.request(number, Kind.PAGE))
            else:
                done += 1
                self.failed += good and response.connects != 0
        self.slowest = max(self.slowest, time.monotonic() - begun)
        return done

    def close(self) -> None:
        self.resolver.close()
        self.poller.close()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _lookups(ports: list[int], count: int) -> float:
    """Microseconds of CPU per DNS lookup, 500 at a time."""
    poller = Poller()
    resolver = Resolver(poller, [f"127.0.0.1:{ports[2]}"], engine_now)
    found: list[object] = []
    before, asked = _cpu(), 0
    while len(found) < count:
        while asked < count and resolver.pending < 500:
            resolver.resolve(f"h{2_000_000 + asked}.test", found.append)
            asked += 1
        poller.serve(poller.poll(resolver.timeout()))
        resolver.turn()
    used = _cpu() - before
    resolver.close()
    poller.close()
    return used / count * 1e6


def _client(ports: list[int], quick: bool) -> None:
    print(f"{'DNS lookup alone':34} {_lookups(ports, 500 if quick else 10_000):7.0f} us")
    first = 0
    for https in (False, True):
        for in_flight in (200, 2000):
            for names in (False, True):
                pairs = 100 if quick else (2_000 if https else 6_000) + in_flight
                run = Run(ports, https, names)
                used = run.measure(first, pairs, in_flight)
                first += pairs
                run.close()
                label = f"{'https' if https else 'http'}, {in_flight} in flight"
                label += ", with DNS" if names else ", no DNS"
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                print(
                    f"{label:34} {used:7.0f} us per robots.txt + page, {run.failed} failed, "
                    f"slowest turn {run.slowest * 1000:.0f} ms, peak {peak} MB"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small runs, to see that it works")
    parser.add_argument("--profile", action="store_true", help="profile one http run")
    parser.add_argument("--serve", metavar="CERTIFICATE", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        asyncio.run(_serve(chosen.serve))
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if soft < hard else soft, hard))
    with tempfile.TemporaryDirectory() as folder:
        certificate = os.path.join(folder, "bench.pem")
        _certificate(certificate)
        command = [sys.executable, __file__, "--serve", certificate]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            ports = [int(word) for word in server.stdout.readline().split()]
            if chosen.profile:
                run = Run(ports, https=False, names=False)
                cProfile.runctx("run.measure(0, 4000, 200)", {}, {"run": run}, sort="tottime")
            else:
                _client(ports, chosen.quick)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
