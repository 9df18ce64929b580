"""Registrable domains, compared with the public suffix package, and ids."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("example.com", "example.com"),
        ("example.com.", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("a.github.io", "a.github.io"),
        ("x.a.github.io", "a.github.io"),
        ("github.io", "github.io"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        # A suffix that the list spells in Chinese: 公司.cn
        ("www.shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"),
        ("xn--55qx5d.cn", "xn--55qx5d.cn"),
        ("www.ck", "www.ck"),
        ("a.b.ck", "a.b.ck"),
        ("a.unknown-tld", "a.unknown-tld"),
        ("x.a.unknown-tld", "a.unknown-tld"),
        (".", "."),
    ],
)
def test_domain_of(host: str, domain: str) -> None:
    assert domain_of(host) == domain


SUFFIXES = PublicSuffixList()
SUFFIX_PARTS = (
    "a www com co uk jp kawasaki city kobe ck github io xn--55qx5d cn org blogspot compute "
    "amazonaws eu-west-1 s3 unknown"
)
LABELS = st.sampled_from(SUFFIX_PARTS.split())


@settings(max_examples=500)
@given(st.lists(LABELS, min_size=1, max_size=5).map(".".join))
@example("city.kobe.jp")
@example("a.kobe.jp")
@example("kobe.jp")
@example("a.b.kobe.jp")
def test_domains_are_those_of_the_public_suffix_package(host: str) -> None:
    assert domain_of(host) == (SUFFIXES.privatesuffix(host) or host)


def test_every_rule_of_the_suffix_list() -> None:
    for suffix in SUFFIXES._publicsuffix:
        name = suffix.removeprefix("!").replace("*", "star")
        if name.isascii():
            for host in (name, "a." + name, "b.a." + name):
                assert domain_of(host) == (SUFFIXES.privatesuffix(host) or host)


def test_ids_keep_their_values() -> None:
    """Stored in databases: other values would orphan every crawl on disk."""
    assert domain_id("example.com") == 821362117545671539
    assert fingerprint("https://example.com/") == 5522761390303137003
    assert fingerprint("https://example.com/?utm_source=x") == fingerprint("https://example.com/")
    assert fingerprint("https://example.com/a") != fingerprint("http://example.com/a")


@given(st.text(alphabet="abc.-", max_size=20))
def test_ids_fit_the_database(name: str) -> None:
    assert 0 < domain_id(name) < 2**63
    assert -(2**63) <= fingerprint("http://a/" + name) < 2**63
