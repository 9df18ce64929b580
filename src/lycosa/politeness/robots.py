"""What a robots.txt allows us: RFC 9309, with the leniency that Google's parser has made usual.

Owns parsing, matching, Crawl-delay and Sitemap lines, and the compact form in which the rules that
apply to us are stored. Pure. Must not know when robots.txt is fetched, what a 404 or a 503 means
for it, or how a delay is kept.

Nothing that a site can write makes a match expensive: a match finds literal beginnings by
bisection; wildcard rules share a tree of their literal pieces, and a match searches each piece
once; the size of the tree and the work of one match are limited. Beyond the limits we take more
for forbidden, never less.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from string import hexdigits

from lycosa.records import Url
from lycosa.urls.canonical import canonical

AGENT_TOKEN = "lycosa"
MAX_BYTES = 500 * 1024  # RFC 9309, 2.5: at least this much must be read
# Rules for us in one file; a file with more forbids us everything. The largest real files have some
# thousand, and 500 KiB of rules of ordinary length are 17,000. Each holds the loop for 2 us
# when it is read and first asked: once a day, and a file so large is rarer than S3 asks for.
MAX_RULES = 20_000
MAX_SITEMAPS = 100
_DELAY_LINES = 1_000  # Crawl-delay lines looked at
_STEP = 65_536  # bytes looked through at a time
_SITEMAP_TRIES = 1000  # a file of bad sitemap lines must not cost more than this many parses

# Wildcard pieces that are kept: about 300 bytes each. Large files of real sites have some hundred.
_MAX_PIECES = 10_000
# Characters compared in one match, about a nanosecond each. Only made-up files come near it.
_MAX_WORK = 4_000_000

Rule = tuple[bool, str]
"""Allowed or not, and the pattern in normal form."""

# One line that means something to us: its first letter tells which. Misspellings are those that
# Google's parser accepts; so is a line whose colon is missing, if exactly one word follows.
_LINES = re.compile(
    rb"^[ \t\v\f]*+(user[- ]?agent|allow|disallow|dissallow|dissalow|disalow|diasllow|disallaw"
    rb"|crawl-delay|site-?map)(?:[^:\n#]*:|[ \t]+(?=[^ \t:#\n]+[ \t]*(?:#|$)))([^\n#]*)",
    re.IGNORECASE | re.MULTILINE,
)
# Others are too short to mean anything: a large file of nothing else would cost 0.1 us each.
_LONG_LINES = re.compile(rb"[^\n]{6,}").findall
_AGENT, _ALLOW, _DISALLOW, _DELAY, _SITEMAP = b"uadcs"
_RULES = (_DISALLOW, _ALLOW)

_token = re.compile(rb"[A-Za-z_-]+").match
# At most 300 digits each: a number of 500 KiB need not be read to its end to be too large.
_number = re.compile(
    rb"\+?(?:[0-9]{0,300}\.?[0-9]{1,300}(?:e[+-]?[0-9]{1,300}\b)?|inf(?:inity)?\b)", re.IGNORECASE
).match


def parse_robots(body: bytes, agent: str = AGENT_TOKEN) -> Rules:
    """The rules of a robots.txt for one user agent; never raises."""
    ours: list[tuple[bool, bytes]] = []  # rules for our own name
    everyone: list[tuple[bool, bytes]] = []  # rules for '*'
    delays: dict[bool, float] = {}  # by: in a group with our name
    sitemaps: list[bytes] = []
    named = mine = common = False  # a group has our name; the current group is ours, is for '*'
    in_agents = False  # the last line that counts was a User-agent
    wait = _Delay()  # what the current group asks for
    product = _product(agent.encode())
    for key, value in _lines(_readable(body)):
        kind = key[0] | 0x20
        value = value.strip()
        if kind in _RULES:
            in_agents = False
            if mine or common:
                group = ours if mine else everyone
                if len(group) <= MAX_RULES:
                    group.append((kind == _ALLOW, value))
        elif kind == _AGENT:
            if not in_agents:
                in_agents, mine, common = True, False, False
                wait.begin()
            mine = mine or (product != b"" and _product(value) == product)
            common = common or (value[:1] == b"*" and not value[1:2].strip())
            named = named or mine
            wait.note(delays, mine, common)
        elif kind == _SITEMAP:
            sitemaps.append(value)
        elif in_agents or mine or common:
            # No rule of the RFC: it does not end the list of agents (2.2.1, 2.2.4), and goes for
            # the whole group, those whose names follow included.
            wait.values.append(value)
            wait.note(delays, mine, common)
    lines = ours if named else everyone
    rules = _normal_rules(lines) if len(lines) <= MAX_RULES else DISALLOW_ALL._rules
    return Rules(rules, delays.get(named), _absolute(sitemaps))


def _lines(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The lines that mean something, found in steps: 50,000 of them at once need 10 MB."""
    at = 0
    while at < len(body):
        end = body.find(b"\n", at + _STEP) + 1 or len(body)
        yield from _LINES.findall(body[at:end])
        at = end


def _readable(body: bytes) -> bytes:
    """The first MAX_BYTES of the file, with one kind of line end."""
    cut = len(body) > MAX_BYTES
    body = body[: MAX_BYTES + 1]
    # Without its NULs and mark, UTF-16 of ASCII reads like ASCII.
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"):
        body = body.removeprefix(mark)
    body = body.replace(b"\0", b"").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if cut:
        body = body.rpartition(b"\n")[0]
    return b"\n".join(_LONG_LINES(body)) if len(body) > _STEP else body


def _product(value: bytes) -> bytes:
    """The product token at the start of a user agent, in lower case: 'Lycosa/1.0' -> 'lycosa'."""
    token = _token(value)
    return token[0].lower() if token else b""


MAX_DELAY = 1e9  # seconds: three decades are as good as for ever, and fit into a database


class _Delay:
    """The longest Crawl-delay of a group, read when the group turns out to be ours."""

    __slots__ = ("_left", "_seconds", "values")

    def __init__(self) -> None:
        self.values: list[bytes] = []  # not read yet
        self._seconds: float | None = None
        self._left = _DELAY_LINES

    def begin(self) -> None:
        """Another group."""
        self.values.clear()
        self._seconds = None

    def note(self, delays: dict[bool, float], mine: bool, common: bool) -> None:
        """Enter it into `delays`, by whether the group has our name, if it is the longest."""
        if not (mine or common):
            return
        for value in self.values[: self._left]:
            self._left -= 1
            seconds = _seconds(value)
            if seconds is not None:
                self._seconds = max(seconds, self._seconds or 0.0)
        self.values.clear()
        if self._seconds is not None:
            for named, concerned in ((True, mine), (False, common)):
                if concerned:
                    delays[named] = max(self._seconds, delays.get(named, 0.0))


def _seconds(value: bytes) -> float | None:
    """A Crawl-delay as people write it, also as 1e9 or inf; None: no number, or a negative one."""
    number = _number(value)
    return min(float(number[0]), MAX_DELAY) if number else None


def _absolute(sitemaps: list[bytes]) -> tuple[Url, ...]:
    """The sitemaps that are URLs, each once."""
    found: dict[Url, None] = {}
    for value in sitemaps[:_SITEMAP_TRIES]:
        url = canonical(value.decode("utf-8", "replace"))
        if url:
            found[url] = None
            if len(found) == MAX_SITEMAPS:
                break
    return tuple(found)


# Percent-encoding, RFC 9309 2.2.2: unreserved characters decoded, all others that are not plain
# in a URL encoded. "'" is encoded too, because URL parsers encode it in queries but not in paths;
# '*' and '$' of a URL become %2A and %24, as 2.2.3 asks, so that in a pattern they are special.
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_PLAIN = _UNRESERVED + b":/?#[]@!&()+,;="
_NORMAL = [bytes((n,)) if n in _UNRESERVED else b"%%%02X" % n for n in range(256)]

_plain_target = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!&()+,;=]*").fullmatch
_plain_patterns = re.compile(rb"[A-Za-z0-9\-._~:/?#\[\]@!&()+,;=*\n]*").fullmatch
# Runs of escapes, and of octets to be escaped; a '%' that begins no escape stays on both sides.
_ESCAPES = rb"(?:%[0-9A-Fa-f]{2})+"
_UNPLAIN = re.compile(_ESCAPES + rb"|[^%" + re.escape(_PLAIN) + rb"]++")
# A '$' at the end of a pattern (of a line) stays as it is.
_UNPLAIN_IN_PATTERN = re.compile(
    _ESCAPES + rb"|[^%" + re.escape(_PLAIN) + rb"*\n$]++|\$+(?!$)", re.MULTILINE
)
# Runs in all rules of a file: a third of a microsecond each. Real text has a tenth of them.
_MAX_RUNS = 60_000
_SHORT_RUNS = {bytes((octet,)): _NORMAL[octet] for octet in range(256)} | {
    f"%{high}{low}".encode(): _NORMAL[int(high + low, 16)]
    for high in hexdigits
    for low in hexdigits
}


def _normal_run(match: re.Match[bytes]) -> bytes:
    run = match[0]
    short = _SHORT_RUNS.get(run)
    if short is not None:
        return short
    if run[0] != 0x25:  # '%'
        return b"%" + run.hex("%").upper().encode()
    octets = bytes.fromhex(run.replace(b"%", b"").decode())
    if len(octets.translate(None, _UNRESERVED)) == len(octets):
        return run.upper()
    return b"".join([_NORMAL[octet] for octet in octets])


def _normal_target(target: str) -> str:
    return _UNPLAIN.sub(_normal_run, target.encode("utf-8", "surrogatepass")).decode("ascii")


def _normal_rules(lines: list[tuple[bool, bytes]]) -> tuple[Rule, ...]:
    """The rules that can match at all, each once: a pattern begins with '/' or '*'."""
    distinct = [line for line in dict.fromkeys(lines) if line[1][:1] in (b"/", b"*")]
    patterns = _normal_patterns([value for _, value in distinct])
    if patterns is None:
        return DISALLOW_ALL._rules
    return tuple(dict.fromkeys(zip([allow for allow, _ in distinct], patterns, strict=True)))


def _normal_patterns(values: list[bytes]) -> list[str] | None:
    """All patterns at once: no value holds a line end, and one long text is cheaper than many.
    None if that would take too long."""
    text = b"\n".join(values)
    if not _plain_patterns(text):
        text, runs = _UNPLAIN_IN_PATTERN.subn(_normal_run, text, _MAX_RUNS)
        if runs == _MAX_RUNS:
            return None
    return text.decode("ascii").split("\n") if values else []


class Rules:
    """The rules of one origin for us: compiled on first use, and storable."""

    __slots__ = ("_compiled", "_rules", "crawl_delay", "sitemaps")

    def __init__(
        self,
        rules: tuple[Rule, ...] = (),
        crawl_delay: float | None = None,
        sitemaps: tuple[Url, ...] = (),
    ) -> None:
        self._rules = rules
        self._compiled: _Matcher | None = None
        self.crawl_delay = crawl_delay  # seconds, None: not asked for
        self.sitemaps = sitemaps

    def allows(self, target: str) -> bool:
        """True if a URL of this path and query may be fetched."""
        if not self._rules or target == "/robots.txt":
            return True
        matcher = self._compiled
        if matcher is None:
            matcher = self._compiled = _Matcher(self._rules)
        if not _plain_target(target):
            target = _normal_target(target)
        return matcher.best(target) & 1 == 1

    def match(self, target: str) -> tuple[bool, str]:
        """Allowed or not, and the rule that decided it ('' if none did)."""
        if not self._rules or target == "/robots.txt":
            return True, ""
        target = _normal_target(target)
        best = _Matcher(self._rules).best(target)
        if best == _TOO_COSTLY:
            return False, "(too many wildcards)"
        equals = [rule for rule in self._rules if _rank(*rule) == best]
        # A rule beyond the limit was widened, so it may not match in the strict sense.
        decided = [rule for rule in equals if matches(rule[1], target)] or equals
        return best & 1 == 1, _line(*decided[0]) if decided else ""

    def lines(self) -> list[str]:
        """What applies to us, as lines of a robots.txt in normal form, for people."""
        asked = [] if self.crawl_delay is None else [f"Crawl-delay: {self.crawl_delay:g}"]
        return [
            *(_line(*rule) for rule in self._rules),
            *asked,
            *(f"Sitemap: {url}" for url in self.sitemaps),
        ]

    def dump(self) -> bytes:
        """Compact bytes for the database; `load` gives back an equal object."""
        lines = [("A" if allow else "D") + pattern for allow, pattern in self._rules]
        if self.crawl_delay is not None:
            lines.append(f"C{self.crawl_delay!r}")
        lines += ["S" + url for url in self.sitemaps]
        plain = "\n".join(lines).encode("ascii")
        return plain if len(plain) < 1024 else b"Z" + zlib.compress(plain, 1)

    @staticmethod
    def load(stored: bytes) -> Rules:
        """The rules that `dump` stored."""
        plain = zlib.decompress(stored[1:]) if stored[:1] == b"Z" else stored
        lines = plain.decode("ascii").split("\n")
        rules = tuple((line[0] == "A", line[1:]) for line in lines if line[:1] in ("A", "D"))
        delays = [float(line[1:]) for line in lines if line[:1] == "C"]
        sitemaps = tuple(Url(line[1:]) for line in lines if line[:1] == "S")
        return Rules(rules, delays[0] if delays else None, sitemaps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.dump() == other.dump()

    def __hash__(self) -> int:
        return hash(self.dump())

    def __repr__(self) -> str:
        return f"<Rules: {len(self._rules)}, crawl delay {self.crawl_delay}>"


def _line(allow: bool, pattern: str) -> str:
    return f"{'Allow' if allow else 'Disallow'}: {pattern}"


def _rank(allow: bool, pattern: str) -> int:
    """Orders rules: more octets win, then Allow. Its last bit is the verdict."""
    return 2 * len(pattern) + allow


_NO_RULE = 1  # below every rule, and allowing
_TOO_COSTLY = 1 << 40  # above every rule, and forbidding


def matches(pattern: str, target: str) -> bool:
    """Whether one pattern matches, both in normal form: pieces in order, leftmost first."""
    prefix, middle, last = _pieces(pattern)
    if not target.startswith(prefix):
        return False
    at = len(prefix)
    for piece in middle:
        at = target.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if last is None:
        return True
    if "*" not in pattern:
        return at == len(target)
    return target.endswith(last) and len(target) - len(last) >= at


def _pieces(pattern: str) -> tuple[str, list[str], str | None]:
    """Literal beginning, literal pieces that follow in order, and literal end if anchored."""
    body = pattern.removesuffix("$")
    prefix, *rest = body.split("*")
    last = None
    if body is not pattern and len(body) < len(pattern):
        last = rest.pop() if rest else ""
    return prefix, [piece for piece in rest if piece], last


class _Node:
    """What may follow after the same literal pieces of wildcard rules."""

    __slots__ = ("cost", "ends", "next", "rank", "top")

    def __init__(self) -> None:
        self.rank = 0  # of the rule that ends here
        self.top = 0  # the highest rank here and below
        self.cost = 1  # comparisons for each character of a URL, at worst
        self.ends: dict[str, int] = {}  # ranks of rules that end with this text and '$'
        self.next: dict[str, _Node] = {}


class _Matcher:
    """The rules of one origin, arranged so that a match looks at few of them."""

    __slots__ = ("_exact", "_nodes", "_outer", "_prefixes", "_ranks", "_room")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._room = _MAX_PIECES
        self._exact: dict[str, int] = {}
        plain: dict[str, int] = {}
        wild: dict[str, _Node] = {}
        for allow, pattern in rules:
            if "*" in pattern or pattern[-1] == "$":
                self._place(allow, pattern, plain, wild)
            else:
                _raise(plain, pattern, 2 * len(pattern) + allow)
        self._prefixes = sorted(plain.keys() | wild.keys())
        self._ranks = [plain.get(prefix, 0) for prefix in self._prefixes]
        self._nodes = [wild.get(prefix) for prefix in self._prefixes]
        self._outer = _outer(self._prefixes)

    def _place(
        self, allow: bool, pattern: str, plain: dict[str, int], wild: dict[str, _Node]
    ) -> None:
        prefix, middle, last = _pieces(pattern)
        rank = _rank(allow, pattern)
        if "*" not in pattern:
            _raise(self._exact, prefix, rank)
        elif not middle and not last:
            _raise(plain, prefix, rank)  # a last '*' changes nothing but the rank
        elif len(middle) < self._room:
            self._room -= len(middle) + 1
            _grow(wild.setdefault(prefix, _Node()), middle, last, rank)
        elif not allow:
            _raise(plain, prefix, rank)

    def best(self, target: str) -> int:
        """The highest rank among the rules that match."""
        best = self._exact.get(target, _NO_RULE)
        prefixes, outer, nodes = self._prefixes, self._outer, self._nodes
        at = bisect_right(prefixes, target) - 1
        # If any prefix of the target is listed, it is the nearest one below or around that.
        while at >= 0 and not target.startswith(prefixes[at]):
            at = outer[at]
        todo = []
        while at >= 0:
            if self._ranks[at] > best:
                best = self._ranks[at]
            node = nodes[at]
            if node is not None and node.top > best:
                todo.append((node, len(prefixes[at])))
            at = outer[at]
        return _search(todo, target, best) if todo else best


def _raise(ranks: dict[str, int], text: str, rank: int) -> None:
    if ranks.get(text, 0) < rank:
        ranks[text] = rank


def _outer(prefixes: list[str]) -> list[int]:
    """For each of the sorted prefixes, the index of the longest other that it begins with."""
    outer: list[int] = []
    for at, prefix in enumerate(prefixes):
        around = at - 1
        while around >= 0 and not prefix.startswith(prefixes[around]):
            around = outer[around]
        outer.append(around)
    return outer


def _grow(node: _Node, middle: list[str], last: str | None, rank: int) -> None:
    """Adds a wildcard rule below the node of its literal beginning."""
    node.top = max(node.top, rank)
    for piece in middle:
        if piece not in node.next:
            node.next[piece] = _Node()
            node.cost += 1 + len(piece) // 4
        node = node.next[piece]
        node.top = max(node.top, rank)
    if last:
        node.cost += 1
        _raise(node.ends, last, rank)
    else:
        node.rank = max(node.rank, rank)


def _search(todo: list[tuple[_Node, int]], target: str, best: int) -> int:
    """The highest rank in trees of pieces, each searched from a position, if above `best`.

    Taking the leftmost place for each piece leaves the most room for the rest, so every node has
    one position and is visited once.
    """
    find = target.find
    work = _MAX_WORK // (len(target) or 1)
    while todo:
        node, start = todo.pop()
        work -= node.cost
        if work < 0:
            return _TOO_COSTLY
        for last, rank in node.ends.items():
            if rank > best and target.endswith(last) and len(target) - len(last) >= start:
                best = rank
        for piece, child in node.next.items():
            if child.top > best:
                at = find(piece, start)
                if at >= 0:
                    if child.rank > best:
                        best = child.rank
                    if child.top > best:
                        todo.append((child, at + len(piece)))
    return best


ALLOW_ALL = Rules()
DISALLOW_ALL = Rules(((False, "/"),))
