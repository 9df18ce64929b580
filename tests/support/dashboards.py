"""A real dashboard for a test: its own process, a real socket, and a client that sends what it is
told to, byte by byte if need be."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from lycosa.dashboard import beside
from lycosa.dashboard.orders import DashboardOrders

TOKEN = "a-token-of-the-tests"


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A dashboard that runs; also a context manager."""

    data: list[Path]
    store: str = "sqlite"
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    port: int = 0
    process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> Served:
        listening = beside.bound(self.host, 0, given=True)
        self.port = listening.getsockname()[1]
        orders = DashboardOrders(
            data_dirs=tuple(map(str, self.data)),
            store=self.store,
            token=TOKEN,
            host=self.host,
            port=self.port,
            names=self.names,
        )
        self.process = beside.started(orders, listening)
        listening.close()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        beside.ended(self.process)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"http://{self.place}/"

    def connect(self, timeout: float = 30.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """A request with these headers; '_' in a name is '-'."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="host" in {n.lower() for n in named})
            for name, value in named.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Reply(found.status, names, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, None, **headers)

    def post(self, path: str, value: Any, token: str | None = TOKEN, **headers: str) -> Reply:
        """A control as the page sends it."""
        given = {"content_type": "application/json", "origin": f"http://{self.place}", **headers}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        return self.send("POST", path, json.dumps(value).encode(), **given)


def process_of(port: int) -> int:
    """The process that listens at a port of loopback."""
    wanted = f"0100007F:{port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inode = next(line[9] for line in lines if line[1] == wanted and line[3] == "0A")
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(path) == f"socket:[{inode}]":
                return int(path.parts[2])
    raise AssertionError("nobody listens")


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
