"""Which addresses may be connected to, and which are shared by many sites."""

import ipaddress
import random

import pytest

from lycosa.fetch.addresses import CDN_RANGES, Allowed, SharedAddresses, public


def words(text: str) -> list[str]:
    return text.split()


REFUSED = words("""
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1
127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.7
192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::2 ::7f00:1 fc00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 100::1 2001:db8::1
2001::1 2001:0:53aa:64c:0:0:0:1 2001:2::1 2001:10::1 2001:20::1 3fff::1 4000::1 5f00::1
::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b:1::8.8.8.8 2002:7f00:1:: 2002:a9fe:a9fe::1
2002:c0a8:101::
""")

ALLOWED = words("""
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0
192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 168.63.129.15
168.63.129.17 2606:4700::1111 2a00:1450:4001::200e 2001:4860:4860::8888 2001:200::1
::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
""")

ODD = """
|127.1|2130706433|0x7f000001|0177.0.0.1|010.0.0.1|1.2.3|1.2.3.4.5|1.2.3.4.|1.2.3.256| 8.8.8.8
|8.8.8.8:80|[2606:4700::1111]|fe80::1%eth0|2606:4700::1111%1|example.com|:::|1.1.1.1/32|１.1.1.1
""".replace("\n", "").split("|")


@pytest.mark.parametrize("address", REFUSED)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not public(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_global_unicast_is_public(address: str) -> None:
    assert public(address)


@pytest.mark.parametrize("text", ODD)
def test_what_is_not_one_plain_address_is_not_public(text: str) -> None:
    assert not public(text)


def test_never_more_generous_than_the_standard_library() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(5_000):
        v4 = ipaddress.IPv4Address(rng.getrandbits(32))
        if public(str(v4)):
            assert v4.is_global and not v4.is_multicast, v4
        v6 = ipaddress.IPv6Address((1 << 125) + rng.getrandbits(125))
        if public(str(v6)) and v6.sixtofour is None:
            assert v6.is_global, v6


def test_shared_ranges() -> None:
    shared = SharedAddresses()
    assert all(shared.exempt(a) for a in ("104.16.0.1", "104.27.255.255", "151.101.1.1"))
    assert shared.exempt("2606:4700::6810:1") and shared.exempt("::ffff:104.16.0.1")
    assert not any(shared.exempt(a) for a in ("104.15.255.255", "104.28.0.0", "9.9.9.9", "", "x"))
    assert not shared.exempt("2606:4701::1")


def test_shared_ranges_may_overlap_and_be_given() -> None:
    shared = SharedAddresses(["10.0.0.0/8", "10.1.0.0/16", "192.0.2.5/32"])
    assert shared.exempt("10.200.0.1") and shared.exempt("192.0.2.5")
    assert not shared.exempt("192.0.2.6") and not shared.exempt("11.0.0.0")
    assert not SharedAddresses([]).exempt("104.16.0.1")
    with pytest.raises(ValueError):
        SharedAddresses(["10.0.0.0/33"])


def test_no_shared_range_is_private() -> None:
    for cidr in CDN_RANGES:
        network = ipaddress.ip_network(cidr)
        assert public(str(network[0])) and public(str(network[-1])), cidr


def test_the_flag_allows_private_addresses_but_no_metadata_service() -> None:
    allowed = Allowed(private=True)
    assert all(map(allowed, ["127.0.0.1", "10.0.0.1", "::1", "192.168.1.1", "93.184.215.14"]))
    refused = ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "nonsense"]
    assert not any(map(allowed, refused))


def test_networks_are_allowed_by_name() -> None:
    allowed = Allowed(networks=["127.10.0.0/16"])
    assert allowed("127.10.3.4")
    assert allowed("::ffff:127.10.3.4")
    assert not allowed("127.0.0.1")
    assert not allowed("10.0.0.1")
    assert Allowed(networks=["169.254.0.0/16"])("169.254.169.254")
