"""Which IP addresses may be connected to (S1), and which ones many sites share.

Owns the tables of special address ranges. Pure: addresses come in as text, answers go out. Knows
nothing of names, sockets or delays. Whatever can't be read as one address is not public.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
)

_CACHED = 65_536  # addresses; ~10 MB when full

# IPv4 that is never a public web server (IANA special-purpose registry, and multicast).
_REFUSED4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",
    "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 is a metadata service
    "127.0.0.0/8",
    "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
    "172.16.0.0/12",
    "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
    "192.0.2.0/24",
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
    "168.63.129.16/32",  # public by its number, but a cloud's internal service
)

# IPv6: only the global unicast block, without these.
_UNICAST6 = "2000::/3"
_REFUSED6 = (
    "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
    "2001:db8::/32",
    "3fff::/20",  # documentation
)
# IPv6 that carries an IPv4 address, and how many bits follow it: the IPv4 address decides.
_EMBEDDED = (("::ffff:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80))

# Addresses that serve a great many unrelated sites: the per-address delay would stop a crawl.
CDN_RANGES: tuple[str, ...] = (
    # Cloudflare
    *("173.245.48.0/20", "103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22"),
    *("141.101.64.0/18", "108.162.192.0/18", "190.93.240.0/20", "188.114.96.0/20"),
    *("197.234.240.0/22", "198.41.128.0/17", "162.158.0.0/15", "104.16.0.0/13"),
    *("104.24.0.0/14", "172.64.0.0/13", "131.0.72.0/22", "2400:cb00::/32", "2606:4700::/32"),
    *("2803:f800::/32", "2405:b500::/32", "2405:8100::/32", "2a06:98c0::/29", "2c0f:f248::/32"),
    # Fastly
    *("23.235.32.0/20", "43.249.72.0/22", "103.244.50.0/24", "103.245.222.0/23"),
    *("103.245.224.0/24", "104.156.80.0/20", "140.248.64.0/18", "140.248.128.0/17"),
    *("146.75.0.0/17", "151.101.0.0/16", "157.52.64.0/18", "167.82.0.0/17", "167.82.128.0/20"),
    *("167.82.160.0/20", "167.82.224.0/20", "172.111.64.0/18", "185.31.16.0/22"),
    *("199.27.72.0/21", "199.232.0.0/16", "2a04:4e40::/32", "2a04:4e42::/32"),
    # GitHub Pages
    *("185.199.108.0/22", "2606:50c0:8000::/46"),
    # Amazon CloudFront
    *("3.160.0.0/14", "13.32.0.0/15", "13.35.0.0/16", "13.224.0.0/14", "13.249.0.0/16"),
    *("18.64.0.0/14", "18.154.0.0/15", "18.160.0.0/15", "18.164.0.0/15", "18.172.0.0/15"),
    *("18.238.0.0/15", "18.244.0.0/15", "52.84.0.0/15", "52.222.128.0/17", "108.138.0.0/15"),
    *("54.192.0.0/16", "54.230.0.0/17", "54.230.128.0/18", "54.239.128.0/18", "65.8.0.0/16"),
    *("65.9.0.0/17", "99.84.0.0/16", "99.86.0.0/16", "108.156.0.0/14", "143.204.0.0/16"),
    *("204.246.164.0/22", "216.137.32.0/19", "2600:9000::/28"),
    # Google's shared front ends (Blogger, Sites)
    *("142.250.0.0/15", "172.217.0.0/16", "216.58.192.0/19", "216.239.32.0/19"),
    *("2607:f8b0::/32", "2a00:1450::/32"),
    # Automattic (WordPress.com), Squarespace, Shopify, Vercel
    *("192.0.64.0/18", "198.185.159.0/24", "198.49.23.0/24", "23.227.38.0/23", "76.76.21.0/24"),
)


class _Ranges:
    """A set of address ranges, asked by number."""

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network]) -> None:
        ordered = sorted((int(n.network_address), int(n.broadcast_address)) for n in networks)
        self._starts = [start for start, _ in ordered]
        self._ends = [end for _, end in ordered]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number <= self._ends[at]


_refused4 = _Ranges(IPv4Network(cidr) for cidr in _REFUSED4)
_refused6 = _Ranges(IPv6Network(cidr) for cidr in _REFUSED6)
_unicast6 = IPv6Network(_UNICAST6)
_embedded = tuple((IPv6Network(cidr), shift) for cidr, shift in _EMBEDDED)


@lru_cache(maxsize=_CACHED)
def public(address: str) -> bool:
    """Whether `address` is a globally routable unicast address in its plain textual form."""
    try:
        if ":" not in address:
            return int(IPv4Address(address)) not in _refused4
        return "%" not in address and _public6(IPv6Address(address))
    except AddressValueError:
        return False


def _public6(address: IPv6Address) -> bool:
    number = int(address)
    for network, shift in _embedded:
        if address in network:
            return (number >> shift & 0xFFFF_FFFF) not in _refused4
    return address in _unicast6 and number not in _refused6


class SharedAddresses:
    """Addresses that the per-address delay leaves alone. Raises ValueError for a bad range."""

    def __init__(self, cidrs: Iterable[str] = CDN_RANGES) -> None:
        networks = [ip_network(cidr) for cidr in cidrs]
        # Merged, so that no range lies inside another and one look is enough.
        self._v4 = _Ranges(collapse_addresses(n for n in networks if isinstance(n, IPv4Network)))
        self._v6 = _Ranges(collapse_addresses(n for n in networks if isinstance(n, IPv6Network)))
        self._look = lru_cache(maxsize=_CACHED)(self._find)

    def exempt(self, address: str) -> bool:
        """Whether `address` lies in one of the ranges."""
        return self._look(address)

    def _find(self, address: str) -> bool:
        found = plain_address(address)
        if found is None:
            return False
        return int(found) in (self._v4 if found.version == 4 else self._v6)


# Never meant by "private": the services that clouds keep there hand out credentials.
_LINK_LOCAL = ("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "168.63.129.16/32")


def plain_address(address: str) -> IPv4Address | IPv6Address | None:
    """An address by its number: IPv4 however it is written; None for what is none."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


class Inside:
    """Whether an address lies in one of the networks that a crawl is confined to; no network is
    named: every address does."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ip_network(cidr, strict=False) for cidr in networks]
        self._look = lru_cache(maxsize=_CACHED)(self._find)

    def __call__(self, address: str) -> bool:
        return not self._networks or self._look(address)

    def _find(self, address: str) -> bool:
        found = plain_address(address)
        return found is not None and any(found in network for network in self._networks)


class Allowed:
    """Which addresses may be connected to: public ones, and those that the user allows.

    `private` allows loopback and private addresses, but not link-local ones, where clouds keep
    their metadata services: these have to be named in `networks`.
    """

    def __init__(self, private: bool = False, networks: Iterable[str] = ()) -> None:
        self._private = private
        self._networks = [ip_network(cidr, strict=False) for cidr in networks]
        self._never = [ip_network(cidr) for cidr in _LINK_LOCAL]
        self._look = lru_cache(maxsize=_CACHED)(self._by_flag)

    def __call__(self, address: str) -> bool:
        return public(address) or self._look(address)

    def _by_flag(self, address: str) -> bool:
        if not self._private and not self._networks:
            return False
        plain = plain_address(address)
        if plain is None:
            return False
        if any(plain in network for network in self._networks):
            return True
        return self._private and not any(plain in network for network in self._never)
