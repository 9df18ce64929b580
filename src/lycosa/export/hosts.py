"""A host taken apart as Common Crawl's index has it: its last parts, its suffixes, its domain.

`urls/domains` knows registrable domains by the whole public suffix list; here the list without its
private section counts as well (`blogspot.com` is a private suffix and a registered domain). Pure
but for reading the list, once, when the first host is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from lycosa.urls.domains import registrable

_HOSTS_REMEMBERED = 256  # rows of `index` come sorted, those of a host together
_LAST_PARTS = 5
_is_ipv4 = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+").fullmatch


class HostParts(NamedTuple):
    """The columns `url_host_…` of a host, in their order; None where there is nothing."""

    tld: str | None = None
    second: str | None = None
    third: str | None = None
    fourth: str | None = None
    fifth: str | None = None
    registry_suffix: str | None = None
    registered_domain: str | None = None
    private_suffix: str | None = None
    private_domain: str | None = None
    reversed_name: str | None = None


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def host_parts(host: str) -> HostParts:
    """The parts of a host as a canonical URL has it; of an address there are none."""
    name = host.rstrip(".")
    if not name or ":" in name or _is_ipv4(name):
        return HostParts()
    labels = name.split(".")
    last = [*reversed(labels[-_LAST_PARTS:]), *[None] * _LAST_PARTS]
    private_domain = registrable(name)
    private_suffix = _suffix_of(private_domain, name)
    rules = _registries()
    return HostParts(
        tld=last[0],
        second=last[1],
        third=last[2],
        fourth=last[3],
        fifth=last[4],
        registry_suffix=rules.publicsuffix(name),
        registered_domain=rules.privatesuffix(name),
        private_suffix=private_suffix,
        private_domain=private_domain if private_domain != private_suffix else None,
        reversed_name=".".join(reversed(labels)),
    )


def _suffix_of(domain: str, name: str) -> str:
    """A registrable domain without its first label; a name that is a suffix itself stays."""
    rest = domain.partition(".")[2]
    is_suffix = registrable(f"x.{name}") == f"x.{name}"
    return name if is_suffix or not rest else rest


@lru_cache(maxsize=1)
def _registries() -> Any:
    """The list without its private section."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)
