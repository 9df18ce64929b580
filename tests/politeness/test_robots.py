"""robots.txt: RFC 9309, the usual leniency, a slow reference to compare with, hostile files."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.politeness.robots import (
    ALLOW_ALL,
    DISALLOW_ALL,
    MAX_BYTES,
    MAX_DELAY,
    MAX_RULES,
    Rules,
    parse_robots,
)
from support.cpu import cpu_seconds


def allowed(text: str | bytes, target: str, agent: str = "lycosa") -> bool:
    rules = parse_robots(text if isinstance(text, bytes) else text.encode(), agent)
    verdict = rules.allows(target)
    assert rules.match(target)[0] is verdict
    assert Rules.load(rules.dump()).allows(target) is verdict
    return verdict


def all_of(*rules: str) -> str:
    return "user-agent: *\n" + "\n".join(rules)


# --- RFC 9309 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "target", "expected"),
    [
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/other", False),
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/page.html", False),
        ("quxbot", "/example/page.html", True),
        ("anybot", "/publications/", True),
        ("anybot", "/example/page.html", False),
        ("anybot", "/foo.gif", False),
        ("anybot", "/foo.gifs", True),
    ],
)
def test_simple_example_of_the_rfc(agent: str, target: str, expected: bool) -> None:
    """Section 5.1: wildcards, two names for one group, an empty group."""
    text = """
        User-Agent: *
        Disallow: *.gif$
        Disallow: /example/
        Allow: /publications/
        User-Agent: foobot
        Disallow:/
        Allow:/example/page.html
        Allow:/example/allowed.gif
        User-Agent: barbot
        User-Agent: bazbot
        Disallow: /example/page.html
        User-Agent: quxbot
    """
    assert allowed(text, target, agent) is expected


def test_longest_match_of_the_rfc() -> None:
    """Section 5.2."""
    text = "user-agent: foobot\nallow: /example/page/\ndisallow: /example/page/disallowed.gif\n"
    assert not allowed(text, "/example/page/disallowed.gif", "foobot")
    assert allowed(text, "/example/page/", "foobot")


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https%3a%2F%2ffoo.bar", "/foo/bar?baz=https%3A%2f%2Ffoo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/ツ"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/a b", "/a%20b"),
        ("/it's", "/it%27s"),
        ("/a%", "/a%"),
        ("/a%zz", "/a%zz"),
    ],
)
def test_percent_encoding(pattern: str, target: str) -> None:
    """Section 2.2.2: both sides in one form before they are compared."""
    assert not allowed(all_of(f"disallow: {pattern}"), target)
    assert not allowed(all_of(f"disallow: *{pattern[1:]}$"), target)


def test_an_encoded_slash_is_not_a_slash() -> None:
    assert allowed(all_of("disallow: /a%2Fb"), "/a/b")
    assert not allowed(all_of("disallow: /a%2Fb"), "/a%2fb")


@pytest.mark.parametrize(
    ("pattern", "target", "match"),
    [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-$", "/path/foo-", True),
        ("/path/foo-$", "/path/foo-$", False),
        ("/a$b", "/a$b", True),
        ("/a$b", "/a", False),
        ("/a%2A", "/ab", False),
        ("/fish", "/fish", True),
        ("/fish", "/fish.html", True),
        ("/fish", "/fishheads/yummy.html", True),
        ("/fish", "/fish.php?id=anything", True),
        ("/fish", "/Fish.asp", False),
        ("/fish", "/catfish", False),
        ("/fish", "/?id=fish", False),
        ("/fish*", "/fishheads", True),
        ("/fish*", "/catfish", False),
        ("/fish/", "/fish/", True),
        ("/fish/", "/fish", False),
        ("/fish/", "/animals/fish/", False),
        ("/*.php", "/index.php", True),
        ("/*.php", "/folder/any.php.file.html", True),
        ("/*.php", "/", False),
        ("/*.php", "/windows.PHP", False),
        ("/*.php$", "/filename.php", True),
        ("/*.php$", "/filename.php?parameters", False),
        ("/*.php$", "/filename.php5", False),
        ("/*.php$", "/a.php/b.php", True),
        ("/fish*.php", "/fishheads/catfish.php?parameters", True),
        ("/fish*.php", "/Fish.PHP", False),
        ("/", "/anything", True),
        ("/*", "/anything", True),
        ("*", "/anything", True),
        ("/$", "/", True),
        ("/$", "/a", False),
        ("/*$", "/a", True),
        ("*a*", "/xay", True),
        ("/a***b", "/a-b", True),
        ("/ab*ba$", "/aba", False),
        ("/ab*ba$", "/abba", True),
        ("/ab*b$", "/ab", False),
        ("/a*a$", "/a", False),
        ("foo", "/foo", False),
        ("https://example.com/foo", "/foo", False),
        ("$", "/", False),
    ],
)
def test_special_characters(pattern: str, target: str, match: bool) -> None:
    """Sections 2.2.2 and 2.2.3, and the path examples that Google documents."""
    assert allowed(all_of(f"disallow: {pattern}"), target) is not match


@pytest.mark.parametrize(
    ("rules", "target", "expected"),
    [
        (("allow: /p", "disallow: /"), "/page", True),
        (("allow: /folder", "disallow: /folder"), "/folder/page", True),
        (("disallow: /folder", "allow: /folder"), "/folder/page", True),
        (("allow: /page", "disallow: /*.htm"), "/page.htm", False),
        (("allow: /page", "disallow: /*.ph"), "/page.php5", True),
        (("allow: /$", "disallow: /"), "/", True),
        (("allow: /$", "disallow: /"), "/page.htm", False),
        (("allow: /x/page.", "disallow: /*.html"), "/x/page.html", True),
        (("disallow: /x/page.html", "allow: /x/"), "/x/page.html", False),
        (("disallow: /*a", "allow: /ba"), "/ba", True),
        (("disallow: /", "allow: /%61bc"), "/abc", True),
        (("disallow: /",), "/robots.txt", True),
        (("disallow: /robots.txt",), "/robots.txt", True),
        (("disallow: /",), "/robots.txt.bak", False),
        (("disallow:",), "/x", True),
        (("disallow: ", "disallow: /y"), "/x", True),
        (("allow:", "disallow: /"), "/x", False),
    ],
)
def test_the_most_specific_rule_decides(
    rules: tuple[str, ...], target: str, expected: bool
) -> None:
    assert allowed(all_of(*rules), target) is expected


def test_empty_and_unreadable_files_allow_everything() -> None:
    for body in (b"", b"\n\n", b"\xef\xbb\xbf", b"<html>404</html>", bytes(range(256)) * 20):
        assert allowed(body, "/x")
    assert ALLOW_ALL.allows("/x") and ALLOW_ALL.match("/x") == (True, "")
    assert not DISALLOW_ALL.allows("/x") and DISALLOW_ALL.match("/x") == (False, "Disallow: /")
    assert DISALLOW_ALL.allows("/robots.txt")


# --- groups and lines -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "agent_line",
    [
        "User-agent: lycosa",
        "USER-AGENT: LYCOSA",
        "user-agent:Lycosa",
        "  user-agent \t : \t lycosa  ",
        "User-agent: lycosa/1.0",
        "User-agent: lycosa/1.0 (+https://example.com)",
        "User-agent: lycosa # ours",
        "User-agent: lycosa bot",
        "Useragent: lycosa",
        "User agent: lycosa",
        "User-agent lycosa",
    ],
)
def test_our_name(agent_line: str) -> None:
    text = f"User-agent: *\nDisallow: /\n\n{agent_line}\nDisallow: /private\n"
    assert allowed(text, "/x") and not allowed(text, "/private")


@pytest.mark.parametrize("name", ["lycos", "lycosa-news", "notlycosa", "x lycosa", ""])
def test_not_our_name(name: str) -> None:
    text = f"User-agent: {name}\nDisallow: /\n\nUser-agent: *\nDisallow: /private\n"
    assert allowed(text, "/x") and not allowed(text, "/private")


def test_agents_may_be_given_with_a_version() -> None:
    text = "user-agent: foobot\ndisallow: /"
    assert not allowed(text, "/", "FooBot/2.1") and allowed(text, "/", "bar")


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("Disallow: /x", True),
        ("DISALLOW:/x", True),
        ("disallow /x", True),
        ("disallow \t /x # why", True),
        ("disallow /x y", False),
        ("dissallow: /x", True),
        ("dissalow: /x", True),
        ("disalow: /x", True),
        ("diasllow: /x", True),
        ("disallaw: /x", True),
        ("disallow : /x", True),
        ("disallow# : /x", False),
        ("#disallow: /x", False),
        ("disalllow: /x", False),
        ("block: /x", False),
        ("Disallow: /x#y", True),
        ("Disallow: #/x", False),
        (": /x", False),
    ],
)
def test_spellings_of_disallow(line: str, works: bool) -> None:
    assert allowed(f"user-agent: *\n{line}\n", "/x") is not works


def test_groups_of_one_agent_are_merged() -> None:
    text = """
user-agent: lycosa
disallow: /a
user-agent: other
disallow: /b
user-agent: Lycosa
disallow: /c
"""
    assert [allowed(text, target) for target in ("/a", "/b", "/c")] == [False, True, False]


def test_several_agents_share_a_group() -> None:
    text = "user-agent: a\nuser-agent: lycosa\n\n\nuser-agent: b\ndisallow: /x\nuser-agent: c\n"
    assert not allowed(text, "/x")
    assert not allowed(text, "/x", "b") and allowed(text, "/x", "c")


def test_other_lines_do_not_end_the_list_of_agents() -> None:
    text = "user-agent: lycosa\nSitemap: https://a.org/s\nunknown: x\nuser-agent: b\ndisallow: /x"
    assert not allowed(text, "/x") and not allowed(text, "/x", "b")


def test_a_group_of_ours_without_rules_allows_all() -> None:
    assert allowed("user-agent: *\ndisallow: /\nuser-agent: lycosa\n", "/x")


def test_rules_before_any_agent_are_ignored() -> None:
    assert allowed("disallow: /x\nuser-agent: *\ndisallow: /y", "/x")


@pytest.mark.parametrize("name", ["*", "* ", "*\t# all", "* x"])
def test_everyone(name: str) -> None:
    assert not allowed(f"user-agent: {name}\ndisallow: /", "/x")


def test_star_with_something_attached_is_no_star() -> None:
    assert allowed("user-agent: *bot\ndisallow: /", "/x")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b"\n\r", b"\r\r\n"])
def test_line_ends_and_byte_order_marks(end: bytes) -> None:
    body = end.join([b"user-agent: *", b"disallow: /x", b"allow: /x/y"])
    for mark in (b"", b"\xef\xbb\xbf"):
        assert not allowed(mark + body, "/x") and allowed(mark + body, "/x/y")


def test_utf16_and_nuls() -> None:
    assert not allowed("user-agent: *\ndisallow: /x".encode("utf-16"), "/x")
    assert not allowed(b"user-\0agent: *\n\0disallow: /\0x\0", "/x")


def test_bytes_that_are_not_utf8() -> None:
    assert not allowed(b"user-agent: *\ndisallow: /caf\xe9", "/caf%E9")
    assert allowed(b"user-agent: *\ndisallow: /caf\xe9", "/caf%C3%A9")
    assert not allowed(b"user-agent: *\ndisallow: /x\nfoo: \xff\xfe", "/x")


@pytest.mark.parametrize("line", [b"disallow: /last", b"disallow: /last-and-more"])
def test_only_the_first_500_kib_count(line: bytes) -> None:
    head = b"user-agent: *\ndisallow: /first\n"

    def with_last_line_ending_at(end: int) -> bytes:
        filler = b"#" * (end - len(head) - len(line) - 1) + b"\n"
        return head + filler + line + b"\ndisallow: /beyond\n" + b"#" * 100

    at_limit = with_last_line_ending_at(MAX_BYTES)
    cut = with_last_line_ending_at(MAX_BYTES + 1)
    assert not allowed(at_limit, "/last-and-more") and allowed(at_limit, "/beyond")
    assert allowed(cut, "/last-and-more") and not allowed(cut, "/first")


# --- Crawl-delay, sitemaps, storage ---------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("2.5", 2.5),
        (".5", 0.5),
        ("0", 0.0),
        ("10 # slow", 10.0),
        ("100000", 100000.0),
        ("-1", None),
        ("-0.5", None),
        ("nan", None),
        ("-inf", None),
        ("", None),
        ("99999999999", MAX_DELAY),
        ("1e9", MAX_DELAY),
        ("1E+99999999999", MAX_DELAY),
        ("2e3", 2000.0),
        ("1e-3", 0.001),
        ("inf", MAX_DELAY),
        ("Infinity", MAX_DELAY),
        ("9" * 400, MAX_DELAY),
        ("9" * 100_000, MAX_DELAY),
        ("soon", None),
    ],
)
def test_crawl_delay(value: str, seconds: float | None) -> None:
    rules = parse_robots(f"user-agent: *\ncrawl-delay: {value}\n".encode())
    assert rules.crawl_delay == seconds == Rules.load(rules.dump()).crawl_delay


OTHER_LINES = [
    "Crawl-delay: 5",
    "crawl-delay: soon",
    "Crawl-delay: 5\nCrawl-delay: 7",
    "Crawl-delay: 5\n\nSitemap: https://a.org/s\n# a remark",
    "Sitemap: https://a.org/s",
    "site-map: https://a.org/s",
    "Host: a.org",
    "Clean-param: ref /a",
    "Request-rate: 1/5",
    "Visit-time: 0600-0845",
    "Noindex: /a",
    "Cache-delay: 5",
    "unknown",
    "unknown: x: y",
    "# a remark",
    "",
    " \t ",
]


@pytest.mark.parametrize("line", OTHER_LINES)
@pytest.mark.parametrize("us", ["lycosa", "LYCOSA/1.0", "*"])
def test_only_rules_end_the_list_of_agents(line: str, us: str) -> None:
    """RFC 9309, 2.2.1 and 2.2.4, and Google's parser: other records don't split a group."""
    first = f"user-agent: {us}\n{line}\nuser-agent: b\ndisallow: /x\nuser-agent: c\nallow: /"
    assert not allowed(first, "/x"), "we come before the line"
    second = f"user-agent: other\n{line}\nuser-agent: {us}\ndisallow: /x\n{line}\nallow: /x/y"
    assert not allowed(second, "/x") and allowed(second, "/x/y"), "and behind it"
    assert not allowed(second, "/x", "other"), "the other one shares the group"
    ended = f"user-agent: {us}\ndisallow: /x\n{line}\nuser-agent: other\ndisallow: /"
    assert not allowed(ended, "/x") and allowed(ended, "/y"), "a rule has ended the list"


@pytest.mark.parametrize("line", OTHER_LINES)
def test_merged_groups_keep_all_their_rules(line: str) -> None:
    text = f"""
user-agent: lycosa
{line}
user-agent: a
disallow: /a
user-agent: *
{line}
disallow: /
user-agent: b
{line}
user-agent: lycosa
{line}
disallow: /b
"""
    verdicts = [allowed(text, target) for target in ("/a", "/b", "/c")]
    assert verdicts == [False, False, True], "both groups that name us, and no other"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("user-agent: lycosa\ncrawl-delay: 5\nuser-agent: a\ndisallow: /x", 5.0),
        ("user-agent: a\ncrawl-delay: 5\nuser-agent: lycosa\ndisallow: /x", 5.0),
        ("user-agent: a\ncrawl-delay: 5\nuser-agent: *\ncrawl-delay: 3\ndisallow: /x", 5.0),
        ("user-agent: a\ncrawl-delay: 5\ndisallow: /y\nuser-agent: *\ndisallow: /x", None),
        ("user-agent: a\ndisallow: /y\ncrawl-delay: 5\nuser-agent: *\ndisallow: /x", None),
        ("user-agent: *\ncrawl-delay: 9\nuser-agent: lycosa\nuser-agent: a\ndisallow: /x", 9.0),
        ("user-agent: *\ndisallow: /\ncrawl-delay: 9\nuser-agent: lycosa\ndisallow: /x", None),
    ],
)
def test_a_crawl_delay_goes_for_its_whole_group(text: str, seconds: float | None) -> None:
    assert parse_robots(text.encode()).crawl_delay == seconds
    assert not allowed(text, "/x")


def test_many_delays_of_others_do_not_hide_ours() -> None:
    others = "".join(f"user-agent: b{n}\ncrawl-delay: {n}\ndisallow: /\n" for n in range(3000))
    assert (
        parse_robots((others + "user-agent: lycosa\ncrawl-delay: 5\nallow: /").encode()).crawl_delay
        == 5
    )


def test_crawl_delay_is_that_of_our_group() -> None:
    text = b"user-agent: *\ncrawl-delay: 5\ndisallow: /x\nuser-agent: a\ncrawl-delay: 7\nallow: /\n"
    assert parse_robots(text).crawl_delay == 5
    assert parse_robots(text, "a").crawl_delay == 7
    assert parse_robots(text + b"user-agent: lycosa\ndisallow:\n").crawl_delay is None
    assert parse_robots(text + b"user-agent: *\ncrawl-delay: 3\n").crawl_delay == 5


def test_sitemaps() -> None:
    text = """
Sitemap: https://example.com/a.xml
user-agent: other
disallow: /
SITEMAP: HTTPS://Example.com/b.xml   # second
site-map: http://other.org/c.xml.gz
sitemap: https://example.com/a.xml
sitemap: /relative.xml
sitemap: ftp://example.com/x
sitemap:
"""
    rules = parse_robots(text.encode())
    assert rules.sitemaps == (
        "https://example.com/a.xml",
        "https://example.com/b.xml",
        "http://other.org/c.xml.gz",
    )
    many = "".join(f"sitemap: https://example.com/{n}\n" for n in range(500))
    assert len(parse_robots(many.encode()).sitemaps) == 100


def test_explanations_name_the_rule() -> None:
    rules = parse_robots(b"user-agent: *\nDisallow: /a\nallow: /*/b$\nDISALLOW: /caf\xe9")
    assert rules.match("/a/x") == (False, "Disallow: /a")
    assert rules.match("/a/b") == (True, "Allow: /*/b$")
    assert rules.match("/caf%e9") == (False, "Disallow: /caf%E9")
    assert rules.match("/z") == (True, "")


def test_dump_holds_only_what_applies_to_us() -> None:
    text = b"user-agent: other\ndisallow: /not-ours\nuser-agent: *\ndisallow: /ours\n"
    assert parse_robots(text).dump() == b"D/ours"
    assert ALLOW_ALL.dump() == b"" and Rules.load(b"") == ALLOW_ALL
    large = parse_robots(
        b"user-agent: *\n" + b"".join(b"disallow: /d%d\n" % n for n in range(5000))
    )
    assert len(large.dump()) < 20_000 and Rules.load(large.dump()) == large


# --- a slow, obvious reference --------------------------------------------------------------

UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def normal(raw: bytes, keep: str) -> str:
    """One octet at a time: decode unreserved escapes, encode what is not plain."""
    out, rest = "", raw
    while rest:
        if re.match(rb"%[0-9a-fA-F]{2}", rest):
            octet, rest = int(rest[1:3], 16), rest[3:]
            out += chr(octet) if chr(octet) in UNRESERVED else f"%{octet:02X}"
        else:
            octet, rest = rest[0], rest[1:]
            out += chr(octet) if chr(octet) in UNRESERVED + keep else f"%{octet:02X}"
    return out


def reference(lines: list[tuple[str, str]], target: str) -> bool:
    """RFC 9309 as one would say it: each rule a regular expression, the longest match decides."""
    if target == "/robots.txt":
        return True
    groups: list[tuple[list[str], list[tuple[str, str]]]] = []
    for key, value in lines:
        if key == "user-agent":
            if not groups or groups[-1][1]:
                groups.append(([], []))
            groups[-1][0].append(value.partition("/")[0].strip().lower())
        elif groups and key in ("allow", "disallow"):
            groups[-1][1].append((key, value))
    name = "lycosa" if any("lycosa" in names for names, _ in groups) else "*"
    best = (0, True)
    for names, rules in groups:
        for key, value in rules if name in names else []:
            anchored = value.endswith("$")
            body = normal(value.removesuffix("$").encode(), ":/?#[]@!&()+,;=*%")
            expression = ".*".join(map(re.escape, body.split("*"))) + (r"\Z" if anchored else "")
            text = normal(target.encode(), ":/?#[]@!&()+,;=%")
            if value[:1] in ("/", "*") and re.match(expression, text, re.DOTALL):
                best = max(best, (len(body) + anchored, key == "allow"))
    return best[1]


PATHS = st.lists(
    st.sampled_from(
        ["/", "a", "b", "ab", ".php", "?", "%61", "%2f", "%2F", "é", "$", "'", "%", "="]
    ),
    max_size=6,
).map(lambda pieces: "/" + "".join(pieces))
PATTERNS = st.lists(
    st.sampled_from(["/", "a", "b", "ab", "*", "*", ".php", "?", "%61", "%2F", "é", "$", "'", "%"]),
    max_size=6,
).flatmap(lambda pieces: st.sampled_from(["/", "*", ""]).map(lambda first: first + "".join(pieces)))
LINES = st.one_of(
    st.tuples(st.sampled_from(["allow", "disallow"]), PATTERNS),
    st.tuples(st.just("user-agent"), st.sampled_from(["*", "lycosa", "Lycosa/2", "other"])),
    st.tuples(st.sampled_from(["crawl-delay", "sitemap", "host"]), st.sampled_from(["3", "x"])),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=12), st.lists(PATHS, min_size=1, max_size=4), st.booleans())
@example([("user-agent", "*"), ("disallow", "/a*a*b$"), ("allow", "/a*b")], ["/aab", "/aabb"], True)
def test_against_the_reference(
    lines: list[tuple[str, str]], targets: list[str], star_first: bool
) -> None:
    if star_first:
        lines = [("user-agent", "*"), *lines]
    body = "\n".join(f"{key}: {value}" for key, value in lines).encode()
    rules = parse_robots(body)
    stored = Rules.load(rules.dump())
    assert stored == rules and stored.dump() == rules.dump()
    for target in [*targets, "/robots.txt"]:
        expected = reference(lines, target)
        assert rules.allows(target) is expected, (body, target)
        verdict, line = stored.match(target)
        assert verdict is expected
        assert line == "" or line.startswith("Allow: " if expected else "Disallow: ")


@settings(max_examples=200)
@given(st.binary(max_size=300), st.text(max_size=50))
def test_no_input_raises(body: bytes, target: str) -> None:
    rules = parse_robots(b"user-agent: *\ndisallow: " + body)
    assert Rules.load(rules.dump()) == rules
    rules.allows("/" + target)
    rules.match(target)


# --- hostile files --------------------------------------------------------------------------


def seconds(call: Callable[..., object], *values: object) -> float:
    return cpu_seconds(lambda: call(*values), enough=0.0, tries=3)


LONG = "/" + "a" * 1990
HOSTILE: dict[str, Callable[[int], bytes]] = {
    "stars": lambda n: b"allow: /*a*a*a*a*a*b%d" % n,
    "leaves": lambda n: b"allow:/*%x" % n,
    "chains": lambda n: b"disallow:/*%s%s" % (b"a" * (n + 1), b"*a" * 1000),
    "periodic": lambda n: b"allow:/*%sb%sc" % (b"a" * (n % 90), b"a" * (n // 90)),
    "nested": lambda n: b"disallow:/%s" % (b"a" * n),
    "nested stars": lambda n: b"allow:/%s*b%d" % (b"a" * n, n),
    "escapes": lambda n: b"disallow:/%d%s" % (n, b"%41\xff" * 200),
    "more escapes": lambda n: b"disallow:/%d%s" % (n, b"%41a\xff/" * 200),
    "mixed case": lambda n: b"disallow:/%d%s" % (n, b"%aFa" * 200),
    "short": lambda n: b"allow:/%x" % n,
    "agents": lambda n: b"user-agent:%d" % n,
    "sitemaps": lambda n: b"sitemap:http://%d:x/" % n,
    "spaces": lambda n: b"allow" + b" " * 5000 + b"x y",
    "delays": lambda n: b"crawl-delay:%d" % n,
    "agents with delays": lambda n: b"user-agent:%d\ncrawl-delay:%d" % (n, n),
    "long delays": lambda n: b"crawl-delay:" + b"9" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_little(name: str) -> None:
    """Limits are ten times what was measured (50 ms, 4 ms): a blow-up is a thousandfold."""
    make, lines, size = HOSTILE[name], [b"user-agent: *"], 0
    while size < MAX_BYTES:
        lines.append(make(len(lines)))
        size += len(lines[-1]) + 1
    body = b"\n".join(lines)
    rules = parse_robots(body)
    rules.allows("/")
    assert seconds(parse_robots, body) < 0.5
    for target in (LONG, "/" + "aaaaaaab" * 248, "/" + "0123456789abcdef" * 124):
        assert seconds(rules.allows, target) < 0.05


def test_too_many_wildcards_forbid_more_never_less() -> None:
    lines = [f"disallow: /*x{n}*y{n}" for n in range(20_000)] + ["allow: /*a", "disallow: /b*z"]
    rules = parse_robots(all_of(*lines).encode())
    assert not rules.allows("/x17y17"), "kept exactly"
    assert not rules.allows("/x19999y19999"), "widened"
    assert rules.match("/harmless")[0] is False
    few = parse_robots(all_of(*lines[:1000]).encode())
    assert few.allows("/harmless") and not few.allows("/x17-y17") and few.allows("/x17-y99")


def test_who_has_too_many_rules_forbids_everything() -> None:
    flood = b"".join(b"Allow: /%d\n" % i for i in range(MAX_RULES + 1))
    found = parse_robots(b"User-agent: *\nCrawl-delay: 7\n" + flood)
    assert not found.allows("/") and found.crawl_delay == 7
    assert parse_robots(b"User-agent: *\n" + flood[: flood.rfind(b"Allow")]).allows("/")
    # Whoever names us is not bound by what the others may not.
    named = b"\nUser-agent: lycosa\nDisallow: /x\n"
    assert parse_robots(b"User-agent: *\n" + flood + named).allows("/")


def test_patterns_are_normalised_together_as_alone() -> None:
    lines = ["/a%41", "/$x$", "/\u00e4*", "/plain", "/%zz", "/a b$", "*'", "/x$$", "/%e4%F6"]
    body = "User-agent: *\n" + "".join(f"Disallow: {line}\n" for line in lines)
    together = parse_robots(body.encode()).dump().split(b"\n")
    alone = [parse_robots(f"User-agent: *\nDisallow: {line}\n".encode()).dump() for line in lines]
    assert together == alone


def test_groups_and_tags_are_for_the_bot_of_that_name() -> None:
    from lycosa.politeness.robots_tag import wishes

    body = b"User-agent: lycosa\nDisallow: /a\n\nUser-agent: Example-Bot/2\nDisallow: /b\n"
    for name, forbidden, allowed in (("example-BOT", "/b", "/a"), ("lycosa", "/a", "/b")):
        rules = parse_robots(body, name)
        assert not rules.allows(forbidden) and rules.allows(allowed)
        assert rules.lines() == [f"Disallow: {forbidden}"]
    assert wishes(["Example-Bot: noindex"], "example-bot") == (True, False)
    assert wishes(["Example-Bot: noindex"]) == (False, False)
    assert wishes(["lycosa: noindex"], "Example-Bot") == (False, False)


def test_the_lines_that_hold_for_us_can_be_read() -> None:
    body = b"User-agent: *\nAllow: /x/*.html$\nDisallow: /\nCrawl-delay: 2.5\n"
    body += b"Sitemap: https://a.test/s.xml\n"
    lines = [
        "Allow: /x/*.html$",
        "Disallow: /",
        "Crawl-delay: 2.5",
        "Sitemap: https://a.test/s.xml",
    ]
    assert parse_robots(body).lines() == lines
    assert Rules.load(parse_robots(body).dump()).lines() == lines
    assert Rules().lines() == []
