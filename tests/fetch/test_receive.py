"""Both kinds of inbox, fed by the functions that libcurl calls: they take and refuse the same."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import weakref
from typing import Any

import pytest

from lycosa.fetch import libcurl, receive
from lycosa.fetch.libcurl import ffi

_inbox = pytest.importorskip(
    "lycosa.fetch._receive", reason="needs a C compiler when lycosa is installed"
)

FIRST_SEED = int(os.environ.get("LYCOSA_SEED", "1"))


class Asked:
    """A receiver with its answers prepared."""

    def __init__(self, limit: int, peer: str = "") -> None:
        self.limit = limit
        self.peer = peer
        self.firsts: list[bytes] = []

    def on_connected(self, peer: str) -> bool:
        return peer == self.peer

    def on_body(self, first: bytes) -> int:
        self.firsts.append(first)
        return self.limit


class Wired:
    """An inbox and its functions, called as libcurl does."""

    def __init__(self, kind: Any, receiver: Asked, quota: Any) -> None:
        self.inbox = kind.Inbox(receiver, quota)
        header, body, connected, self.me = libcurl._wires(self.inbox)
        piece = "size_t(*)(void *, size_t, size_t, void *)"
        self._header, self._body = ffi.cast(piece, header), ffi.cast(piece, body)
        self._connected = ffi.cast("int(*)(void *, char *, char *, int, int)", connected)

    def header(self, line: bytes) -> bool:
        return bool(self._header(ffi.from_buffer(line), 1, len(line), self.me) == len(line))

    def body(self, piece: bytes) -> bool:
        return bool(self._body(ffi.from_buffer(piece), 1, len(piece), self.me) == len(piece))

    def connected(self, peer: bytes) -> bool:
        return not self._connected(self.me, ffi.new("char[]", peer), ffi.NULL, 1, 2)

    def holds(self) -> tuple[object, ...]:
        box = self.inbox
        return box.heard, box.size, box.cut, box.refused, box.head(), box.body()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 200))
def test_both_do_the_same(seed: int) -> None:
    chance = random.Random(seed)
    limit, shared = chance.choice([0, 1, 1000, 70_000]), chance.choice([0, 500, 10**6])
    receivers = [Asked(limit), Asked(limit)]
    quotas = [_inbox.Quota(shared), receive.Quota(shared)]
    wired = [Wired(*each) for each in zip((_inbox, receive), receivers, quotas, strict=True)]
    for _ in range(40):
        data = chance.randbytes(chance.choice([1, 2, 30, 700, 20_000, 200_000]))
        doing = chance.choice(["header", "body", "body", "empty"])
        if doing == "empty":
            for each in wired:
                each.inbox.empty()
        else:
            one, other = (getattr(each, doing)(data) for each in wired)
            assert one == other
        one, other = (each.holds() for each in wired)
        assert one == other
        assert quotas[0].used == quotas[1].used == wired[0].inbox.size
    assert receivers[0].firsts == receivers[1].firsts


@pytest.mark.parametrize("kind", [_inbox, receive])
def test_the_quota_is_shared_and_given_back(kind: Any) -> None:
    quota = kind.Quota(100)
    wired = [Wired(kind, Asked(1000), quota) for _ in range(2)]
    assert wired[0].body(b"x" * 60) and not wired[1].body(b"y" * 60)
    assert (wired[0].inbox.refused, wired[1].inbox.refused, quota.used) == (False, True, 120)
    wired[0].inbox.empty()
    wired[1].inbox.empty()
    assert quota.used == 0 and wired[1].body(b"y" * 60)


@pytest.mark.parametrize("kind", [_inbox, receive])
def test_a_connection_is_asked_for(kind: Any) -> None:
    wired = Wired(kind, Asked(0, "127.0.0.1"), kind.Quota(1))
    assert wired.connected(b"127.0.0.1") and not wired.connected(b"127.0.0.2")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [_inbox, receive])
def test_an_exception_ends_the_transfer(kind: Any) -> None:
    wired = Wired(kind, Asked("none"), kind.Quota(1000))  # type: ignore[arg-type]
    assert not wired.body(b"x") and not wired.connected(b"\xff")
    assert wired.inbox.size == 0


def test_a_compiled_inbox_and_its_receiver_are_collected() -> None:
    receiver = Asked(1)
    receiver.box = _inbox.Inbox(receiver, _inbox.Quota(1))  # type: ignore[attr-defined]
    gone = weakref.ref(receiver)
    del receiver
    gc.collect()
    assert gone() is None


def test_without_the_compiled_one_the_other_is_used() -> None:
    code = (
        "import sys; sys.modules['lycosa.fetch._receive'] = None\n"
        "from lycosa.fetch import libcurl; print(libcurl.Inbox)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "<class 'lycosa.fetch.receive.Inbox'>\n", done.stderr
