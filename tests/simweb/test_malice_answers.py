"""Random hostile hosts: the same for a seed, and of many kinds."""

from __future__ import annotations

from collections import Counter

from lycosa.simweb import malice
from lycosa.simweb.names import Names
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World


def test_a_seed_is_a_web() -> None:
    for number in range(40):
        one, two = malice.respond(3, number, "/"), malice.respond(3, number, "/")
        assert (one.data, one.status, one.reset) == (two.data, two.status, two.reset)
    drawn = {malice.respond(seed, 0, "/").data for seed in range(20)}
    assert len(drawn) > 15


def test_they_differ_in_everything() -> None:
    answers = [malice.respond(1, number, "/") for number in range(150)]
    assert len({each.status for each in answers}) > 5
    assert any(each.stream for each in answers) and any(each.reset for each in answers)
    heads = b"\n".join(each.data.partition(b"\r\n\r\n")[0] for each in answers).lower()
    for name in (b"content-encoding: gzip", b"transfer-encoding: chunked", b"charset="):
        assert name in heads
    assert max(len(each.data.partition(b"\r\n\r\n")[0]) for each in answers) > 20_000
    groups = Counter(malice.resolve(1, number) for number in range(2000))
    assert set(groups) == {"http", "silent", "nxdomain", "servfail", "garbled", "closed", "broken"}
    assert groups["http"] > 1600


def test_names_are_theirs_alone() -> None:
    world = World(WorldSpec(domains=2, malice=3))
    assert world.seeds()[-3:] == ["malice-00000.test", "malice-00001.test", "malice-00002.test"]
    assert malice.number_of("malice-00003.test", 3) == -1
    assert malice.number_of("malice-1.test", 3) == -1
    assert malice.number_of("d000001.test", 3) == -1
    assert world.allowed("http://malice-00001.test/x") is None


def test_garbled_replies_are_wrong_and_stay_so() -> None:
    spec = WorldSpec(domains=1, malice=2000)
    names = Names(World(spec), 8)
    bad = next(n for n in range(2000) if malice.resolve(spec.seed, n) == "garbled")
    name = malice.domains(bad + 1)[bad]
    wire = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"
    query = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + wire + b"\0\1\0\1"
    first = names.answer(query)
    assert first is not None and first[:2] == b"\x12\x34" and first == names.answer(query)
