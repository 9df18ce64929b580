"""Requests spread over several multi handles: evenly, and each host's in one of them."""

from __future__ import annotations

import os

from lycosa.fetch.handles import SHARE, Multis
from lycosa.records import Failure
from support.http_server import HttpServer, say, say_and_wait
from support.loop import Loop, verdict
from support.malformed import OK

PARTS = 4
CAPACITY = PARTS * SHARE


def parts_of(multis: Multis) -> list[int]:
    """How many requests are in flight in each."""
    return [len(part.multi._easies) for part in multis._parts]


def test_no_handle_gets_many(loop: Loop, server: HttpServer) -> None:
    server.paths["/"] = say_and_wait(b"HTTP/1.1 200 OK\r\n")
    fetcher = loop.fetcher(capacity=CAPACITY)
    open_files = len(os.listdir("/proc/self/fd"))
    requests = [loop.request(server.port, host=f"h{n}.localhost") for n in range(400)]
    for request in requests:
        fetcher.start(request)
    spread = parts_of(fetcher._multis)
    assert len(spread) == PARTS
    assert sum(spread) == 400
    assert max(spread) < 400 / PARTS * 1.6, spread  # 7 standard deviations
    loop.until(lambda: len(server.requests) == 400)
    fetcher.cancel_all()
    assert parts_of(fetcher._multis) == [0] * PARTS
    assert {response.failure for response in fetcher.take(1000)} == {Failure.STOPPED}
    loop.until(lambda: len(os.listdir("/proc/self/fd")) <= open_files)


def test_one_host_keeps_its_connection(loop: Loop, server: HttpServer) -> None:
    server.paths["/"] = say(OK, stay=True)
    fetcher = loop.fetcher(capacity=CAPACITY)
    for number in range(20):
        for connects, keep in ((1, True), (0, False)):
            host = f"h{number}.localhost"
            response = loop.get(fetcher, loop.request(server.port, host=host, keep_alive=keep))
            assert verdict(response) == ("", "", 200)
            assert response.connects == connects


def test_small_crawls_have_one(loop: Loop) -> None:
    assert len(parts_of(loop.fetcher(capacity=1)._multis)) == 1
    assert len(parts_of(loop.fetcher(capacity=SHARE)._multis)) == 1
    assert len(parts_of(loop.fetcher(capacity=20_000)._multis)) == 79
