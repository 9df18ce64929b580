"""Name servers that answer badly for some names: those fail, and nobody else does."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from lycosa.fetch.dns import Answer
from lycosa.records import Failure
from support.dns_server import SERVFAIL
from support.loop import Lookups

Packets = list[bytes]


def flipped(dice: random.Random, reply: bytes) -> bytes:
    """Some bytes behind the id changed."""
    data = bytearray(reply)
    for _ in range(dice.randrange(1, 8)):
        data[dice.randrange(2, len(data))] = dice.randrange(256)
    return bytes(data)


def looped(_: random.Random, reply: bytes) -> bytes:
    """The owner of the answer is a pointer to itself."""
    at = len(reply) - 16
    return reply[:at] + struct.pack(">H", 0xC000 | at) + reply[at + 2 :]


# What a name server may send for a name instead of an answer: the reply in, packets out.
MALICE: dict[str, Callable[[random.Random, bytes], Packets]] = {
    "nothing": lambda _, reply: [b""],
    "one byte": lambda _, reply: [b"x"],
    "noise": lambda dice, reply: [dice.randbytes(dice.randrange(1, 600))],
    "id and noise": lambda dice, reply: [reply[:2] + dice.randbytes(dice.randrange(0, 300))],
    "cut": lambda dice, reply: [reply[: dice.randrange(3, len(reply))]],
    "flipped": lambda dice, reply: [flipped(dice, reply)],
    "long record": lambda _, reply: [reply[:-6] + b"\xff\xff" + reply[-4:]],
    "many records": lambda _, reply: [reply[:6] + b"\xff\xff" + reply[8:]],
    "looped name": lambda dice, reply: [looped(dice, reply)],
    "wrong id": lambda _, reply: [bytes([reply[0] ^ 255]) + reply[1:]],
    "other question": lambda _, reply: [reply[:13] + b"zz" + reply[15:]],
    "a question": lambda _, reply: [reply[:2] + b"\x01\x00" + reply[4:]],
    "three at once": lambda dice, reply: [b"x", reply[:20], dice.randbytes(50)],
    "format error": lambda _, reply: [reply[:3] + b"\x81" + reply[4:12]],
    "cut, to come by tcp": lambda _, reply: [reply[:2] + b"\x83\x80" + reply[4:]],
}
# The same over TCP, where a connection is shared.
STREAMS: dict[str, Callable[[random.Random, bytes], Packets]] = {
    "closed": lambda _, framed: [],
    "half a length": lambda _, framed: [framed[:1]],
    "half a reply": lambda _, framed: [framed[: len(framed) // 2]],
    "noise": lambda dice, framed: [b"\0\x20" + dice.randbytes(32)],
    "no reply in it": lambda _, framed: [b"\0\0"],
}


class Bench(Lookups):
    """Asks one resolver for many names at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.resolver(timeout=3.0)
        self.got: dict[str, Answer] = {}

    def ask(self, host: str) -> None:
        def note(answer: Answer) -> None:
            assert host not in self.got, "answered twice"
            self.got[host] = answer

        self.asked.resolve(host, note)

    def until_all(self, count: int) -> None:
        self.until(lambda: len(self.got) == count, seconds=40.0)

    def for_a_while(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def innocents(
    bench: Bench, dice: random.Random, count: int = 50, truncate: bool = False
) -> list[str]:
    names = [f"good{n}.test" for n in range(count)]
    for n, name in enumerate(names):
        bench.server.add(
            name, f"192.0.2.{n}", delay=dice.choice((0.0, 0.01, 0.1, 0.2)), truncate=truncate
        )
    return names


def check(bench: Bench, dice: random.Random, good: list[str], bad: list[str]) -> None:
    """Asks for all of them at once; the good ones are answered."""
    everyone = good + bad
    dice.shuffle(everyone)
    for name in everyone:
        bench.ask(name)
    bench.until_all(len(everyone))
    failed = {name: bench.got[name].failure for name in good if bench.got[name].failure}
    assert failed == {}
    assert bench.asked.pending == 0


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


@pytest.mark.parametrize("kind", MALICE)
@pytest.mark.parametrize("seed", SEEDS)
def test_bad_replies_for_some_names_cost_nobody_else(bench: Bench, kind: str, seed: int) -> None:
    dice = random.Random(f"{kind} {seed}")
    good = innocents(bench, dice)
    bad = [f"bad{n}.test" for n in range(dice.choice((1, 3, 8)))]
    make = MALICE[kind]
    for name in bad:
        bench.server.add(name, "192.0.2.200", mangle=partial(make, dice))
    check(bench, dice, good, bad)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_bad_streams_cost_nobody_else(bench: Bench, kind: str, seed: int) -> None:
    dice = random.Random(f"{kind} {seed}")
    good = innocents(bench, dice, 25, truncate=True)
    bad = [f"bad{n}.test" for n in range(dice.choice((1, 3)))]
    make = STREAMS[kind]
    for name in bad:
        stream = partial(make, dice)
        bench.server.add(name, "192.0.2.200", truncate=True, stream=stream)
    check(bench, dice, good, bad)
    assert {bench.got[name].failure for name in bad} == {Failure.DNS}, "their own, for good"


def test_a_stream_of_bad_names_does_not_starve_the_good_ones(bench: Bench) -> None:
    """Some bad names are asked for again and again while good ones come and go."""
    dice = random.Random(1)
    good = innocents(bench, dice, 200)
    for n in range(40):
        bench.server.add(f"bad{n}.test", "192.0.2.200", mangle=lambda reply: [b"noise"])
    waiting = [*good, *(f"bad{n}.test" for n in range(40))]
    dice.shuffle(waiting)
    while waiting:
        for name in waiting[:10]:
            bench.ask(name)
        del waiting[:10]
        bench.for_a_while(0.02)
    bench.until_all(240)
    assert {name for name in good if bench.got[name].failure} == set()
    assert {bench.got[f"bad{n}.test"].failure for n in range(40)} == {Failure.DNS}


@pytest.mark.parametrize("rcode", [SERVFAIL, 1, 4, 5, 9])
def test_what_the_server_says_of_a_name_is_its_own(bench: Bench, rcode: int) -> None:
    dice = random.Random(rcode)
    good = innocents(bench, dice)
    bench.server.add("bad.test", rcode=rcode)
    check(bench, dice, good, ["bad.test"])
    assert bench.got["bad.test"].failure == Failure.DNS


def test_a_server_that_is_gone_costs_no_name(bench: Bench) -> None:
    bench.server.close()
    for n in range(60):
        bench.ask(f"n{n}.test")
    bench.until_all(60)
    assert {answer.failure for answer in bench.got.values()} == {Failure.NAMESERVER}


def test_a_bad_name_that_recovers_is_found(bench: Bench) -> None:
    bench.server.add("bad.test", "192.0.2.7", mangle=lambda reply: [b"noise"])
    bench.ask("bad.test")
    bench.until(lambda: bench.got)
    assert bench.got.pop("bad.test").failure == Failure.DNS
    bench.server.add("bad.test", "192.0.2.7")
    again: list[Answer] = []
    bench.asked.look_up("bad.test", again.append)
    bench.until(lambda: again)
    assert again == [Answer(("192.0.2.7",))]


def test_half_a_reply_at_the_end_of_a_stream_does_not_keep_the_loop_busy(bench: Bench) -> None:
    bench.server.add("half.test", "192.0.2.1", truncate=True, stream=lambda framed: [framed[:9]])
    for _ in range(5):  # it depends on what comes together
        bench.ask("half.test")
        before = time.process_time()
        bench.until(lambda: bench.got)
        assert time.process_time() - before < 1.0, "a busy loop takes 2 s, until the name fails"
        assert bench.got.pop("half.test").failure == Failure.DNS
        bench.asked.remember("half.test", Answer(()), -1.0)
