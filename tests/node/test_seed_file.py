"""Seed files: every kind of line, every kind of file, and the fast path against the parser."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ada_url import normalize_url
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.errors import UserError
from lycosa.node.seed_file import BadSeed, Seed, open_seeds, read
from lycosa.records import Flag, Url
from lycosa.urls.domains import domain_of
from support.cpu import cpu_seconds

BARE = Flag.BARE | Flag.SEED


def read_one(line: str) -> Seed | BadSeed | None:
    found = list(read([line.encode()]))
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("line", "url", "domain", "flags"),
    [
        ("example.com", "https://example.com/", "example.com", BARE),
        ("www.example.co.uk\r\n", "https://www.example.co.uk/", "example.co.uk", BARE),
        ("  EXAMPLE.Com \n", "https://example.com/", "example.com", BARE),
        ("example.com.", "https://example.com/", "example.com", BARE),
        ("example.com # the first", "https://example.com/", "example.com", BARE),
        ("\ufeffexample.com", "https://example.com/", "example.com", BARE),
        ("exa_mple.com", "https://exa_mple.com/", "exa_mple.com", BARE),
        ("münchen.de", "https://xn--mnchen-3ya.de/", "xn--mnchen-3ya.de", BARE),
        ("XN--MNCHEN-3YA.de", "https://xn--mnchen-3ya.de/", "xn--mnchen-3ya.de", BARE),
        ("例え.jp", "https://xn--r8jz45g.jp/", "xn--r8jz45g.jp", BARE),
        ("a.github.io", "https://a.github.io/", "a.github.io", BARE),
        ("192.0.2.7", "https://192.0.2.7/", "192.0.2.7", BARE),
        ("[2001:DB8::1]", "https://[2001:db8::1]/", "2001:db8::1", BARE),
        ("example.com:8443", "https://example.com:8443/", "example.com", BARE),
        ("example.com:443", "https://example.com/", "example.com", BARE),
        ("example.com:80", "http://example.com/", "example.com", Flag.SEED),
        ("example.com/a", "https://example.com/a", "example.com", BARE),
        ("https://example.com", "https://example.com/", "example.com", Flag.SEED),
        ("HTTP://Example.com/A#b", "http://example.com/A", "example.com", Flag.SEED),
        ("http://localhost:8080/x", "http://localhost:8080/x", "localhost", Flag.SEED),
        ("http://[::1]:81/", "http://[::1]:81/", "::1", Flag.SEED),
        ("http://2130706433/", "http://127.0.0.1/", "127.0.0.1", Flag.SEED),
        ("https://u:p@example.com/", "https://example.com/", "example.com", Flag.SEED),
        ("1,example.com", "https://example.com/", "example.com", BARE),
        ("1, Example.com", "https://example.com/", "example.com", BARE),
        ('"1","example.com"', "https://example.com/", "example.com", BARE),
        ("1\texample.com", "https://example.com/", "example.com", BARE),
        ("7,3,example.com,com,99,x", "https://example.com/", "example.com", BARE),
        ("5,https://example.com/x", "https://example.com/x", "example.com", Flag.SEED),
        ("https://www.example.com,1000", "https://www.example.com/", "example.com", Flag.SEED),
        ("example.com,17", "https://example.com/", "example.com", BARE),
        ("https://example.com/a,10", "https://example.com/a,10", "example.com", Flag.SEED),
    ],
)
def test_good_lines(line: str, url: str, domain: str, flags: int) -> None:
    assert read_one(line) == Seed(1, Url(url), domain, flags)


@pytest.mark.parametrize(
    "line",
    [
        *("", "\n", "\r\n", " \t", "# comment", "  # comment", "\ufeff", "\ufeff# x"),
        *("rank,domain", "GlobalRank,Domain", "GlobalRank,TldRank,Domain,TLD", "origin,rank"),
        '"Rank","Domain"\r\n',
    ],
)
def test_lines_that_mean_nothing(line: str) -> None:
    assert read_one(line) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello world", "no spaces"),
        ("1,\u00a0,com", "no domain in it"),
        ("foo", "needs a dot"),
        ("localhost", "needs a dot"),
        ("localhost:8080", "needs a dot"),
        ("1,foo", "needs a dot"),
        ("http://", "not a valid URL"),
        ("http:///", "not a valid URL"),
        ("http://exa mple.com/", "no spaces"),
        ("https://example.com:99999/", "not a valid URL"),
        ("https://example.com/" + "a" * 2000, "2000 characters"),
        ("-bad.com", "letters, digits, and hyphens"),
        ("bad-.com", "letters, digits, and hyphens"),
        ("exa_mple..com", "not a valid domain"),
        (".com", "not a valid domain"),
        ("a" * 64 + ".com", "not a valid domain"),
        ("//example.com", "not a valid domain"),
        ("example.com:port", "http and https"),
        ("ftp://example.com/", "http and https"),
        ("mailto:a@example.com", "http and https"),
        ("a@example.com", "email"),
        ("12345", "number"),
        ("1.5", "number"),
        ("1,2", "number"),
        ("0x7f.1", "number"),
        ("1.2.3.300", "not a valid domain"),
        ("::1", "not a valid domain"),
        ("a.com,b.com", "not a valid domain"),
        ("\0", "not a valid domain"),
        ("x" * 9000, "too long"),
    ],
)
def test_bad_lines_say_why(line: str, why: str) -> None:
    found = read_one(line)
    assert isinstance(found, BadSeed)
    assert why in found.why
    assert len(found.text) <= 80 and found.text.isprintable()


def test_lines_that_are_no_text() -> None:
    (bad,) = read([b"caf\xe9.com"])
    assert isinstance(bad, BadSeed) and "UTF-8" in bad.why
    assert all(isinstance(found, BadSeed) for found in read([bytes(range(128, 256))]))


def test_line_numbers_count_every_line() -> None:
    lines = [b"# seeds\n", b"\n", b"a.com\n", b"bad\n", b"https://b.com/\n"]
    assert [(type(found), found.line) for found in read(lines, 10)] == [
        (Seed, 12),
        (BadSeed, 13),
        (Seed, 14),
    ]


HOSTS = st.lists(
    st.sampled_from(["a", "1", "-", ".", "b-c", "xn--", "com", "0x1", "_", "Z", "co.uk"]),
    min_size=1,
    max_size=8,
).map("".join)


@settings(max_examples=600, deadline=None)
@given(HOSTS)
def test_what_is_accepted_is_what_the_parser_says(text: str) -> None:
    found = read_one(text)
    if isinstance(found, Seed):
        host = found.url.removeprefix("https://").removesuffix("/")
        assert normalize_url("https://" + text.removesuffix(".")) == found.url
        assert found.domain == domain_of(host)
        assert "." in host


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=100))
def test_no_line_raises(line: bytes) -> None:
    list(read([line, b"1," + line, b"http://" + line]))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1," * 3999,
            "1," + "a" * 7000 + '"b"',
            "1\t" + "\t" * 7000,
            "domain," + " " * 7000 + "!",
        ),
        *('"' * 7000, "1," + "1" * 7000, "a" * 7000 + ",x", " " * 7000 + "x y", " #" * 3500),
    ],
)
def test_no_line_takes_long(text: str) -> None:
    assert cpu_seconds(lambda: list(read([text.encode()] * 10)), enough=0.2) < 0.5


def lines_of(path: Path) -> list[bytes]:
    with open_seeds(str(path)) as lines:
        return list(lines)


def test_plain_and_gzip_files(tmp_path: Path) -> None:
    plain = tmp_path / "seeds.gz"  # the name is not asked
    plain.write_bytes(b"a.com\r\nb.com")
    packed = tmp_path / "seeds.txt"
    packed.write_bytes(gzip.compress(b"a.com\r\n") + gzip.compress(b"b.com"))
    assert lines_of(plain) == lines_of(packed) == [b"a.com\r\n", b"b.com"]


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(os.urandom(10_000))
    for damaged in (whole[:-100], whole[:50], whole[:5000] + b"x" * 100 + whole[5100:]):
        path = tmp_path / "seeds.gz"
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"damaged gzip: fetch or pack it again\.$"):
            lines_of(path)


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing does not exist: check the path"):
        lines_of(tmp_path / "missing")
    with pytest.raises(UserError, match="is a directory: name a file"):
        lines_of(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(UserError, match="is empty: put one domain or URL on each line"):
        lines_of(tmp_path / "empty")
    with pytest.raises(UserError, match="can't be opened"):
        lines_of(Path("a\0b"))


def test_files_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("a.com")
    path.chmod(0)
    somebody = os.geteuid()
    if somebody == 0:  # root may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(UserError, match="permission"):
            lines_of(path)
    finally:
        os.seteuid(somebody)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack: Callable[[bytes], bytes]) -> None:
    code = "from lycosa.node.seed_file import *\nwith open_seeds('-') as f: print(*read(f))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=pack(b"a.com\nhttp://b.com/\n"),
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert b"https://a.com/" in run.stdout and b"http://b.com/" in run.stdout


def test_a_long_list_is_read_quickly() -> None:
    """2.4 s for a million were measured; the limit leaves room for a busy machine."""
    lines = [b"%d,some-site-%d.co.uk\n" % (n, n) for n in range(50_000)]
    assert sum(isinstance(found, Seed) for found in read(lines)) == len(lines)
    assert cpu_seconds(lambda: list(read(lines)), enough=0.2) < 50_000 * 15e-6
