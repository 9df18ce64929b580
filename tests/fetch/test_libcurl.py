"""The binding to libcurl: who is freed when, and what it refuses."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from lycosa.fetch import libcurl


class Deaf:
    """A receiver that wants nothing."""

    def on_connected(self, peer: str) -> bool:
        return True

    def on_body(self, first: bytes) -> int:
        return 0


class Line:
    """A Multi that notes what it is told."""

    def __init__(self) -> None:
        self.sockets: list[tuple[int, int]] = []
        self.timers: list[int] = []
        self.multi = libcurl.Multi(lambda *what: self.sockets.append(what), self.timers.append, 16)

    def easy(self) -> libcurl.Easy:
        made = libcurl.Easy(
            "owner", libcurl.Inbox(Deaf(), libcurl.Quota(1)), libcurl.Headers(["A: b"])
        )
        made.aim("http://a.test/", "/", "::127.0.0.1:9", keep=False)
        return made


def test_a_request_that_fails_is_handed_out_once() -> None:
    line = Line()
    easy = line.easy()
    line.multi.add(easy)
    for _ in range(1000):
        line.multi.act(libcurl.TIMEOUT, 0)
        for fd, _ in line.sockets:
            line.multi.act(fd, libcurl.SELECT_OUT)
        if ended := line.multi.complete():
            break
    assert ended == [("owner", libcurl.Code.CONNECT)] and line.multi.complete() == []
    assert easy.os_error() == 111
    easy.close()
    line.multi.close()


def test_a_handle_may_outlive_its_multi_and_the_other_way_round() -> None:
    # In a process of its own: what went wrong here ended it.
    code = """
import gc
from test_libcurl import Line
for order in range(3):
    line = Line()
    easies = [line.easy() for _ in range(3)]
    for easy in easies:
        line.multi.add(easy)
    line.multi.act(-1, 0)
    if order == 0:
        del line
        for easy in easies:
            easy.close()
    elif order == 1:
        line.multi.close()
        line.multi.close()
    else:
        del line, easies, easy
        gc.collect()
print("done")
"""
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=here
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_what_can_not_be_asked_for() -> None:
    line = Line()
    easy = line.easy()
    with pytest.raises(UnicodeError):
        easy.aim("http://é.test/", "/", "::127.0.0.1:9", keep=False)
    with pytest.raises(UnicodeError):
        easy.aim("http://a.test/", "/", "::é:9", keep=False)
    with pytest.raises(libcurl.CurlError):
        easy.set(libcurl.PROTOCOLS, "none such")
    easy.set(libcurl.CAINFO, "/é")  # a path may be anything
    line.multi.add(easy)
    with pytest.raises(libcurl.CurlError):
        line.multi.add(easy)
    line.multi.remove(easy)
    del easy
    gc.collect()
    line.multi.close()


def test_it_imitates_nobody() -> None:
    code = "import os; from lycosa.fetch import libcurl; print(os.environ.get('CURL_IMPERSONATE'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CURL_IMPERSONATE": "chrome"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "None\n", done.stderr
    assert "BoringSSL" in libcurl.version()
