"""Mistakes with a store on a server: one sentence each, exit code 2, the password nowhere."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from test_migrate import make_crawl

from support.postgres import servers
from support.program import EMAIL, lycosa

PASSWORD = "s3cr3t%40word"
PLAIN = "s3cr3t@word"


@dataclass
class Server:
    """A server that asks its users for passwords. The tables of `newer` are of a later lycosa,
    `poor` owns nothing."""

    folder: str

    def url(self, user: str = "rich", database: str = "crawls", password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@/{database}?host={quote(self.folder, safe='')}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    for own in servers():
        access = own.folder / "pg_hba.conf"
        lines = "local all rich scram-sha-256\nlocal all poor scram-sha-256\n"
        access.write_text(lines + access.read_text())
        with psycopg.connect(own.url, autocommit=True) as db:
            for user in ("rich", "poor"):
                db.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{PLAIN}'")
            db.execute("CREATE DATABASE crawls OWNER rich")
            db.execute("CREATE DATABASE newer OWNER rich")
            db.execute("SELECT pg_reload_conf()")
        there = Server(str(own.folder))
        with psycopg.connect(there.url(database="newer")) as db:
            db.execute("CREATE TABLE schema_version (version int)")
            db.execute("INSERT INTO schema_version VALUES (99)")
        yield there


class OldServer:
    """Says that it is PostgreSQL 12, and no more."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                self._serve(peer)

    def _serve(self, peer: socket.socket) -> None:
        ready = _message(b"Z", b"I")
        while (size := struct.unpack(">i", peer.recv(4))[0]) == 8:
            peer.recv(size - 4)  # would like TLS, or GSS
            peer.sendall(b"N")
        peer.recv(size - 4)
        version = _message(b"S", b"server_version\x0012.5\x00")
        peer.sendall(_message(b"R", struct.pack(">i", 0)) + version + ready)
        peer.recv(1000)  # whether it may be written to
        column = b"transaction_read_only\0" + struct.pack(">ihihih", 0, 0, 25, -1, -1, 0)
        row = struct.pack(">hi", 1, 3) + b"off"
        peer.sendall(
            _message(b"T", struct.pack(">h", 1) + column)
            + _message(b"D", row)
            + _message(b"C", b"SHOW\0")
            + ready
        )
        peer.recv(1000)

    def close(self) -> None:
        self._listener.close()


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


@pytest.fixture
def mistakes(server: Server) -> Iterator[dict[str, tuple[str, str]]]:
    """What is wrong -> the store, and words of the sentence."""
    old = OldServer()
    yield {
        "wrong password": (server.url(password=f"{PASSWORD}x"), "check the user and the password"),
        "no such user": (server.url(user="nobody"), "knows no user nobody"),
        "no such database": (server.url(database="nothere"), "There is no database nothere"),
        "no rights": (server.url(user="poor"), "may not do what lycosa needs"),
        "newer schema": (server.url(database="newer"), "made by a newer lycosa (format 99"),
        "too old": (f"postgresql://u:{PASSWORD}@127.0.0.1:{old.port}/db", "has version 12"),
        "nobody there": (f"postgresql://u:{PASSWORD}@127.0.0.1:1/db", "can't be reached"),
        "no such host": (f"postgresql://u:{PASSWORD}@nowhere.invalid/db", "can't be reached"),
        "scheme": (f"postgresq://u:{PASSWORD}@host/db", "a URL that begins with postgresql://"),
        "bracket": (f"postgresql://u:{PASSWORD}@[::1/db", "URL of the store can't be read"),
        "port": (f"postgresql://u:{PASSWORD}@host:54x2/db", "URL of the store can't be read"),
        "option": (f"postgresql://u:{PASSWORD}@host/db?sslmod=x", "URL of the store can't be read"),
    }
    old.close()


def commands(tmp_path: Path, store: str) -> Iterator[tuple[str | Path, ...]]:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("example.org\n")
    shared = ("--store", store, "--data-dir", tmp_path / "data")
    yield ("crawl", seeds, "--email", EMAIL, *shared)
    yield ("crawl", "--resume", *shared)
    yield ("migrate", "--from", tmp_path / "moving", "--to", store)
    yield ("check", *shared)
    yield ("status", *shared)
    yield ("audit", *shared)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_mistakes_with_a_store(
    mistakes: dict[str, tuple[str, str]], tmp_path: Path, every: bool
) -> None:
    """Each mistake with two commands, the slow way with all."""
    make_crawl(tmp_path / "moving")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "visits").mkdir()
    before = sorted(tmp_path.rglob("*"))
    wrong: list[tuple[object, ...]] = []
    for number, (kind, (store, words)) in enumerate(mistakes.items()):
        tried = list(commands(tmp_path, store))
        for command in tried if every else (tried[0], tried[1 + number % 5]):
            found = lycosa(*command)
            said = found.stderr
            missing = words not in said
            if kind == "no rights" and command[0] in ("crawl", "status", "audit"):
                missing = missing and "There is no crawl" not in said
            if found.returncode != 2 or missing or not one_sentence(said):
                wrong.append((kind, command[0], found.returncode, said))
            if "s3cr3t" in said + found.stdout:
                wrong.append((kind, command[0], "password", said + found.stdout))
    assert not wrong
    assert set(before) | {tmp_path / "seeds.txt", tmp_path / "moving" / "lycosa.lock"} >= {
        path for path in tmp_path.rglob("*") if not path.name.startswith("crawl.sqlite-")
    }


def one_sentence(said: str) -> bool:
    return said.startswith("lycosa: ") and said.endswith(".\n") and said.count("\n") == 1
