import struct
from typing import Any

from lycosa.simweb.names import GROUPS, Names, address
from lycosa.simweb.rules import HOME
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World


def query(host: str, kind: int = 1, number: int = 0x1234) -> bytes:
    labels = b"".join(bytes([len(p)]) + p.encode() for p in host.split("."))
    return (
        struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0)
        + labels
        + struct.pack(">BHH", 0, kind, 1)
    )


def names(*kinds: str, **more: Any) -> Names:
    spec = WorldSpec(domains=200, https=0.5, **more)
    return Names(World(spec.only(*kinds)), 16)


def test_an_address_with_its_time_to_live() -> None:
    answers = names()
    failure, expected = answers.lookup("d000003.test")
    reply = answers.answer(query("D000003.Test"))
    assert reply and not failure
    assert reply[:2] == b"\x12\x34" and reply[2] & 0x80 and reply[3] & 15 == 0
    assert b"\x07D000003\x04Test" in reply  # the question as it was asked
    assert struct.unpack(">HHHIH", reply[-16:-4]) == (0xC00C, 1, 1, 300, 4)
    assert ".".join(map(str, reply[-4:])) == expected


def test_no_data_for_other_types_and_no_such_name() -> None:
    answers = names()
    reply = answers.answer(query("d000003.test", kind=28))
    assert reply and reply[3] & 15 == 0 and reply[6:8] == b"\0\0"
    for host in ("d000200.test", "x.d000003.test", "example.org", "d00003.test"):
        reply = answers.answer(query(host))
        assert reply and reply[3] & 15 == 3


def test_faults() -> None:
    dead, failing = names("nxdomain"), names("servfail")
    assert dead.lookup("d000001.test") == ("nxdomain", "")
    reply = failing.answer(query("d000001.test"))
    assert reply and reply[3] & 15 == 2
    assert names("refused").lookup("d000001.test")[1].startswith(f"127.{GROUPS['closed']}.")
    assert names("tls-broken").lookup("d000001.test")[1].startswith(f"127.{GROUPS['broken']}.")


def test_https_domains_and_http_domains_live_apart_and_spread() -> None:
    answers = names()
    found = {answers.lookup(f"d{index:06d}.test")[1] for index in range(200)}
    assert {ip.split(".")[1] for ip in found} == {"10", "20"}
    assert len(found) > 20
    assert answers.lookup(HOME)[1].startswith("127.20.")


def test_hostile_names_only_if_asked_for() -> None:
    assert names().lookup("hostile-drip.test")[0] == "nxdomain"
    assert names(hostile=True).lookup("hostile-drip.test")[1]
    assert names(hostile=True).answer(query("hostile-dns-silent.test")) is None


def test_rubbish_is_not_answered() -> None:
    answers = names()
    for packet in (b"", b"x", bytes(12), query("d000003.test")[:-2], bytes([255] * 40)):
        assert answers.answer(packet) is None


def test_addresses_are_all_different() -> None:
    assert len({address(group, n) for group in GROUPS for n in range(1000)}) == 4000
    assert address("full", 249) == "127.10.0.250" and address("full", 250) == "127.10.1.1"
