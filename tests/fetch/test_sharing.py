"""Memory for bodies: who has to give it back, in theory and over real sockets."""

from __future__ import annotations

import random
from functools import partial

import pytest

from lycosa.engine.open_files import Files
from lycosa.fetch.fetcher import Fetcher, FetchLimits
from lycosa.fetch.sharing import FULL, SHORT, STALLED, Sharing
from lycosa.records import Failure, Request, Truncated
from support.http_server import HttpServer, reply, say, say_and_wait
from support.loop import Loop

MB = 1 << 20


def has_ended(fetcher: Fetcher, request: Request) -> bool:
    return any(response.request is request for response in fetcher.finished)


def sharing(limit: int = 100 * MB) -> Sharing:
    return Sharing(limit)


def test_nobody_is_cut_off_while_there_is_room() -> None:
    share = sharing()
    for second in range(100):
        assert share.to_cut([(1, 40 * MB), (2, 10 * MB)], float(second)) == []


def test_stalled_transfers_give_back_what_they_hold_the_largest_first() -> None:
    share = sharing()
    sizes = [(1, 20 * MB), (2, 30 * MB), (3, 25 * MB), (4, MB)]
    assert share.to_cut(sizes, 0.0) == []
    assert share.to_cut(sizes, STALLED - 0.1) == []
    assert share.to_cut(sizes, STALLED) == [2], "one is enough"


def test_those_that_move_are_left_alone_until_it_is_nearly_full() -> None:
    share = sharing()
    for step in range(20):
        moving = [(key, (10 + step) * MB // 2) for key in range(5)]
        assert share.to_cut(moving, step * 0.5) == []
    assert sum(size for _, size in moving) > SHORT * share.limit


def test_near_the_end_the_largest_and_slowest_go_first() -> None:
    share = sharing()
    share.to_cut([(1, 0), (2, 0), (3, 0), (4, 0)], 0.0)
    share.to_cut([(1, 29 * MB), (2, 29 * MB), (3, 29 * MB), (4, 10)], 0.1)
    assert share.to_cut([(1, 30 * MB), (2, 29 * MB + 1), (3, 29 * MB + 2), (4, 20)], 1.0) == [1]
    assert 4 not in share.to_cut([(n, 24 * MB) for n in range(10, 14)] + [(4, 30)], 1.1)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_they_do_the_limit_is_kept_and_small_ones_are_spared(seed: int) -> None:
    """Any mix of holders, drips and floods; each may add at most a fifteenth between looks."""
    draw = random.Random(seed)
    limit = 100 * MB
    share = Sharing(limit)
    sizes = dict.fromkeys(range(draw.choice((3, 50, 400))), 0)
    small = max(sizes)
    speed = {number: draw.choice((0, 10, 1000, MB, 5 * MB)) for number in sizes}
    stop = {number: draw.choice((10_000, 5 * MB)) for number in sizes}
    speed[small], stop[small] = 100, 2_000
    for step in range(200):
        budget = limit // 15
        for number in draw.sample(sorted(sizes), len(sizes)):
            grow = min(speed[number], stop[number] - sizes[number], budget)
            sizes[number] += grow
            budget -= grow
        cut = share.to_cut(sizes.items(), step * 0.25)
        assert small not in cut
        for number in cut:
            sizes[number] = 0
        assert sum(sizes.values()) <= FULL * limit
        if step > 20 and not any(speed.values()):
            assert sum(sizes.values()) <= SHORT * limit


@pytest.mark.parametrize("holders", [30, 60])
def test_hosts_that_send_much_and_hold_do_not_stop_the_others(
    loop: Loop, server: HttpServer, holders: int
) -> None:
    limits = FetchLimits(body=200_000, buffered=holders * 190_000 // 4)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 200000\r\n\r\n"
    server.paths["/hold"] = say_and_wait(head + b"x" * 190_000)
    server.paths["/good"] = say(reply(b"<p>good</p>" * 1000))
    fetcher = loop.fetcher(limits)
    good = 0
    for step in range(60):
        if step % (60 // holders) == 0:  # no more at once than there is room for in a turn
            fetcher.start(loop.request(server.port, "/hold"))
        request = loop.request(server.port, "/good")
        fetcher.start(request)
        loop.until(partial(has_ended, fetcher, request))
        for response in fetcher.take(100):
            if response.request is request:
                good += response.failure == Failure.NONE and response.truncated == Truncated.NO
            else:
                # Cut short and kept as far as it came; at its very beginning: tried again later.
                cut = response.failure == "" and len(response.body) >= 64 << 10
                assert (cut and response.truncated) or response.failure == Failure.MEMORY
        loop.clock.ahead += 0.1
    assert good == 60
    assert fetcher.buffered <= FULL * limits.buffered
    assert fetcher.pressed > 0, "and it can be told why"
    fetcher.cancel_all()
    assert fetcher.buffered == 0


def test_open_files_and_memory_are_different_shortages() -> None:
    assert Failure.MEMORY in Failure.OURS and Failure.MEMORY != Failure.LOCAL


def test_concurrency_falls_when_files_are_short_and_comes_back() -> None:
    files = Files(100)
    assert not files.is_short and files.short(100) == 90 and files.is_short
    assert files.short(95) == 90, "those under way fail for the same reason"
    assert files.short(80) == 81
    for _ in range(19):
        files.recover()
    assert files.now == 100 and not files.is_short
    assert Files(3).short(3) == 3, "never below what can be of use"
