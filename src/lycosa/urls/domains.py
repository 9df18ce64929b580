"""The domain of a host: registrable domains by the public suffix list, and their ids.

A domain is the unit of politeness, of leases and of storage. An IP address, a single label and a
public suffix are domains of their own. Owns the reading of the list, which happens once, at
import; no other I/O.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib.util import find_spec
from itertools import repeat

from ada_url import idna
from xxhash import xxh3_64_intdigest

from lycosa.urls.canonical import host_of

# Hosts whose domain is remembered: about 300 bytes each.
_HOSTS_REMEMBERED = 1 << 16

_is_ipv4 = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+").fullmatch


def _read_suffixes() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The public suffix list in ASCII: suffixes, parents of '*' rules, exceptions from those."""
    package = find_spec("publicsuffixlist")  # only its data: the package itself takes longer
    assert package is not None and package.submodule_search_locations
    file = os.path.join(package.submodule_search_locations[0], "public_suffix_list.dat")
    with open(file, encoding="utf-8") as source:
        lines = source.read().lower().split("\n")
    # Ten thousand rules at every start: what only a few need is done for those few alone.
    lines = [line for line in lines if line and line[:2] != "//" and not line.isspace()]
    rules = [line.split()[0] if " " in line or "\t" in line else line for line in lines]
    foreign = [rule for rule in rules if not rule.isascii()]
    rules = [rule for rule in rules if rule.isascii()]
    rules += [idna.encode(rule).decode("ascii") for rule in foreign]
    special = [rule for rule in rules if rule[0] in "*!"]
    wild = frozenset([rule[2:] for rule in special if rule[0] == "*"])
    exceptions = frozenset([rule[1:] for rule in special if rule[0] == "!"])
    return wild.union(rules).difference(special), wild, exceptions


# Not looked up by the package itself: loading a million seeds takes 0.5 us each here, 4 us there.
_SUFFIXES, _WILD_PARENTS, _EXCEPTIONS = _read_suffixes()
# Labels of the longest registrable domain: those before it need not be looked at.
_MOST_LABELS = max(map(str.count, _SUFFIXES, repeat("."))) + 3


def registrable(name: str) -> str:
    """One label more than the longest public suffix of a name; the name itself if it is a suffix.

    Takes DNS names without a last dot; `domain_of` takes any host, and caches.
    """
    if name.count(".") >= _MOST_LABELS:
        name = ".".join(name.rsplit(".", _MOST_LABELS)[1:])
    longer, rest = name, name
    while rest not in _SUFFIXES:
        dot = rest.find(".")
        if dot < 0:
            return longer  # a top-level domain that the list does not know
        parent = rest[dot + 1 :]
        if parent in _WILD_PARENTS:
            return rest if rest in _EXCEPTIONS else longer
        longer, rest = rest, parent
    return longer


def domain_of(host: str) -> str:
    """The registrable domain of a host; an IP literal, single label or public suffix is its own."""
    return _place(host)[1]


def domain_once(host: str) -> str:
    """The same, and not remembered: for those who go through all hosts of a crawl."""
    name = host.rstrip(".") or host
    if ":" in name or (name[-1] <= "9" and _is_ipv4(name)):
        return name
    return registrable(name)


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def _place(host: str) -> tuple[int, str]:
    """Domain id and domain of a host."""
    name = domain_once(host)
    return domain_id(name), name


def domain_id(name: str) -> int:
    """A 63-bit hash of a domain's name: positive, never 0."""
    return xxh3_64_intdigest(name.encode()) & 0x7FFF_FFFF_FFFF_FFFF or 1


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def place_of_origin(origin: str) -> tuple[int, str]:
    """Domain id and domain of a canonical origin."""
    return _place(host_of(origin + "/"))
