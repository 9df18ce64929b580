"""Each hostile host does what its name says, over real sockets."""

import gzip
import socket
import time
from collections.abc import Iterator
from io import BytesIO

import pytest

from lycosa.simweb import SimWeb, WorldSpec
from lycosa.simweb.hostile import ALL, BOMB_BYTES, domains
from lycosa.simweb.names import Names


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    spec = WorldSpec(domains=1, https=0, hostile=True)
    with SimWeb(spec, tmp_path_factory.mktemp("hostile"), addresses=1) as running:
        yield running


def fetch(
    web: SimWeb, name: str, path: str = "/", *, limit: int = 10 << 20, seconds: float = 5.0
) -> bytes:
    """What comes within the limits of bytes and seconds."""
    host = f"hostile-{name}.test"
    _, ip = Names(web.world, 1).lookup(host)
    data, deadline = bytearray(), time.monotonic() + seconds
    with socket.create_connection((ip, web.http_port), timeout=seconds) as sock:
        sock.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n\r\n".encode()
        )
        try:
            while len(data) < limit and time.monotonic() < deadline:
                piece = sock.recv(1 << 20)
                if not piece:
                    break
                data += piece
        except TimeoutError:
            pass
    return bytes(data)


def body(data: bytes) -> bytes:
    return data.partition(b"\r\n\r\n")[2]


def test_all_are_seeds_and_none_is_in_a_friendly_world(web: SimWeb) -> None:
    assert set(domains()) <= set(web.seeds())
    assert len(domains()) == len(ALL) >= 25
    assert len(SimWeb(WorldSpec(domains=1), "unused").seeds()) == 1


@pytest.mark.parametrize("name", ["endless-body", "endless-headers"])
def test_endless(web: SimWeb, name: str) -> None:
    assert len(fetch(web, name, limit=8 << 20)) >= 8 << 20


def test_gzip_bomb(web: SimWeb) -> None:
    data = body(fetch(web, "gzip-bomb"))
    assert len(data) < 2 << 20
    assert int.from_bytes(data[-4:], "little") == BOMB_BYTES
    with gzip.open(BytesIO(data)) as stream:
        assert stream.read(1 << 20) == bytes(1 << 20)


def test_drip_sends_a_byte_a_second(web: SimWeb) -> None:
    assert len(body(fetch(web, "drip", seconds=1.2))) <= 3


def test_hang_sends_nothing(web: SimWeb) -> None:
    assert fetch(web, "hang", seconds=0.2) == b""
    assert fetch(web, "robots-hang", "/robots.txt", seconds=0.2) == b""


def test_reset(web: SimWeb) -> None:
    with pytest.raises(ConnectionResetError):
        fetch(web, "reset")


def test_redirects(web: SimWeb) -> None:
    assert f"Location: http://127.0.0.1:{web.http_port}/".encode() in fetch(
        web, "redirect-loopback"
    )
    assert b"Location: http://169.254.169.254/latest/" in fetch(web, "redirect-metadata")
    assert b"Location: /b\r" in fetch(web, "redirect-loop", "/a")
    assert b"Location: /a\r" in fetch(web, "redirect-loop", "/b")
    assert b"Location: /step/8\r" in fetch(web, "redirect-endless", "/step/7")
    assert b"Location: /robots.txt\r" in fetch(web, "robots-loop", "/robots.txt")


def test_the_loopback_redirect_leads_to_a_place_that_is_logged(web: SimWeb) -> None:
    with socket.create_connection(("127.0.0.1", web.http_port), timeout=5) as sock:
        sock.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{web.http_port}\r\n\r\n".encode())
        assert sock.recv(100).startswith(b"HTTP/1.1 404")
    assert any(entry.domain == "127.0.0.1" for entry in web.log())


@pytest.mark.parametrize(
    ("name", "what", "count"),
    [
        ("deep-nesting", b"<div>", 600_000),
        ("font-nesting", b"<font><p>", 5_000),
        ("attributes", b"=1", 50_000),
        ("many-links", b"<a href", 200_000),
    ],
)
def test_large_pages(web: SimWeb, name: str, what: bytes, count: int) -> None:
    assert gzip.decompress(body(fetch(web, name))).count(what) == count


def test_calendar_and_paths_never_end(web: SimWeb) -> None:
    assert b'href="/2025/01"' in fetch(web, "calendar", "/2024/12")
    assert b'href="/99999/02"' in fetch(web, "calendar", "/99999/01")
    assert b'href="again/"' in fetch(web, "endless-path", "/again/again/")


def test_large_robots_txt(web: SimWeb) -> None:
    data = fetch(web, "robots-100mb", "/robots.txt", limit=3 << 20)
    assert b"Content-Length: 100000000\r" in data[:500] and len(data) >= 3 << 20


def test_malformed_answers(web: SimWeb) -> None:
    assert fetch(web, "header-flood").count(b"X-Flood") == 100_000
    assert fetch(web, "status-101", seconds=0.2).startswith(b"HTTP/1.1 101 ")
    assert b"\r\nzz\r\n" in fetch(web, "bad-chunks")
    assert b"\r\n\r\n" not in fetch(web, "half-headers")
    assert b"\r\n\r\n" not in fetch(web, "slow-headers", seconds=0.2)
    assert not fetch(web, "not-http").startswith(b"HTTP")
