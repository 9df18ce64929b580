"""Starts and stops a simulated web: server processes, ports, log directory.

Owns the child processes. Tests, the demo and benchmarks use `SimWeb`. A child is `python -m
lycosa.simweb child`; it reads its settings from its standard input, and ends when that closes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from lycosa import ownfiles
from lycosa.errors import UserError
from lycosa.simweb import certs, names
from lycosa.simweb.check import Report, check
from lycosa.simweb.reqlog import SPEC_FILE, Entry, read_log
from lycosa.simweb.server import Server, ServerSettings, raise_file_limit
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World

FIRST_PORT, LAST_PORT = 18_000, 32_000  # below the ports that systems give to clients
_GUARD = "127.99.0.1"  # a web that holds a port here has it on all addresses of the simulated web
_STOP_SECONDS = 10.0


class SimWeb:
    """A running simulated web.

    `with SimWeb(WorldSpec(domains=10), tmp_path) as web:` and tell the crawler `web.port_map`,
    `web.nameserver` and to allow private addresses.
    """

    def __init__(
        self,
        spec: WorldSpec,
        log_dir: Path | str,
        processes: int = 1,
        addresses: int = 64,
        *,
        ports: tuple[int, int, int] | None = None,
        verifiable: bool = False,
    ) -> None:
        if not 1 <= addresses <= names.MAX_ADDRESSES:
            raise UserError(
                f"The number of addresses must lie between 1 and {names.MAX_ADDRESSES}."
            )
        self.spec, self.world = spec, World(spec)
        self.log_dir = Path(log_dir)
        self._processes, self._addresses, self._verifiable = processes, addresses, verifiable
        self._ports = ports
        self._guards: list[socket.socket] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self.http_port = self.https_port = self.dns_port = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the processes and waits until they listen."""
        ownfiles.make_directory(self.log_dir)
        ownfiles.write(self.log_dir / SPEC_FILE, self.spec.dump().encode())
        if self.spec.https > 0 and not (self.log_dir / certs.CA_FILE).exists():
            certs.make_authority(self.log_dir)
        self._guards, chosen = reserve(self._ports)
        self.http_port, self.https_port, self.dns_port = chosen
        for number in range(self._processes):
            self._children.append(self._spawn(number))
        for child in self._children:
            assert child.stdout
            if child.stdout.readline() != b"ready\n":
                raise UserError("A server of the simulated web did not start; see its message.")

    def _spawn(self, number: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lycosa.simweb", "child"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin
        settings = {
            "spec": self.spec.dump(),
            "log_dir": str(self.log_dir),
            "name": str(number),
            "http_port": self.http_port,
            "https_port": self.https_port,
            "dns_port": self.dns_port,
            "addresses": self._addresses,
            "verifiable": self._verifiable,
        }
        child.stdin.write(json.dumps(settings).encode() + b"\n")
        child.stdin.flush()
        return child

    def stop(self) -> None:
        """Ends the processes; open requests are noted in the log as ended."""
        for child in self._children:
            if child.stdin:
                child.stdin.close()
        for child in self._children:
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if child.stdout:
                child.stdout.close()
        self._children.clear()
        for guard in self._guards:
            guard.close()
        self._guards = []

    @property
    def nameserver(self) -> str:
        """For --nameserver."""
        return f"127.0.0.1:{self.dns_port}"

    @property
    def port_map(self) -> str:
        """For --port-map."""
        return f"80={self.http_port},443={self.https_port}"

    @property
    def ca_file(self) -> Path:
        """The authority that a client has to trust to verify (with verifiable=True)."""
        return self.log_dir / certs.CA_FILE

    @property
    def pids(self) -> list[int]:
        """The server processes."""
        return [child.pid for child in self._children]

    def cpu_seconds(self) -> float:
        """CPU time that the server processes used so far."""
        return sum(map(_cpu_seconds, self.pids))

    def counts(self) -> dict[str, int]:
        """Connections and TLS handshakes; known when the servers have ended."""
        total: Counter[str] = Counter()
        for path in self.log_dir.glob("counts-*.json"):
            total.update(json.loads(path.read_text()))
        return dict(total)

    def seeds(self) -> list[str]:
        """Bare names of all domains."""
        return self.world.seeds()

    def write_seeds(self, path: Path | str) -> None:
        """Writes a file of seeds where the user wants it."""
        Path(path).write_bytes(self.seed_lines())

    def seed_lines(self) -> bytes:
        """One name a line."""
        return "".join(f"{name}\n" for name in self.seeds()).encode()

    def log(self) -> list[Entry]:
        """All requests so far."""
        return read_log(self.log_dir)

    def check(self, delay: float, tolerance: float = 0.005) -> Report:
        """Judges the log so far."""
        return check(self.log(), self.world, delay, tolerance)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reserve(
    wanted: tuple[int, int, int] | None,
) -> tuple[list[socket.socket], tuple[int, int, int]]:
    """Three ports (http, https, DNS) for this web alone, and the sockets that hold them."""
    guards: list[socket.socket] = []
    ports: list[int] = []
    for port in wanted or _candidates():
        guard = _guard(port)
        if guard is not None:
            guards.append(guard)
            ports.append(port)
        elif wanted:
            raise UserError(f"Port {port} is taken: choose another, or leave --ports out.")
        if len(ports) == 3:
            return guards, (ports[0], ports[1], ports[2])
    raise UserError(
        f"No three ports between {FIRST_PORT} and {LAST_PORT} are free: end what uses them."
    )


def _candidates() -> Iterator[int]:
    """All ports of the range, from a place that other processes are unlikely to begin at."""
    size = LAST_PORT - FIRST_PORT
    begin = os.getpid() * 7 % size
    return (FIRST_PORT + (begin + step) % size for step in range(size))


def _guard(port: int) -> socket.socket | None:
    """Holds a port against other simulated webs, if nobody has it on 127.0.0.1 either.

    The servers share their ports with SO_REUSEPORT, so without this two webs could share one.
    """
    guard = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        guard.bind((_GUARD, port))
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as probe:
                probe.bind(("127.0.0.1", port))
    except OSError:
        guard.close()
        return None
    return guard


def child() -> int:
    """The main function of a server process: ends when standard input closes, not by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):  # unbuffered: what follows is watched by the loop
        piece = os.read(0, 65536)
        if not piece:
            return 0
        line += piece
    values = json.loads(line)
    values["spec"] = WorldSpec.load(values["spec"])
    values["log_dir"] = Path(values["log_dir"])
    raise_file_limit()
    server = Server(ServerSettings(**values))
    print("ready", flush=True)
    server.run()
    return 0
