"""Everything of ours that reads foreign bytes, each as a function of bytes.

A target raises where an answer is wrong: whatever is found goes through the public functions, and
where there are two readers, a compiled one and its twin in Python, both read and are compared. A
target stays the same when what it calls is rewritten."""

from __future__ import annotations

import ctypes
import gc
import sys
import tempfile
from array import array
from collections.abc import Callable
from functools import partial
from html.entities import html5
from pathlib import Path
from types import ModuleType
from typing import Any

from xxhash import xxh3_64_intdigest

from lycosa.archive import ledger, text
from lycosa.archive.segments import segment_id, segment_name
from lycosa.engine import harvest
from lycosa.engine.sent_links import SentLinks
from lycosa.engine.visit_result import Result
from lycosa.errors import LycosaError
from lycosa.fetch import receive, transfer
from lycosa.frontier.log import domain_log
from lycosa.frontier.log.domain_log import Limits, LogChanges
from lycosa.frontier.log.twin import TwinIndex
from lycosa.frontier.protocol import Batch, LinkBlock
from lycosa.metrics import Stats
from lycosa.node import seed_file
from lycosa.page import blocks, charset, decode, encoding, html, language, simhash, sitemaps
from lycosa.politeness import retry as retrying
from lycosa.politeness import robots
from lycosa.records import Flag, Response, Url
from lycosa.urls import canonical as urls
from lycosa.urls import domains, exclusions, scope
from lycosa.urls.fingerprint import SUSPECTS, fingerprint
from support.harvest_bench import Bench
from support.made import block, made_request, queued

from .judge import PATIENCE, Target

FEATURES: Any
try:
    from lycosa.page._scan import features as FEATURES  # noqa: N812
except ImportError:
    FEATURES = None
_links: ModuleType | None
_inbox: ModuleType | None
try:
    from lycosa.fetch import _receive as _inbox
    from lycosa.urls import _links
except ImportError:
    _inbox = _links = None
try:
    import _testcapi  # fails chosen allocations; not every Python has it
except ImportError:
    _testcapi = None

TARGETS: dict[str, Target] = {}
COMPILED_SCAN, COMPILED_JOIN = html.scan, harvest.join
TYPES = ("text/html", "text/html; charset=", "", "text/plain", "application/xml", "text/css; x=")


def target(function: Target) -> Target:
    TARGETS[function.__name__.rstrip("_")] = function
    return function


def twice(function: Target) -> Target:
    """What reads an input by both readers may take as long as both. The sanitizers' allocator slows
    the one in Python forty-fold, more than SLOWER says: 128 KiB of `<p>`, 64 ms, take 3 s."""
    PATIENCE[function] = 5
    return target(function)


def offline(function: Target) -> Target:
    """What never runs beside fetches may take longer."""
    PATIENCE[function] = 10
    return target(function)


def take(data: bytes, count: int) -> tuple[list[int], bytes]:
    """Small numbers from the front of an input, zeros where it is too short."""
    return [*data[:count], *[0] * (count - len(data[:count]))], data[count:]


def without_memory(at: int, call: Callable[[], object]) -> None:
    """Lets the allocation number `at` of a call fail: it may say so, and no more."""
    if _testcapi is None:
        return
    try:
        _testcapi.set_nomemory(at, at + 1)
        try:
            call()
        finally:
            _testcapi.remove_mem_hooks()
    except MemoryError:
        pass


# --- pages ---


@target
def scan(data: bytes) -> None:
    """The compiled reader alone, with every limit."""
    if COMPILED_SCAN is None:
        return
    (items, chars, at), page = take(data, 3)
    items = (0, 1, 3, 12_000)[items % 4]
    chars = (0, 1, 50, 4_000_000)[chars % 4]
    found, notes, dropped, scores, main, _ = COMPILED_SCAN(page, html5, items, chars)
    assert isinstance(found, str) and len(notes) <= items and dropped >= 0
    assert len(scores) == len(blocks.lines_of(found)) and max(scores, default=0) <= 100
    assert bool(main) == bool(found) and len(main) <= len(found)
    if at % 8 == 7:
        without_memory(at // 8, partial(COMPILED_SCAN, page, html5, items, chars))
    if at % 8 == 6:
        text, columns, counts = FEATURES(page, html5, page[: at // 8])
        assert sum(counts) == len(blocks.lines_of(text)) and len(columns) % max(len(counts), 1) == 0


@twice
def page(data: bytes) -> None:
    """A page by its type, read by both readers."""
    (kind,), body = take(data, 1)
    content_type = TYPES[kind % len(TYPES)]
    if content_type.endswith("="):
        label, _, body = body.partition(b"\n")
        content_type += label.decode("latin-1")
    for reader in {COMPILED_SCAN, None}:
        html.scan = reader
        try:
            found = html.parse(body, content_type, obey_nofollow=kind < 128)
        finally:
            html.scan = COMPILED_SCAN
        assert len(found.links) <= html.MAX_LINKS and len(found.text) <= html.MAX_TEXT
        assert len(found.title) <= html.MAX_TITLE
        assert all(len(link) <= 4 * html.MAX_HREF for link in found.links)
        found.text.encode()  # no half of a surrogate pair
        assert all(found.text[start:end].strip() for start, end, _ in found.blocks)


@twice
def text_hash(data: bytes) -> None:
    """A text in 64 bits, by the compiled module and by its twin."""
    (how, at), rest = take(data, 2)
    text = rest.decode("utf-8", "surrogateescape" if how > 250 else "replace")
    found = simhash.simhash(text)
    assert found == simhash.simhash_in_python(text)
    assert -(2**63) <= found < 2**63
    assert bool(found) == any(True for _ in simhash.runs(text))
    if at % 8 == 7 and simhash.compiled is not None:
        without_memory(at // 8, partial(simhash.compiled, text))


# --- links ---

MOST = html.MAX_LINKS  # hrefs of one page
ENDINGS = frozenset(["pdf", "appimage"])
# Functions without a frame of Python's: one that can't be allocated is none of our business.
HASHES = (xxh3_64_intdigest, bytes.hex, xxh3_64_intdigest, partial(pow, 1 << 70, 1))
PLACES = (domains.place_of_origin, str.isspace, str)


@twice
def links(data: bytes) -> None:
    """hrefs line by line: joined by the compiled module and by its twin, with the same result."""
    (where, size, at), rest = take(data, 3)
    base = ("https://a.test/", "http://b.test:81/x;y/z", "https://a.test/d/e?f")[where % 3]
    hrefs = rest.decode("utf-8", "surrogateescape" if where > 250 else "replace").split("\n")[:MOST]
    found = [_linked(joiner, hrefs, base) for joiner in {COMPILED_JOIN, None}]
    assert all(each == found[0] for each in found), f"the twins differ: {found}"
    for url in found[0]:
        canonical(url)
    if _links is not None:
        _join(hrefs, where, size, at)


def _linked(joiner: harvest.Join | None, hrefs: list[str], base: str) -> list[str]:
    bench = fresh_bench()
    harvest.join = joiner
    try:
        bench.harvest._links(bench.held, list(hrefs), base, 1, bench.batch, bench.stats)
    finally:
        harvest.join = COMPILED_JOIN
    return sent(bench)


def sent(bench: Bench) -> list[str]:
    """The links that go to the store, each once: of two with one slot in `SentLinks` either may be
    forgotten and sent again, by the order in which they are joined."""
    return sorted({link[2] for link in bench.links})


def _join(hrefs: list[str], where: int, size: int, at: int) -> None:
    """The module itself, with arguments that it has to refuse among them."""
    assert _links is not None
    directory = ("http://a/", "http://a/b;c/", "http://a" + "/" * 9, "http://a/\xe9/")[where % 4]
    slots = array("q", bytes(8 * (1, 2, 64, 3, 0)[size % 5]))
    rules = (2, 4, 100, ENDINGS, HASHES[at % 4], hash, PLACES[at % 3], SUSPECTS)
    mixed = [*hrefs, 7, None] if size > 250 else hrefs
    found: list[object] = []
    place = (1, "a")
    call = partial(_links.join, mixed, "http://a", directory, place, 1, 0, found, slots, rules)
    try:
        left, _, count, data = call()
        own = list(LinkBlock(1, "a", 1, count, data).links())
        assert len(own) == count and len(found) + len(left) + count <= len(mixed)
        if at % 8 == 7:
            without_memory(at // 8, call)
    except (ValueError, TypeError, OverflowError):
        pass


def canonical(url: str) -> None:
    """What goes to the frontier is in its canonical form."""
    assert urls.canonical(url) == url, f"not canonical: {url!r}"


@target
def url(data: bytes) -> None:
    first, _, second = data.decode("utf-8", "replace").partition("\n")
    for found in (urls.canonical(first), urls.canonical(first, "https://a.test/b/c?d")):
        if found is None:
            continue
        canonical(found)
        assert len(found) <= urls.MAX_URL
        parts = urls.split(found)
        assert parts.host and urls.host_of(found) == parts.host
        domains.domain_of(parts.host)
        assert -(1 << 63) <= fingerprint(found) < 1 << 63
        if joined := urls.canonical(second, found):
            canonical(joined)


# --- responses ---


class Receiver:
    box: object = None

    def __init__(self, data: bytes) -> None:
        self.answers = list(data[:8])

    def answer(self) -> int:
        return self.answers.pop() if self.answers else 1

    def on_connected(self, peer: str) -> bool:
        if self.answer() == 66:
            raise ValueError("a bug in the receiver")
        return self.answer() % 2 == 1

    def on_body(self, first: bytes) -> int:
        answers: tuple[Any, ...] = (0, 1, 5_000, 1 << 62, -1, "x")
        size: int = answers[self.answer() % 6]  # the last is a bug in the receiver
        return size


PIECE = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
)
CONNECTED = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int
)


@target
def inbox_(data: bytes) -> None:
    """What libcurl would hand in, piece by piece; both inboxes end up with the same."""
    (limit,), rest = take(data, 1)
    ours, theirs = _Twins(receive, limit, data), None
    if _inbox is not None:
        theirs = _Twins(_inbox, limit, data)
    for _ in range(40):
        (what, size), rest = take(rest, 2)
        length = (size, size * 64, size * 1024)[what // 8 % 3]
        piece = (rest[:16] or b"x") * (length // 16 + 1)
        piece = piece[:length]
        for each in (ours, theirs):
            if each is not None:
                each.do(what % 8, piece)
        if theirs is not None:
            assert ours.state() == theirs.state()
    if theirs is not None and limit % 8 == 7:
        theirs.exhaust()


class _Twins:
    """An inbox that is handed what libcurl hands it, in Python or by address."""

    def __init__(self, kind: ModuleType, limit: int, data: bytes) -> None:
        self.quota = kind.Quota(1000 * (1 + limit))
        self.module = kind
        self.data = data
        self.box = kind.Inbox(Receiver(data), self.quota)
        self.compiled = hasattr(kind, "ON_BODY")

    def do(self, what: int, piece: bytes) -> None:
        if what == 0:
            self.box.empty()
        elif what == 1:
            self.box.empty()
            self.box = self.module.Inbox(Receiver(self.data), self.quota)
        elif what == 2 and self.compiled:
            CONNECTED(self.module.ON_CONNECTED)(id(self.box), b"127.0.0.1", b"", 1, 2)
        elif what == 2:
            _quietly(self.box.receiver.on_connected, "127.0.0.1")
        elif what < 6:
            self.header(piece)
        elif not self.box.cut and not self.box.refused:
            self.body(piece)

    def header(self, piece: bytes) -> None:
        if self.compiled:
            PIECE(self.module.ON_HEADER)(piece, 1, len(piece), id(self.box))
        else:
            self.box.take_header(piece)

    def body(self, piece: bytes) -> None:
        if self.compiled:
            PIECE(self.module.ON_BODY)(piece, 1, len(piece), id(self.box))
        elif piece:
            _quietly(self._take_body, piece)

    def _take_body(self, piece: bytes) -> None:
        if isinstance(self.box._limit, int) and self.box._limit <= 0:
            limit = self.box.receiver.on_body(piece)
            self.box._limit = limit if isinstance(limit, int) and limit > 0 else 0
            if not self.box._limit:
                return
        self.box.take_body(piece)

    def state(self) -> tuple[object, ...]:
        box = self.box
        return box.head(), box.body(), box.heard, box.size, box.cut, box.refused, self.quota.used

    def exhaust(self) -> None:
        """More than any machine has: refused, and nothing is read."""
        for function in (self.module.ON_HEADER, self.module.ON_BODY):
            box = self.module.Inbox(Receiver(bytes([3] * 8)), self.quota)
            PIECE(function)(b"x", 1, 1, id(box))
            PIECE(function)(b"x", 1, 1 << 61, id(box))
            assert box.size + box.heard == 1 and box.refused
        circle = self.module.Inbox(Receiver(b""), self.quota)
        receiver = Receiver(b"")
        receiver.box = circle
        circle.__init__(receiver, self.quota)
        del circle, receiver
        gc.collect(0)
        for wrong in ((), (1, 2), (None, None)):
            for kind in (self.module.Inbox, self.module.Quota):
                _quietly(kind, *wrong)


sys.unraisablehook = lambda found: None  # a receiver that raises is one of the inputs


def _quietly(call: Callable[..., object], *words: object) -> None:
    try:
        call(*words)
    except (ValueError, TypeError):
        pass


@target
def head(data: bytes) -> None:
    """A header block as it comes from the wire."""
    final, informational = transfer.final_head(data)
    assert informational >= 0 and final in data
    assert 0 <= transfer.status_of(final) <= 999
    transfer.wants_body(final, data[-600:])
    response = response_of(data, b"")
    for name in (b"content-type", b"content-encoding", b"location", b"x-robots-tag", b"x"):
        for value in response.headers(name):
            assert "\n" not in value


@target
def retry(data: bytes) -> None:
    header = data.decode("latin-1")
    seconds = retrying.retry_after(header, 1_800_000_000_000)
    assert seconds is None or seconds >= 0
    pause = retrying.busy_pause(header, 1_800_000_000_000, len(data) % 5, 70.0)
    assert pause.seconds >= 70


def response_of(head: bytes, body: bytes) -> Response:
    head = b"HTTP/1.1 200 X\r\n" + head + b"\r\n\r\n"
    return Response(made_request("https://a.test/p"), 200, head, body)


_BENCH: list[Bench] = []


def fresh_bench() -> Bench:
    """One for all inputs, made new in what an input may change."""
    if not _BENCH:
        _BENCH.append(Bench(keep_warc=True))
        _BENCH[0].harvest.sent = SentLinks(1 << 10)
    bench = _BENCH[0]
    bench.batch, bench.stats = Batch(), Stats()
    bench.harvest.sent.slots[:] = array("q", bytes(8 << 10))
    bench.held.queued = bench.held.pages = 0
    return bench


@twice
def whole(data: bytes) -> None:
    """A response's head, a blank line, its body: through the harvest, by both ways."""
    (flags,), rest = take(data, 1)
    found = [_harvested(joiner, rest, flags) for joiner in {COMPILED_JOIN, None}]
    assert all(each == found[0] for each in found), "the twins differ"


def _harvested(joiner: harvest.Join | None, data: bytes, flags: int) -> list[object]:
    head, _, body = data.partition(b"\r\n\r\n")
    url = queued("https://a.test/p", depth=1, flags=Flag.SITEMAP if flags % 4 == 3 else 0)
    bench = fresh_bench()
    result = Result(bench.held, 1.0, 2.0, requests=1)
    result.page = (url, response_of(head, body))
    harvest.join = joiner
    try:
        bench.harvest.take(result, bench.batch, bench.stats)
    finally:
        harvest.join = COMPILED_JOIN
    (row,) = bench.batch.pages
    assert row.outcome
    for link in bench.links:
        canonical(link[2])
    return [row.outcome, row.title, row.text_row, sent(bench)]


# --- other formats ---


@target
def robots_(data: bytes) -> None:
    rules = robots.parse_robots(data)
    for path in ("/", "/a/b.html?c=d", "/%7Euser/é", "/" + "a" * 500):
        rules.allows(path)
        rules.match(path)
    assert robots.Rules.load(rules.dump()) == rules
    assert rules.crawl_delay is None or rules.crawl_delay >= 0


@target
def sitemap(data: bytes) -> None:
    found = sitemaps.parse(data, 1000)
    assert len(found.urls) <= 1000


@target
def charset_(data: bytes) -> None:
    content_type, _, body = data.partition(b"\n")
    kind = content_type.decode("latin-1")
    tld = kind[-3:]
    charset.sniff(body, kind)
    assert charset.is_utf8(body) == charset.is_utf8_in_python(body)
    found, name = charset.to_text(body, kind, tld)
    assert isinstance(found, str) and name
    page, _ = charset.to_utf8(body, kind)
    assert isinstance(page, bytes)
    assert charset.guess(body, tld) == encoding.label(charset.guess(body, tld))
    encoding.label(kind)


@target
def language_(data: bytes) -> None:
    declared, _, body = data.partition(b"\n")
    tag = declared.decode("latin-1")
    for found in (
        body.decode("utf-8", "replace"),
        body.decode("utf-16", "surrogatepass") if len(body) % 2 == 0 else "",
    ):
        for code in language.SMALL:
            assert language.counted(found, code) == language.counted_in_python(found, code)
        shares = language.languages(found, tag)
        assert shares == language.languages(found, tag)
        assert sum(share for _, share in shares) <= 1.001 and len(shares) <= language.PIECES
        assert all(language.code_of(code) == code for code, _ in shares)
        assert shares == sorted(shares, key=lambda each: -each[1])


@target
def decode_(data: bytes) -> None:
    (kind,), body = take(data, 1)
    encodings = ("gzip", "deflate", "br", "zstd", "gzip, br", "x-gzip", "identity", "")
    encoding = encodings[kind % 8]
    if not encoding:
        named, _, body = body.partition(b"\n")
        encoding = named.decode("latin-1")
    found, cut, problem = decode.decode(body, encoding, 1 << 20)
    assert len(found) <= 1 << 20 and isinstance(cut, bool) and isinstance(problem, str)


@offline
def seed(data: bytes) -> None:
    for found in seed_file.read(data.split(b"\n")[:2000]):
        if isinstance(found, seed_file.Seed):
            canonical(found.url)


@offline
def exclude(data: bytes) -> None:
    try:
        entries = exclusions.parse_excludes(data.decode("utf-8", "replace").splitlines()[:200])
    except LycosaError:
        return
    rules = scope.Scope(scope.ScopeRules(exclude=entries))
    rules.refuses("https://a.test/b/c.html", "a.test", "a.test", depth=1, seeded=True)


# --- what we wrote ourselves, damaged ---

LOG_EPOCH = 1_700_000_000_000
LOG_DOMAIN = 77


@twice
def chunk(data: bytes) -> None:
    """Chunks of a domain's log, with checksums that fit where they say so; both classes read them,
    and agree on all that can be asked."""
    (how, at), rest = take(data, 2)
    blobs = [_sealed(each, how) for each in rest.split(b"<chunk>")[:6]]
    found = [_logged(index, blobs, how) for index in {domain_log.compiled, None}]
    assert all(each == found[0] for each in found), f"the twins differ: {found}"
    if at % 8 == 7 and domain_log.compiled is not None:
        without_memory(at // 8, partial(_logged, domain_log.compiled, blobs, how))


def _sealed(blob: bytes, how: int) -> bytes:
    """With the length, domain and checksum of a good chunk, so that what is behind them is read."""
    if how % 4 == 3 or len(blob) < 44:
        return blob
    head = blob[:4] + len(blob).to_bytes(4, "little") + LOG_DOMAIN.to_bytes(8, "little")
    body = head + blob[16:-8]
    return body + xxh3_64_intdigest(body, LOG_DOMAIN).to_bytes(8, "little")


def _logged(index: Any, blobs: list[bytes], how: int) -> list[object]:
    log = domain_log.DomainLog(LOG_DOMAIN, LOG_EPOCH, index or TwinIndex)
    taken = [log.add(seq, blob) for seq, blob in enumerate(blobs)]
    fps = [fingerprint(f"https://a.test/{n}") for n in range(4)] + [0, 1, -1]
    rows = list(log.queued())
    assert len(rows) <= log.counts().queued
    said: list[object] = [taken, log.damaged, log.counts(), log.ready(), log.newest_stamp, rows]
    asked = [(LOG_DOMAIN, fp, Url("https://a.test/"), 0, "a.test", 0) for fp in fps]
    said += [log.states(fps), log.unseen(asked), [log.find(fp) for fp in fps], log.seqs()]
    said.append(log.next(LOG_EPOCH + how * 1000, how % 16, 100))
    limits = Limits(tier=2, chunk_bytes=(300, 2_000, 1 << 18)[how % 3], settle_ms=how * 10)
    done = [(fp, True) for fp in fps[:2]]
    links = [(LOG_DOMAIN, fps[3], Url("https://a.test/3"), 1, "a.test", how)]
    purges = [("https://a.test", "x", how > 99, False)] if how % 5 == 0 else []
    changes = LogChanges(done, [(fps[2], LOG_EPOCH + 9, 1)], links, purges=purges, dropped=fps[4:5])
    visit = LogChanges(done, links=links, blocks=[block(links), block(asked[:5])])
    said.append(log.plan(visit, LOG_EPOCH + how, limits)[2:])
    plan = log.plan(changes, LOG_EPOCH + how, limits)
    log.apply(plan, range(100, 100 + len(plan.puts)))
    said += [plan[2:], log.counts(), log.states(fps), list(log.queued()), log.bytes > 0]
    return said


@offline
def ledger_(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, segment_name("visits", segment_id(1, 1)))
        path.parent.mkdir()
        path.write_bytes(data)
        for call in (
            lambda: ledger.mend_ledgers(Path(folder), {1}),
            lambda: ledger.tail(Path(folder), {}, {1}),
            lambda: list(ledger.read_visits(Path(folder))),
        ):
            try:
                call()
            except LycosaError:
                pass


@offline
def segment(data: bytes) -> None:
    number = segment_id(1, 1)
    name = segment_name("text", number)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.parent.mkdir()
        path.write_bytes(data)
        try:
            for _ in text.iter_rows(Path(folder), {name: len(data)}):
                pass
            text.read_row(Path(folder), number, 0, 3, len(data))
        except LycosaError:
            pass
