"""One server process: a plain epoll loop that speaks http, https and DNS on loopback.

Owns sockets, timers and the order "log, then answer". `pages` and `names` decide what the answer
is. Many processes can share the same ports (SO_REUSEPORT). A server binds to 127.x addresses only,
and ends when its standard input closes, so that it does not outlive its parent.
"""

from __future__ import annotations

import errno
import heapq
import json
import os
import resource
import select
import socket
import ssl
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from lycosa import ownfiles
from lycosa.errors import UserError
from lycosa.simweb import certs, names
from lycosa.simweb.connection import Connection
from lycosa.simweb.pages import Pages
from lycosa.simweb.reply import Reply
from lycosa.simweb.reqlog import LogWriter
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World

BACKLOG = 4096
DATAGRAMS_PER_TURN = 64
LOG_SECONDS = 0.002  # for which the end of a response may wait to be logged
IDLE_SECONDS = 1.0
FULL_PAUSE = 0.1  # seconds without accepting when file descriptors run out
_TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x28"  # fatal: handshake failure
_READ = select.EPOLLIN | select.EPOLLRDHUP


@dataclass(frozen=True)
class ServerSettings:
    """What one process must know. Ports are free ones that the parent found."""

    spec: WorldSpec
    log_dir: Path
    name: str  # of this process, in the log's file name
    http_port: int
    https_port: int
    dns_port: int
    addresses: int = 64
    verifiable: bool = False  # a certificate for each domain


@dataclass
class Counts:
    """What one process saw of its clients, beside their requests."""

    connections: int = 0  # TCP, whether or not a request came
    handshakes: int = 0  # TLS, completed


class Ready(Protocol):
    """Something with a file descriptor in the loop."""

    def ready(self, events: int) -> None:
        """Called when the descriptor has something to do."""


class Loop:
    """File descriptors and timers."""

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self.running = True
        self._handlers: dict[int, Ready] = {}
        self._timers: list[tuple[float, int, Connection, int]] = []
        self._count = 0

    def add(self, fd: int, handler: Ready, events: int = _READ) -> None:
        """Watches a descriptor."""
        self._handlers[fd] = handler
        self.epoll.register(fd, events)

    def remove(self, fd: int) -> None:
        """Forgets a descriptor that is about to be closed."""
        del self._handlers[fd]
        self.epoll.unregister(fd)

    def handlers(self) -> list[Ready]:
        """Everything watched."""
        return list(self._handlers.values())

    def later(self, seconds: float, connection: Connection, ticket: int) -> None:
        """Wakes a connection, if it still waits for this ticket by then."""
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, connection, ticket))

    def turn(self, longest: float) -> None:
        """Waits for something to do, at most `longest` seconds, and does it."""
        timers = self._timers
        wait = min(longest, max(0.0, timers[0][0] - time.monotonic())) if timers else longest
        for fd, events in self.epoll.poll(wait, 1024):
            handler = self._handlers.get(fd)
            if handler is not None:
                handler.ready(events)
        now = time.monotonic()
        while timers and timers[0][0] <= now:
            _, _, connection, ticket = heapq.heappop(timers)
            connection.wake(ticket)


class Listener:
    """Accepts connections at one address, one per turn, so that other addresses get their share."""

    def __init__(self, server: Server, sock: socket.socket, scheme: str) -> None:
        self._server, self._sock, self._scheme = server, sock, scheme

    def ready(self, events: int) -> None:
        """A connection waits."""
        try:
            sock, _ = self._sock.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(FULL_PAUSE)
            return
        sock.setblocking(False)
        self._server.accepted(sock, self._scheme)


class BrokenTls:
    """A connection whose handshake fails."""

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self._loop, self._sock = loop, sock
        loop.add(sock.fileno(), self)

    def ready(self, events: int) -> None:
        """The client's hello is here."""
        try:
            if self._sock.recv(65536):
                self._sock.send(_TLS_ALERT)
        except OSError:
            pass
        self._loop.remove(self._sock.fileno())
        self._sock.close()


class NameServer:
    """Answers DNS queries."""

    def __init__(self, sock: socket.socket, answers: names.Names) -> None:
        self._sock, self._names = sock, answers

    def ready(self, events: int) -> None:
        """Queries wait."""
        sock, answer = self._sock, self._names.answer
        for _ in range(DATAGRAMS_PER_TURN):
            try:
                packet, client = sock.recvfrom(4096)
                reply = answer(packet)
                if reply is not None:
                    sock.sendto(reply, client)
            except OSError:
                return


class ParentPipe:
    """Standard input: when it closes, the server ends."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def ready(self, events: int) -> None:
        """Something was written, or the parent is gone."""
        if not os.read(0, 4096):
            self._loop.running = False


class Answers(Protocol):
    """What answers requests: the pages of a world, or something else that is served."""

    def respond(self, scheme: str, host: str, target: str, *, gzip: bool, keep: bool) -> Reply:
        """The answer to GET `target` at that host."""


class Server:
    """Everything that one process serves: the world of its settings, or other hosts and pages."""

    def __init__(
        self,
        settings: ServerSettings,
        hosts: names.Hosts | None = None,
        pages: Answers | None = None,
    ) -> None:
        self.loop = Loop()
        self.answers: list[Connection] = []  # have a reply to begin with, once the log is written
        self.counts = Counts()
        self._counts_file = settings.log_dir / f"counts-{settings.name}-{os.getpid()}.json"
        self.log = LogWriter(settings.log_dir, f"{settings.name}-{os.getpid()}")
        world = World(settings.spec)
        self.pages: Answers = pages or Pages(world, settings.http_port)
        self._tls: ssl.SSLContext | None = None
        if settings.spec.https > 0:
            self._tls = certs.server_context(settings.log_dir, verifiable=settings.verifiable)
        self._listen_all(settings)
        self._listen_names(settings, hosts or world)
        self.loop.add(0, ParentPipe(self.loop))

    def _listen_all(self, settings: ServerSettings) -> None:
        self._listen("127.0.0.1", settings.http_port, "http")  # where a hostile redirect leads
        for number in range(settings.addresses):
            for group in ("full", "http", "broken"):
                self._listen(names.address(group, number), settings.http_port, "http")
            if self._tls:
                self._listen(names.address("full", number), settings.https_port, "https")
            self._listen(names.address("broken", number), settings.https_port, "broken")

    def _listen(self, address: str, port: int, scheme: str) -> None:
        sock = bound(socket.SOCK_STREAM, address, port)
        sock.listen(BACKLOG)
        self.loop.add(sock.fileno(), Listener(self, sock, scheme), select.EPOLLIN)

    def _listen_names(self, settings: ServerSettings, hosts: names.Hosts) -> None:
        sock = bound(socket.SOCK_DGRAM, "127.0.0.1", settings.dns_port)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        answers = names.Names(hosts, settings.addresses)
        self.loop.add(sock.fileno(), NameServer(sock, answers), select.EPOLLIN)

    def accepted(self, sock: socket.socket, scheme: str) -> None:
        """A new connection."""
        self.counts.connections += 1
        if scheme == "broken":
            BrokenTls(self.loop, sock)
        elif scheme == "https" and self._tls:
            sock = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            Connection(self, sock, scheme)
        else:
            Connection(self, sock, scheme)

    def run(self) -> None:
        """Serves until the parent closes the standard input."""
        while self.loop.running:
            self.loop.turn(LOG_SECONDS if self.log.waiting() else IDLE_SECONDS)
            self.log.flush()  # every request of this turn is on record before it is answered
            self._answer_all()
        for handler in self.loop.handlers():
            if isinstance(handler, Connection):
                handler.drop()
        self.log.close()
        ownfiles.write(self._counts_file, json.dumps(asdict(self.counts)).encode())

    def _answer_all(self) -> None:
        answers, self.answers = self.answers, []
        for connection in answers:
            connection.answer()


def bound(kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    """A non-blocking socket that shares its port with the other server processes."""
    sock = socket.socket(socket.AF_INET, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.setblocking(False)
    try:
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        raise UserError(f"Can't listen on {address}:{port}: {error.strerror}.") from error
    return sock


def raise_file_limit() -> int:
    """Raises the limit of open files to what the system allows; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
