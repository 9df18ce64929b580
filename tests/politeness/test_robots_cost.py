"""robots.txt that is made to be slow: whole families of it, read, stored and asked in one go."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from lycosa.politeness import robots
from support.cpu import cpu_seconds

SIZE = 500 * 1024 - 200  # not so large that the last line is left out as cut
ALL = b"User-agent: *\n"
TARGETS = (
    "/x",
    "/" + "a" * 1_990,
    "/" + "0123456789abcdef" * 120,
    "/" + "%C3%A4" * 330,
    "/" + "$*" * 990,
)

UNITS = [
    b"\n",
    b"\r",
    b"\r\n",
    b" \n",
    b"a\n",
    b"\naa\n",
    b"u\n",
    b"#\n",
    b"# c\n",
    b"\0",
    b":",
    b"*",
    
    b" ", b"\t",
    b"allow\n",
    b"allow:\n",
    b"allow a\n",
    b"allow a b\n",
    b"allow ",
    b"user-agent",
    b"abcdef\n",
    b"\n\n\n\nabcdefg\n",
    b"aaaaa\n",
    b"\xef\xbb\xbf",
    b"Disallow: /\n",
    b"User-agent: x\n",
    b"d",
    b"User-agent: lycosa\n",
    b"User-agent: x\nDisallow: /\n",
    b"Crawl-delay: 1\n",
    b"Sitemap: x\n",
    b"Sitemap: http://\xc3\xa4.test/\n",
    b"Sitemap: http://a.test/\xc3\xa9\n",
    b"Disallow: /*\n",
    b"Disallow: *\n",
    b"Disallow: /%\n",
    b"Disallow: /\xe4\n",
    b"Crawl-delay: 999999999999999999\n",
]  # fmt: skip
LINES = [
    b"%e4",
    b"%E4",
    b"%41",
    b"%41a",
    b"%",
    b"%4",
    b"\xe4",
    b"\xe4a",
    b"$",
    b"$a",
    b" a",
    b"'",
    b"a'",
    b"*",
    b"*a",
    b"a*",
    b"**a",
    b"*\xe4",
    b"a",
    b"/",
    b"/../",
    b"%2a",
    b"%24",
    b"?",
]  # fmt: skip
MANY: dict[str, Callable[[int], bytes]] = {
    "plain": lambda i: b"Disallow:/%x\n" % i,
    "nested": lambda i: b"Disallow:/" + b"a" * i + b"\n",
    "wild": lambda i: b"Disallow:/*%x\n" % i,
    "anchored": lambda i: b"Disallow:*%x$\n" % i,
    "exact": lambda i: b"Allow:/%x$\n" % i,
    "pairs": lambda i: b"Allow:*%x*%x\n" % (i % 160, i // 160),
    "other pairs": lambda i: b"Disallow:/*%x*%x*\n" % (i, i * 7919 % 99991),
    "prefix and star": lambda i: b"Allow:/%x*a\n" % i,
    "nested and star": lambda i: b"Disallow:/" + b"a" * i + b"*b\n",
    "long pieces": lambda i: b"Disallow:/*" + b"a" * (i % 1_000) + b"b\n",
    "escapes": lambda i: b"Allow:/%%41%x\n" % i,
    "octets": lambda i: b"Allow:/\xe4%x\n" % i,
    "mixed": lambda i: b"Allow:/\xe4%%41a\xe4'%x\n" % i,
    "last star": lambda i: b"Allow:/%x*\n" % i,
    "triples": lambda i: b"Allow:*a*%x*c\n" % i,
    "agents": lambda i: b"User-agent: a%x\nAllow: /%x\n" % (i, i),
    "our groups": lambda i: b"User-agent: lycosa\nAllow: /%x\n" % i,
    "sitemaps": lambda i: b"Sitemap: http://%x.\xc3\xa4.test/\n" % i,
    "delays": lambda i: b"Crawl-delay: %d\n" % i,
}


def judge(body: bytes) -> None:
    """What one visit does with a robots.txt that it has not seen."""
    rules = robots.parse_robots(body)
    rules.dump()
    for target in TARGETS:
        rules.allows(target)


def check(body: bytes, limit: float = 0.045) -> None:
    assert len(body) < 500 * 1024
    took = cpu_seconds(lambda: judge(body), enough=limit / 2)
    assert took < limit, took


def filled(unit: bytes) -> bytes:
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


@pytest.mark.parametrize("unit", UNITS)
def test_files_of_nothing_but(unit: bytes) -> None:
    check(ALL + filled(unit))
    check("User-agent: *\n".encode("utf-16") + filled(b"".join(bytes((c, 0)) for c in unit)))
    check(ALL + unit)


@pytest.mark.parametrize("unit", [b"\n", b"\r", b"\r\n", b" \n", b"a\n", b"#\n", b"\t\t\n"])
def test_lines_too_short_to_mean_anything_cost_next_to_nothing(unit: bytes) -> None:
    check(ALL + filled(unit), 0.02)


@pytest.mark.parametrize("unit", LINES)
def test_one_rule_of_nothing_but(unit: bytes) -> None:
    check(ALL + b"Disallow: /" + filled(unit))
    check(ALL + (b"Disallow: /" + unit * (8_000 // len(unit)) + b"\n") * 60)
    check(ALL + (b"Allow: /" + unit * (90 // len(unit)) + b"\n") * 5_000)


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("most", [20_000, 60_000])
def test_many_different_rules(name: str, most: int) -> None:
    lines: list[bytes] = []
    size = 0
    for number in range(most):
        lines.append(MANY[name](number))
        size += len(lines[-1])
        if size > SIZE - 2_000:
            break
    check(ALL + b"".join(lines), 0.07)  # in two steps: when it is read, and when it is first asked


def test_short_lines_change_nothing() -> None:
    chance = random.Random(1)
    rules = [b"User-agent: *", b"Disallow: /a", b"allow:", b"Allow: /a/b", b"Crawl-delay: 3"]
    for _ in range(20):
        few = chance.choices(rules, k=12)
        padded: list[bytes] = []
        for line in few:
            padded += [line, *chance.choices([b"", b" ", b"a", b"#", b"allow", b"\t\t"], k=8_000)]
        assert robots.parse_robots(b"\n".join(padded)) == robots.parse_robots(b"\n".join(few))
        assert len(b"\n".join(padded)) > 65_536


def reference(pattern: bytes) -> str:
    """RFC 9309's normal form, octet by octet."""
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    out, at = "", 0
    while at < len(pattern):
        digits = pattern[at + 1 : at + 3]
        escape = pattern[at] == 0x25 and len(digits) == 2 and digits.isalnum()
        if escape and all(digit in b"0123456789abcdefABCDEF" for digit in digits):
            octet = int(digits, 16)
            out += chr(octet) if octet in plain else f"%{octet:02X}"
            at += 3
            continue
        octet = pattern[at]
        last_dollar = octet == 0x24 and at == len(pattern) - 1
        kept = octet in plain + b":/?#[]@!&()+,;=*%" or last_dollar
        out += chr(octet) if kept else f"%{octet:02X}"
        at += 1
    return out


def test_normal_form_of_runs_is_that_of_their_octets() -> None:
    chance = random.Random(2)
    parts = [
        b"a",
        b"%",
        b"%4",
        b"%41",
        b"%7e",
        b"%2f",
        b"%2F",
        b"\xe4",
        b"'",
        b"$",
        b"*",
        b"%e4",
        b"%24",
        b"%2A",
        b"/",
        b'"',
        b"%zz",
        b"%C3%a4%41",
    ]
    for _ in range(2_000):
        pattern = b"/" + b"".join(chance.choices(parts, k=chance.randrange(8)))
        (rule,) = robots.parse_robots(ALL + b"Disallow: " + pattern + b"\n")._rules
        assert rule == (False, reference(pattern)), pattern


def test_who_has_too_much_to_normalise_forbids_everything() -> None:
    assert not robots.parse_robots(ALL + b"Disallow: /" + b"\xe4a" * 200_000).allows("/")
    assert robots.parse_robots(ALL + b"Disallow: /" + b"\xe4" * 400_000).allows("/")
