"""What replies come to: well formed or not, of any type and size, with both kinds of inbox."""

from __future__ import annotations

import os

import pytest

from lycosa.fetch import libcurl, receive, transfer
from lycosa.fetch.fetcher import FetchLimits
from lycosa.fetch.transfer import final_head, status_of, wants_body
from lycosa.records import Failure, Kind, Truncated
from support.http_server import HttpServer, reply, say, say_and_reset, say_for_ever
from support.loop import Loop, verdict
from support.malformed import HEAD, MALFORMED


@pytest.fixture(autouse=True, params=["compiled", "plain"])
def kind_of_inbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = receive
    if request.param == "compiled":
        kind = pytest.importorskip(
            "lycosa.fetch._receive", reason="needs a C compiler when lycosa is installed"
        )
    monkeypatch.setattr(transfer, "Inbox", kind.Inbox)
    monkeypatch.setattr(libcurl, "Quota", kind.Quota)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_replies(loop: Loop, server: HttpServer, name: str) -> None:
    data, failure, truncated, status, body = MALFORMED[name]
    server.paths["/m"] = say(data)
    response = loop.get(loop.fetcher(), loop.request(server.port, "/m"))
    assert verdict(response) == (failure, truncated, status)
    assert response.body == body
    assert response.head.startswith(b"HTTP") == (not failure) or name == "lower case"


def test_endless_100s_are_bounded(loop: Loop, server: HttpServer) -> None:
    server.paths["/m"] = say_for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
    response = loop.get(loop.fetcher(), loop.request(server.port, "/m"))
    assert response.failure == Failure.PROTOCOL


def test_only_the_final_header_block_is_kept_and_no_trailers(
    loop: Loop, server: HttpServer
) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nContent-Type: image/png\r\n\r\n"
    final = HEAD + b"Transfer-Encoding: chunked\r\nTrailer: Content-Type\r\n\r\n"
    server.paths["/t"] = say(
        early + final + b"2\r\nhi\r\n0\r\nContent-Type: image/gif\r\nX-Late: 1\r\n\r\n"
    )
    response = loop.get(loop.fetcher(), loop.request(server.port, "/t"))
    assert (response.head, response.body) == (final, b"hi")


def test_resets(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    server.paths["/r0"] = say_and_reset(b"")
    server.paths["/r1"] = say_and_reset(HEAD)
    assert loop.get(fetcher, loop.request(server.port, "/r0")).failure == Failure.RESET
    assert loop.get(fetcher, loop.request(server.port, "/r1")).failure == Failure.RESET


# Types and sizes.


def test_types_that_are_not_text_are_not_downloaded(loop: Loop, server: HttpServer) -> None:
    fetcher = loop.fetcher()
    for path, kind, wanted in (
        ("/a", "text/html; charset=x", True),
        ("/b", "TEXT/Plain", True),
        ("/c", "application/xhtml+xml", True),
        ("/d", "application/rss+xml", True),
        ("/e", "application/xml", True),
        ("/f", "image/png", False),
        ("/g", "application/octet-stream", False),
        ("/h", "application/json", False),
        ("/i", "application/pdf", False),
    ):
        server.paths[path] = say_for_ever(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 6000000\r\n\r\n".encode(),
            b"x" * 65536,
        )
        response = loop.get(fetcher, loop.request(server.port, path))
        assert verdict(response) == ("", Truncated.LENGTH if wanted else Truncated.TYPE, 200)
        assert len(response.body) == (5 * 1024 * 1024 if wanted else 0)
        assert kind.encode() in response.head
    sitemap = loop.request(server.port, "/g", kind=Kind.SITEMAP)
    assert len(loop.get(fetcher, sitemap).body) == 5 * 1024 * 1024


def test_without_a_type_the_first_bytes_decide() -> None:
    bare = b"HTTP/1.1 200 OK\r\n\r\n"
    assert wants_body(bare, b"<html>") and not wants_body(bare, b"\x89PNG\r\n\x1a\n\0\0\0\r")
    assert wants_body(bare, b"\xff\xfeh\0t\0m\0l\0")  # UTF-16
    assert wants_body(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"\x1f\x8b\x08\0\0")
    assert wants_body(b"HTTP/1.1 200 OK\r\nContent-Type: html\r\n\r\n", b"hi")
    assert wants_body(b"HTTP/1.1 200 OK\r\nContent-Type:\r\n\r\n", b"hi")
    assert not wants_body(b"HTTP/1.1 200 OK\nCONTENT-TYPE:image/x\n\n", b"hi")


@pytest.mark.parametrize("size", [999, 1000, 1001, 50_000])
def test_a_body_is_cut_at_its_limit(loop: Loop, server: HttpServer, size: int) -> None:
    body = os.urandom(size).replace(b"\0", b"1")
    server.paths["/s"] = say(reply(body))
    fetcher = loop.fetcher(FetchLimits(body=1000, robots_body=20))
    response = loop.get(fetcher, loop.request(server.port, "/s"))
    assert response.body == body[:1000]
    assert verdict(response) == ("", Truncated.LENGTH if size > 1000 else "", 200)
    robots = loop.get(fetcher, loop.request(server.port, "/s", kind=Kind.ROBOTS))
    assert robots.body == body[:20] and robots.truncated == Truncated.LENGTH


def test_robots_default_limit(loop: Loop, server: HttpServer) -> None:
    server.paths["/robots.txt"] = say_for_ever(HEAD + b"\r\n", b"# comment\n" * 1000)
    response = loop.get(loop.fetcher(), loop.request(server.port, "/robots.txt", kind=Kind.ROBOTS))
    assert len(response.body) == 500 * 1024
    assert verdict(response) == ("", Truncated.LENGTH, 200)


def test_redirects_are_not_read_to_their_end(loop: Loop, server: HttpServer) -> None:
    moved = b"HTTP/1.1 301 Moved\r\nLocation: /there\r\n"
    server.paths["/long"] = say_for_ever(moved + b"\r\n", b"x" * 4096)
    server.paths["/short"] = say(moved + b"Content-Length: 5\r\n\r\nmoved", stay=True)
    fetcher = loop.fetcher()
    response = loop.get(fetcher, loop.request(server.port, "/long"))
    assert verdict(response) == ("", Truncated.LENGTH, 301)
    assert len(response.body) == 16 * 1024 and response.header(b"location") == "/there"
    first = loop.get(fetcher, loop.request(server.port, "/short", keep_alive=True))
    second = loop.get(fetcher, loop.request(server.port, "/"))
    assert (first.status, first.body, first.connects) == (301, b"moved", 1)
    assert (second.status, second.connects) == (200, 0)


def test_bodies_under_way_are_bounded_together(loop: Loop, server: HttpServer) -> None:
    server.paths["/big"] = say_for_ever(HEAD + b"\r\n", b"x" * 65536)
    fetcher = loop.fetcher(FetchLimits(buffered=100_000))
    response = loop.get(fetcher, loop.request(server.port, "/big"))
    # It is the one that holds too much: it ends at the limit, or a moment before by its share.
    assert (response.failure, response.status) == ("", 200)
    assert response.truncated in (Truncated.LENGTH, Truncated.TIME)
    response = loop.get(fetcher, loop.request(server.port, "/big", kind=Kind.ROBOTS))
    assert verdict(response) == (Failure.MEMORY, "", 0), "half a robots.txt is none"
    server.paths["/small"] = say(reply(b"x" * 30_000))
    fetcher = loop.fetcher(FetchLimits(buffered=20_000))
    response = loop.get(fetcher, loop.request(server.port, "/small"))
    assert verdict(response) == (Failure.MEMORY, "", 0)


# The pure parts.


def test_header_blocks() -> None:
    ok = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    early = b"HTTP/1.1 103 Early\r\n\r\n"
    assert final_head(ok) == (ok, 0)
    assert final_head(early * 3 + ok + b"X: y\r\n\r\n") == (ok, 3)
    assert final_head(ok + b"X: y\r\n\r\n") == (ok, 0)
    assert final_head(ok[:-2]) == (b"", 0) and final_head(b"") == (b"", 0)
    assert final_head(early) == (b"", 1) and final_head(early + ok[:-2]) == (b"", 1)
    switching = b"HTTP/1.1 101 Switching\n\n"
    assert final_head(switching + ok) == (switching, 0)
    odd = b"HTTP/1.1 200 OK\n\rX: y\n"
    assert final_head(odd + b"Z: z\n") == (odd, 0)


def test_status_lines() -> None:
    cases = {b"HTTP/1.1 200 OK": 200, b"HTTP/1.1  404": 404, b"HTTP/1.1": 0, b"HTTP/1.1 abc": 0}
    assert {line: status_of(line) for line in cases} == cases
