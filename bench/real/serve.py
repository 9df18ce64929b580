"""Serves real files on many host names, with the sockets, names and log of the simulated web.

python -m real.serve      # a process of `FileWeb`; it reads its settings from standard input
"""

from __future__ import annotations

import gzip as gzip_format
import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lycosa.simweb import certs, reply
from lycosa.simweb.reply import Reply
from lycosa.simweb.reqlog import Entry, read_log
from lycosa.simweb.serve import reserve
from lycosa.simweb.server import Server, ServerSettings, raise_file_limit
from lycosa.simweb.spec import WorldSpec
from real.sites import COPY, SCHEME, Sites

HTML = "text/html"  # what the pages are written in, they say themselves


class FileHosts:
    """Which names there are; all others, those of the real web too, do not exist."""

    def __init__(self, sites: Sites, https: bool) -> None:
        self.spec = WorldSpec(https=float(https))
        self._sites, self._group = sites, "full" if https else "http"

    def resolve(self, host: str) -> str:
        return self._group if self._sites.find(host) else "nxdomain"

    def place(self, host: str) -> None:
        return None


class FilePages:
    """Answers requests with files."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._page = lru_cache(2000)(sites.page)

    def respond(self, scheme: str, host: str, target: str, *, gzip: bool, keep: bool) -> Reply:
        found = self._sites.find(host)
        name = target.partition("?")[0][1:]
        if found is None or (name and name not in found[0].files):
            return reply.whole(404, b"No such file.\n", keep=keep, kind="text/plain")
        site, copy = found
        body = self._page(site, name or site.first)
        body = body.replace(SCHEME, scheme.encode()).replace(COPY, str(copy).encode())
        if not gzip:
            return reply.whole(200, body, keep=keep, kind=HTML)
        packed = gzip_format.compress(body, 1)
        return reply.whole(200, packed, keep=keep, kind=HTML, lines="Content-Encoding: gzip\r\n")


class FileWeb:
    """A running server of files; `SimWeb` is the other kind."""

    def __init__(
        self, folder: Path, copies: int, log_dir: Path, https: bool, ports: tuple[int, int, int]
    ) -> None:
        self.sites = Sites(folder, copies)
        self.log_dir = log_dir
        self._settings: dict[str, Any] = {"folder": str(folder), "copies": copies, "https": https}
        self._ports = ports

    def __enter__(self) -> Self:
        self.log_dir.mkdir(parents=True)
        if self._settings["https"]:
            certs.make_authority(self.log_dir)
        self._guards, ports = reserve(self._ports)
        self.http_port, self.https_port, self.dns_port = ports
        self._process = subprocess.Popen(
            [sys.executable, "-m", "real.serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip
        told = {**self._settings, "log_dir": str(self.log_dir), "ports": ports}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()
        if self._process.stdout.readline() != b"ready\n":
            raise SystemExit("the server of files did not start; its message is above")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        for guard in self._guards:
            guard.close()

    @property
    def nameserver(self) -> str:
        return f"127.0.0.1:{self.dns_port}"

    @property
    def port_map(self) -> str:
        return f"80={self.http_port},443={self.https_port}"

    def seeds(self) -> list[str]:
        return self.sites.hosts()

    def log(self) -> list[Entry]:
        return read_log(self.log_dir)


def main() -> None:
    line = b""
    while not line.endswith(b"\n"):  # unbuffered: what follows is watched by the loop
        line += os.read(0, 65536)
    told = json.loads(line)
    sites = Sites(Path(told["folder"]), told["copies"])
    http_port, https_port, dns_port = told["ports"]
    hosts = FileHosts(sites, told["https"])
    settings = ServerSettings(
        spec=hosts.spec, log_dir=Path(told["log_dir"]), name="files",
        http_port=http_port, https_port=https_port, dns_port=dns_port,
    )  # fmt: skip
    raise_file_limit()
    server = Server(settings, hosts, FilePages(sites))
    print("ready", flush=True)
    server.run()


if __name__ == "__main__":
    main()
