"""A domain's log: what an attack on its design found, each as a test, on both classes."""

from __future__ import annotations

import sys
import threading
import time
from random import Random
from typing import Any

import pytest

from lycosa.frontier import answers
from lycosa.frontier.log import domain_log, new_chunk, packers, planning, texts
from lycosa.frontier.log import format as layout
from lycosa.frontier.log.dictionary import NUMBERS, dictionary
from lycosa.frontier.log.domain_log import DomainLog, Limits, LogChanges, LogPlan, delivery
from lycosa.frontier.log.new_chunk import NewRecords, chunks_in_python
from lycosa.frontier.log.twin import TwinIndex
from lycosa.frontier.states import waits_until
from lycosa.frontier.values import Link
from lycosa.records import Flag, Url
from lycosa.urls.fingerprint import errand_fingerprint, fingerprint
from support.made import block

EPOCH = 1_700_000_000_000
DOMAIN = 77
KINDS: dict[str, Any] = {"twin": TwinIndex}
if domain_log.compiled is not None:
    KINDS["compiled"] = domain_log.compiled


@pytest.fixture(params=KINDS, autouse=True)
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class; with the twin new chunks are made in Python too."""
    if request.param == "twin":
        for module in (planning, domain_log, new_chunk):
            monkeypatch.setattr(module, "new_chunks", chunks_in_python)
    return KINDS[request.param]


def url(n: int | str, origin: str = "https://a.test") -> str:
    return f"{origin}/{n}"


def fp(n: int | str) -> int:
    return fingerprint(url(n))


def found(*names: int | str, depth: int = 1, flags: int = 0) -> list[Link]:
    return [link(fp(n), url(n), depth, flags) for n in names]


def link(fp: int, url: str, depth: int = 1, flags: int = 0) -> Link:
    return DOMAIN, fp, Url(url), depth, "a.test", flags


class Site:
    """One domain: the chunks that a store has, and the log of who holds it."""

    def __init__(self, index: Any, **limits: int) -> None:
        self.index = index
        self.chunks: dict[int, bytes] = {}
        self.seq = 0
        self.now = EPOCH + 1_000
        self.limits = Limits(**limits)
        self.log = DomainLog(DOMAIN, EPOCH, index)
        self.counted = 0

    def put(self, blobs: list[bytes]) -> list[int]:
        seqs = []
        for blob in blobs:
            self.seq += 1
            self.chunks[self.seq] = blob
            seqs.append(self.seq)
        return seqs

    def deliver(self, *given: Any, late_ms: int = 0, **more: Any) -> None:
        now = self.now - late_ms
        more["limits"] = self.limits
        blobs = delivery(DOMAIN, EPOCH, now, *given, **more)
        for seq in self.put(blobs):
            assert self.log.add(seq, self.chunks[seq])
        self.counted += sum(len(each) for each in (*given[:1], more.get("reopened", ())))

    def commit(self, **changes: Any) -> LogPlan:
        self.now += 1_000
        plan = self.log.plan(LogChanges(**changes), self.now, self.limits)
        for seq in plan.deletes:
            del self.chunks[seq]
        self.log.apply(plan, self.put(plan.puts))
        self.counted += plan.change
        return plan

    def again(self) -> DomainLog:
        """The log as somebody else reads it."""
        log = DomainLog(DOMAIN, EPOCH, self.index)
        for seq in reversed(self.chunks):
            assert log.add(seq, self.chunks[seq])
        return log

    def urls(self) -> list[str]:
        here = [str(each.url) for each in self.log.queued()]
        assert here == [each.url for each in self.again().queued()]
        return here


@pytest.fixture
def site(index: Any) -> Site:
    return Site(index)


def done(*names: int | str) -> list[tuple[int, bool]]:
    return [(fp(n), True) for n in names]


# --- what is queued ---


def test_queued_is_a_set_and_not_a_counter(site: Site) -> None:
    """/a redirects to /b, which never was queued: 2 URLs - 2 marks is not 0."""
    site.commit(links=found("a", "c"))
    plan = site.commit(done=done("a", "b"))
    assert plan.recorded == [fp("a"), fp("b")] and plan.left == 1
    assert plan.queued == 1 and plan.runnable
    assert site.urls() == [url("c")]
    assert site.counted == 1


def test_chunks_are_read_in_any_order_and_known_by_their_seq(site: Site) -> None:
    site.commit(links=found("a", "b"))
    site.deliver(found("c"))
    site.commit(done=done("a"))
    for order in ((1, 2, 3), (3, 2, 1), (2, 3, 1)):
        log = DomainLog(DOMAIN, EPOCH, site.index)
        for seq in order:
            assert log.add(seq, site.chunks[seq])
            assert log.add(seq, site.chunks[seq])  # twice is once
        assert log.seqs() == [1, 2, 3]
        assert [each.url for each in log.queued()] == [url("b"), url("c")]


def test_kills_are_summed_whoever_says_them_and_survive_folds(index: Any) -> None:
    site = Site(index, tier=2)
    site.commit(links=found("a", "b"))
    for _ in range(2):
        site.deliver(kills=[(fp("a"), 1)])
        site.commit(links=found(f"more-{site.seq}"))
    flags = {str(each.url): each.flags for each in site.log.queued()}
    assert flags[url("a")] == 2 * Flag.KILL and flags[url("b")] == 0
    for _ in range(5):
        site.deliver(kills=[(fp("a"), 1)])
    assert next(each for each in site.log.queued() if each.url == url("a")).flags == 3 * Flag.KILL


def test_kills_in_the_flags_of_a_link_are_kills(site: Site) -> None:
    site.commit(links=found("a", flags=Flag.SEED + 2 * Flag.KILL))
    site.deliver(kills=[(fp("a"), 1)])
    assert [each.flags for each in site.log.queued()] == [Flag.SEED + 3 * Flag.KILL]


def test_responses_are_counted_by_differences(index: Any) -> None:
    site = Site(index, tier=2)
    site.commit(links=found("a", "b", "c"))
    site.commit(done=[(fp("a"), True), (fp("b"), False)])
    assert site.commit(done=[(fp("a"), True), (fp("c"), True)]).recorded == [fp("c")]
    assert site.again().counts().responses == 2
    again = found("a")
    site.deliver(reopened=again, newest_stamp=site.log.newest_stamp, taken_back=1)
    assert site.log.counts().responses == 1
    assert site.commit(done=done("a")).responses == 2


def test_a_dropped_url_may_come_back(index: Any) -> None:
    """A drop hides the copies that were there, not later ones; and goes with the last of them."""
    for tier in (2, 8):
        site = Site(index, tier=tier)
        site.commit(links=found("a", "b"))
        assert site.commit(dropped=[fp("a"), fp("unknown")]).dropped == [fp("a")]
        assert site.log.state(fp("a")) == ""
        assert site.commit(links=found("a")).added == 1
        assert sorted(site.urls()) == [url("a"), url("b")]
        site.commit(done=done("b"), dropped=[fp("a")])
        assert site.counted == 0 and site.log.state(fp("a")) == ""
        (last,) = site.chunks.values()
        chunk = layout.read(1, last, DOMAIN)
        assert isinstance(chunk, layout.Chunk)
        assert not chunk.drops and not [b for b in chunk.barriers if b[2] == layout.DROP]


def test_copies_that_were_counted_twice_are_subtracted(site: Site) -> None:
    for _ in range(3):
        site.deliver(found("a", "b"))
    assert site.counted == 6
    plan = site.commit(done=done("a"))
    assert (plan.left, plan.gone, plan.change) == (1, 4, -5)
    assert site.counted == site.log.counts().queued == site.log.counts().copies == 1
    site.deliver(found("a"))  # late: it is done
    assert site.counted == 2
    assert site.commit().gone == 1
    assert site.counted == 1 and site.urls() == [url("b")]


def test_an_empty_domain_is_one_chunk_with_nothing_queued(site: Site) -> None:
    for n in range(30):
        site.commit(links=found(n, n + 100), done=done(n - 1))
    site.commit(done=[(each.fp, True) for each in site.log.queued()])
    assert len(site.chunks) == 1 and site.counted == 0
    assert site.again().counts() == (0, 0, 61, 61)
    assert site.log.ready() == (False, 0)
    assert site.commit().puts == []


def test_a_reopened_page_beats_its_mark_and_is_done_again(index: Any) -> None:
    for tier in (2, 8):
        site = Site(index, tier=tier)
        site.commit(links=found("a", "b"), done=done("x"))
        site.commit(done=done("a"))
        again = found("a", depth=3, flags=Flag.SEED)
        site.deliver(reopened=again, newest_stamp=site.log.newest_stamp)
        row = next(each for each in site.log.queued() if each.url == url("a"))
        assert (row.depth, row.flags) == (3, Flag.SEED)
        for n in range(5):
            site.commit(links=found(n))
        assert site.again().state(fp("a")) == "queued"
        assert site.commit(done=done("a")).recorded == [fp("a")]
        assert site.again().state(fp("a")) == "done"


def test_a_reopened_page_that_the_holder_has_not_read_is_not_lost(index: Any) -> None:
    """Folding gives old marks one stamp; not one beyond that of somebody who reopens right now."""
    site = Site(index, tier=2)
    site.commit(links=found("a", "b"))
    site.commit(done=done("a"))
    reader = site.again()
    again = found("a")
    (blob,) = delivery(DOMAIN, EPOCH, site.now, reopened=again, newest_stamp=reader.newest_stamp)
    for n in range(4):
        site.commit(links=found(n), done=done(f"target-{n}"))
    site.put([blob])
    assert site.again().state(fp("a")) == "queued"


# --- waiting ---


def test_who_waits_is_handed_out_first_when_it_is_due(site: Site) -> None:
    site.commit(links=found("a", "b", "c", "d"))
    later = site.now + 50_000
    site.commit(deferred=[(fp("a"), later + 9, 1), (fp("c"), later, 2), (fp("none"), later, 1)])
    assert [each.url for each in site.log.next(later - 1, 9, 999)] == [url("b"), url("d")]
    rows = site.log.next(later, 9, 999)
    assert [each.url for each in rows] == [url("c"), url("b"), url("d")]
    assert waits_until(rows[0].order) == later and rows[0].attempts == 2
    assert site.urls() == [url("b"), url("d"), url("c"), url("a")]
    assert site.log.ready() == (True, 0)
    plan = site.commit(done=done("b", "d"))
    assert (plan.runnable, plan.first_wait_ms) == (False, later) == site.log.ready()
    plan = site.commit(done=done("c"))
    assert (plan.runnable, plan.first_wait_ms) == (False, later + 9) == site.again().ready()


def test_a_first_wait_comes_with_its_url(site: Site) -> None:
    link = found("a", flags=Flag.ERRAND)
    until = site.now + 9_000
    site.deliver(link, first_waits=[(fp("a"), until, 0)])
    assert site.log.ready() == (False, until)
    site.commit(links=found("b", "a"), first_waits=[(fp("b"), until + 5, 0), (fp("a"), 5, 0)])
    assert site.log.ready() == (False, until)


def test_budget_and_limit(site: Site) -> None:
    site.commit(links=found(*range(20)))
    size = len(url(1))
    assert len(site.log.next(site.now, 8, 10_000)) == 8
    assert len(site.log.next(site.now, 8, 3 * size)) == 3
    assert len(site.log.next(site.now, 8, 1)) == 1
    assert site.log.next(site.now, 0, 100) == []


# --- purges ---


def test_a_purge_takes_an_origin_and_leaves_errands(site: Site) -> None:
    http = [link(fingerprint(u), u) for u in (url(1, "http://a.test"), url(2, "https://a.testing"))]
    site.commit(links=found("a") + http + found("robots.txt", flags=Flag.ERRAND))
    plan = site.commit(links=found("late"), purges=[("https://a.test", "x", False, False)])
    assert [each.url for each in plan.purged[0]] == [url("a"), url("late")]
    assert plan.queued == 3 and site.counted == 3
    assert site.log.state(fp("a")) == site.log.state(fp("late")) == "done"
    plan = site.commit(purges=[("", "cap", True, True)])
    assert len(plan.purged[0]) == 3 and site.counted == 0
    assert site.commit(links=http).added == 2
    assert site.commit(links=found("a")).added == 0


# --- texts ---


def test_the_text_of_an_errand_has_a_fingerprint_of_its_own(site: Site) -> None:
    text = url("robots.txt")
    assert errand_fingerprint(text) == answers.key(text)[1]
    site.commit(links=[link(errand_fingerprint(text), text, 0, Flag.ERRAND)])
    assert [each.url for each in site.log.next(site.now, 8, 999)] == [text]


def test_a_text_without_its_fingerprint_is_not_handed_out(site: Site) -> None:
    site.commit(links=[link(5, url("wrong")), *found("a"), link(6, url("x"), 1, 8)])
    assert [each.url for each in site.log.next(site.now, 8, 999)] == [url("a")]
    assert site.log.find(5) is None
    plan = site.commit(done=done("a"))
    assert sorted(plan.lost) == [5, 6] and plan.queued == 0 and not plan.runnable
    assert site.log.state(5) == "" and site.counted == 0


def test_texts_of_any_kind_come_back(site: Site) -> None:
    odd = ["é" * 40, "a\nb", "?utm_source=x&a=b", "y;jsessionid=1", "x" * 1_980, "", "%20", "\0"]
    odd += [f"?{'p=1&' * n}" for n in range(70)]
    site.commit(links=found(*odd))
    assert site.urls() == [url(each) for each in odd]
    with pytest.raises(ValueError, match="2000 bytes"):
        site.commit(links=found("y" * 2_000))


# --- size ---


def test_more_visits_than_a_byte_can_count(site: Site) -> None:
    site.limits = Limits(tier=10_000)
    for n in range(600):
        site.commit(links=found(n, depth=n % 7))
    assert site.log.counts().queued == 600
    site.limits = Limits()
    site.commit(links=found("last"))
    assert len(site.chunks) == 1
    assert len(site.urls()) == 601


@pytest.mark.parametrize("kind", ["waits", "done", "drops"])
def test_more_of_everything_than_two_bytes_can_count(site: Site, kind: str) -> None:
    count = 66_000
    random = Random(3)
    fps = [random.randrange(-(2**63), 2**63) for _ in range(count)]
    many = [link(each, f"https://a.test/{n}") for n, each in enumerate(fps)]
    site.commit(links=many)
    assert site.log.counts().queued == count
    if kind == "waits":
        site.commit(deferred=[(each, site.now + 10**6 + n, 1) for n, each in enumerate(fps)])
        assert site.log.ready() == (False, site.again().ready()[1])
    elif kind == "done":
        assert site.commit(done=[(each, True) for each in fps]).left == count
        assert site.again().counts().done == count
    else:
        assert len(site.commit(dropped=fps).dropped) == count
        assert site.again().counts().queued == site.counted == 0
    assert max(map(len, site.chunks.values())) <= 256 * 1024


def test_no_chunk_is_too_large_and_no_commit_rewrites_too_much(index: Any) -> None:
    site = Site(index, tier=4, chunk_bytes=8_000, rewrite_bytes=20_000)
    random = Random(1)
    for n in range(60):
        names = [f"{random.randrange(10**12):x}-{n}-{i}" for i in range(60)]
        before = dict(site.chunks)
        plan = site.commit(
            links=found(*names), done=[(fp(f"done-{n}-{i}"), True) for i in range(9)]
        )
        assert sum(len(before[seq]) for seq in plan.deletes) <= 20_000
        assert all(before[seq][2] != layout.FULL for seq in plan.deletes)
        assert max(map(len, plan.puts)) <= 8_000
    assert any(blob[2] == layout.FULL for blob in site.chunks.values())
    assert site.log.counts().queued == site.counted == 3_600


def test_a_domain_takes_no_more_links_than_its_limit(index: Any) -> None:
    site = Site(index, max_urls=10)
    plan = site.commit(links=found(*range(8)), done=done("x"))
    assert (plan.added, plan.refused) == (8, 0)
    plan = site.commit(links=found(*range(8, 14)))
    assert (plan.added, plan.refused) == (1, 5)
    assert site.log.counts().queued == 9


@pytest.mark.parametrize("index", set(KINDS) - {"twin"}, indirect=True)
def test_a_large_fold_lets_other_threads_run(index: Any) -> None:
    """The twin is Python, and can't."""
    random = Random(2)
    many = [link(random.randrange(2**63), f"https://a.test/{n}") for n in range(300_000)]
    blobs = delivery(DOMAIN, EPOCH, EPOCH, many)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.0001)

    thread = threading.Thread(target=tick)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)  # nothing but the codec itself lets the other thread run
    try:
        thread.start()
        begin = time.monotonic()
        while (took := time.monotonic() - begin) < 0.5:
            log = DomainLog(DOMAIN, EPOCH, index)
            for seq, blob in enumerate(blobs):
                assert log.add(seq, blob)
            assert log.counts().queued == 300_000
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()
    during = [each for each in ticks if begin <= each <= begin + took]
    assert len(during) > 5, f"{len(during)} in {took:.3f} s"


# --- damage ---


def whole_chunk() -> bytes:
    """A chunk with everything in it."""
    kills = [(fp("a"), 500, 1)]
    new = NewRecords(found("a", "b") + found("c", depth=2), [1, 2], [3], [(4, 5, 6, 7)], kills)
    (blob,) = new_chunk.new_chunks(DOMAIN, 500, 1, 3, new, 1 << 18)
    return blob


def test_every_changed_byte_and_every_cut_is_found(index: Any) -> None:
    blob = whole_chunk()
    assert DomainLog(DOMAIN, EPOCH, index).add(1, blob)
    broken = [blob[:at] for at in range(len(blob))] + [blob + b"\0", blob * 2]
    for at in range(len(blob)):
        for value in {0, 255, blob[at] ^ 1, blob[at] ^ 128, (blob[at] + 1) % 256} - {blob[at]}:
            broken += [blob[:at] + bytes((value,)) + blob[at + 1 :]]
    for number, each in enumerate(broken):
        log = DomainLog(DOMAIN, EPOCH, index)
        assert not log.add(7, each), number
        assert [seq for seq, _ in log.damaged] == [7]
        assert log.counts().queued == 0 and log.seqs() == [] and log.next(EPOCH, 9, 9) == []


def test_what_is_wrong_is_said(index: Any) -> None:
    blob = whole_chunk()
    for at, value, why in ((0, 2, "format 2 is not known"), (3, 9, "dictionary 9 is not known")):
        log = DomainLog(DOMAIN, EPOCH, index)
        assert not log.add(1, signed(blob[:at] + bytes((value,)) + blob[at + 1 :]))
        assert log.damaged == [(1, why)]


def signed(blob: bytes, domain_id: int = DOMAIN) -> bytes:
    """With a checksum that fits."""
    return blob[:-8] + layout.CHECK.pack(layout.checksum(blob[:-8], domain_id))


def test_a_wrong_chunk_with_a_right_checksum_does_no_harm(index: Any) -> None:
    """The bounds hold without the checksum: every byte of the sections takes other values."""
    blob = whole_chunk()
    random = Random(5)
    accepted = 0
    for _ in range(6_000):
        changed = bytearray(blob[:-8])
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(16, len(changed))
            at = random.choice((at, 1, random.randrange(36, 64)))
            changed[at] = random.choice((0, 1, 255, 128, random.randrange(256)))
        log = DomainLog(DOMAIN, EPOCH, index)
        if log.add(1, signed(bytes(changed) + bytes(8))):
            accepted += 1
            rows = list(log.queued())
            assert len(rows) <= log.counts().queued
            for fp_ in (fp("a"), 1, 3, 4):
                log.find(fp_)
            plan = log.plan(LogChanges(done=done("a"), links=found("z")), EPOCH, Limits(tier=2))
            log.apply(plan, range(2, 2 + len(plan.puts)))
            log.next(EPOCH, 9, 9_999)
    assert accepted > 500


def test_chunks_of_other_domains_are_no_damage(index: Any) -> None:
    """Keys of SQLite share 32 bits of the domain's id."""
    log = DomainLog(DOMAIN, EPOCH, index)
    (other,) = delivery(DOMAIN + (1 << 33), EPOCH, EPOCH, found("theirs"))
    (own,) = delivery(DOMAIN, EPOCH, EPOCH, found("ours"))
    assert not log.add(1, other)
    assert log.add(2, own)
    assert log.damaged == [] and log.seqs() == [2]
    assert [each.url for each in log.queued()] == [url("ours")]
    assert not log.add(3, signed(other[:8] + own[8:16] + other[16:], DOMAIN + (1 << 33)))
    assert [seq for seq, _ in log.damaged] == [3]


def test_a_block_that_says_it_is_huge_is_not_unpacked(index: Any) -> None:
    assert texts.unpack_block(texts.pack_block(b"\0" * 200_000), 1) is None
    assert texts.unpack_block(b"", 1) is None
    assert texts.unpack_block(texts.pack_block(b"x"), 200) is None
    assert texts.unpack_block(texts.pack_block(b"x"), 1) == b"x"


def test_dictionaries_are_known_by_number() -> None:
    assert NUMBERS == (1,) and len(dictionary(1)) <= 16 * 1024
    assert packers.known_dictionary(1) and packers.known_dictionary(0)
    packers.learn(1, b"another one")
    assert texts.unpack_block(texts.pack_block(b"x"), 1) == b"x"


def test_times_are_relative_to_the_epoch(index: Any) -> None:
    """Chunks that are copied to a store with another clock keep their distance to its now."""
    site = Site(index)
    site.commit(links=found("a"))
    site.commit(deferred=[(fp("a"), site.now + 5_000, 1)])
    log = DomainLog(DOMAIN, EPOCH + 10**9, index)
    for seq, blob in site.chunks.items():
        assert log.add(seq, blob)
    assert log.ready()[1] == site.log.ready()[1] + 10**9


def test_memory_is_told(site: Site) -> None:
    site.commit(links=found(*range(20_000)))
    blobs = sum(map(len, site.chunks.values()))
    assert blobs < site.log.bytes < blobs + 60 * 20_000


def test_both_make_the_same_new_chunks() -> None:
    if domain_log.compiled is None:
        pytest.skip("there is no compiled module")
    from lycosa.frontier.log.compiled import new_chunks

    assert new_chunks is not None
    random = Random(9)
    for _ in range(300):
        links = [
            link(random.randrange(-9, 9), url(random.randrange(10**6)), 1, random.randrange(64))
            for _ in range(random.randrange(300))
        ]
        fps = [random.randrange(-(2**63), 2**63) for _ in range(random.randrange(90))]
        waits = [(each, random.randrange(2**48), 7, 3) for each in fps[:20]]
        kills = [(each, 5, 1) for each in fps[:7]]
        new = NewRecords(links, fps, sorted(fps[:9]), waits, kills)
        limit = random.choice((300, 3_000, 1 << 18))
        made: list[list[bytes]] = [
            make(DOMAIN, 9, -3, len(links), new, limit) for make in (new_chunks, chunks_in_python)
        ]
        for blobs in made:
            for seq, blob in enumerate(blobs):
                assert not isinstance(layout.read(seq, blob, DOMAIN), str)
        both = []
        for kind, blobs in zip(KINDS.values(), made, strict=True):
            log = DomainLog(DOMAIN, EPOCH, kind)
            for seq, blob in enumerate(blobs):
                assert log.add(seq, blob)
            both.append((log.counts(), log.states(fps), list(log.queued()), log.ready()))
        assert both[0] == both[1]


def test_a_block_of_links_that_is_none_is_refused() -> None:
    if domain_log.compiled is None:
        pytest.skip("there is no compiled module")
    log = DomainLog(DOMAIN, EPOCH)
    good = block([link(n, url(n)) for n in range(3)])
    for wrong in (None, (), (1, "d", 1, 1), good[:4], (*good[:4], "text"), (*good, 1)):
        with pytest.raises(TypeError):
            log.plan(LogChanges(blocks=[wrong]), EPOCH + 5)  # type: ignore[list-item]
    for size in range(1, len(good.data)):
        cut = good._replace(data=good.data[:size])
        if size % (len(good.data) // 3):
            with pytest.raises(ValueError):
                log.plan(LogChanges(blocks=[cut]), EPOCH + 5)
    with pytest.raises(ValueError):
        log.plan(LogChanges(blocks=[block([link(1, "https://a.test/" + "x" * 2_000)])]), EPOCH + 5)
    assert log.plan(LogChanges(blocks=[good]), EPOCH + 5).added == 3
