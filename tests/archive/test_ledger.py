"""The visit ledger: what is on file when, and what it proves."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lycosa.archive.address_audit import audit_addresses
from lycosa.archive.audit import audit_visits
from lycosa.archive.ledger import (
    UNTOLD,
    Clock,
    Ledger,
    LedgerVisit,
    TailInfo,
    mend_ledgers,
    read_visits,
    tail,
)
from lycosa.archive.segments import listed, segment_id, segment_name
from lycosa.errors import StoreError
from support.made import made_visit

BIG = 1 << 20


def content(root: Path) -> str:
    return "".join(path.read_text() for _, path in listed(root, "visits"))


def ended(book: Ledger, domain: str, start_ms: int, end_ms: int) -> None:
    """The end of a visit of one request."""
    book.ended(domain, start_ms, end_ms, requests=1, address="", outcome="ok")


def committed(book: Ledger) -> dict[str, int]:
    return {state.name: state.length for state in book.sync()}


# Writing


def test_the_format_of_the_lines(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, BIG)
    book.started([("a.com", 1000), ("b.com", 1001)])
    book.learned("a.com", 120_000)
    book.ended("a.com", 1000, 1500, requests=2, address="192.0.2.1", outcome="ok")
    book.close()
    assert content(tmp_path).splitlines() == [
        '["s","a.com",1000]',
        '["s","b.com",1001]',
        '["d","a.com",120000]',
        '["e","a.com",1000,1500,2,"192.0.2.1","ok"]',
    ]


def test_a_start_is_on_file_at_once_and_brings_what_waited(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, BIG)
    book.started([("a.com", 1)])
    assert content(tmp_path) == '["s","a.com",1]\n'
    ended(book, "a.com", 1, 2)
    assert content(tmp_path).count("\n") == 1
    book.started([("b.com", 3)])
    assert [line[2] for line in content(tmp_path).splitlines()] == ["s", "e", "s"]
    book.close()


def test_sync_gives_the_lengths_to_commit(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, 100)
    assert book.sync() == []
    for i in range(10):
        book.started([("a.com", i)])
        ended(book, "a.com", i, i)
    states = book.sync(closing=True)
    assert len(states) > 2
    assert all(state.closed and state.kind == "visits" for state in states)
    assert {s.name: s.length for s in states} == {
        f"visits/{path.name}": path.stat().st_size for _, path in listed(tmp_path, "visits")
    }
    assert content(tmp_path).count("\n") == 20


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that change places as often as they can, so that a race shows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_the_loop_may_write_while_the_store_thread_syncs(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, 20_000)
    lengths: dict[str, int] = {}
    stop = threading.Event()

    def store_thread() -> None:
        while not stop.is_set():
            lengths.update({state.name: state.length for state in book.sync()})

    thread = threading.Thread(target=store_thread)
    thread.start()
    for i in range(0, 20_000, 40):
        book.started([(f"{j}.com", j) for j in range(i, i + 40)])
        for j in range(i, i + 40):
            ended(book, f"{j}.com", j, j + 1)
    stop.set()
    thread.join()
    lengths.update({state.name: state.length for state in book.sync(closing=True)})
    visits = list(read_visits(tmp_path))
    assert [visit.start_ms for visit in visits] == list(range(20_000))
    assert not any(visit.unfinished for visit in visits)
    assert lengths == {
        f"visits/{path.name}": path.stat().st_size for _, path in listed(tmp_path, "visits")
    }


KILLED = """
    import os, sys
    from pathlib import Path
    from lycosa.archive.ledger import Ledger
    book = Ledger(Path(sys.argv[1]), 1, 5000)
    for i in range(10**6):
        book.started([(f"{i}.com", i)])
        os.write(1, b"%d\\n" % i)  # stands for the request
        book.ended(f"{i}.com", i, i, 1, "", "ok")
"""


def test_kill_dash_nine_leaves_every_start_that_a_request_followed(tmp_path: Path) -> None:
    engine = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)], stdout=subprocess.PIPE
    )
    assert engine.stdout is not None
    sent = [int(engine.stdout.readline()) for _ in range(1000)]
    engine.send_signal(signal.SIGKILL)
    sent += [int(line) for line in engine.stdout.read().splitlines()]
    engine.stdout.close()
    engine.wait()
    visits = list(read_visits(tmp_path))
    assert {visit.start_ms for visit in visits} >= set(sent)
    assert 1 <= sum(visit.unfinished for visit in visits) <= 2  # the last, whose end only waited


# Reading


def test_visits_are_put_together_across_rotated_files(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 5, 60)
    book.started([("a.com", 10), ("b.com", 11)])
    book.learned("a.com", 90_000)
    book.started([("c.com", 12)])
    book.ended("a.com", 10, 20, requests=3, address="192.0.2.1", outcome="ok")
    book.sync()
    book.close()
    assert len(listed(tmp_path, "visits")) > 1
    whole = made_visit("a.com", 10, 20, address="192.0.2.1", learned_ms=90_000)
    assert list(read_visits(tmp_path)) == [
        replace(whole, engine_id=5, requests=3),
        LedgerVisit(5, "b.com", 11, 11, unfinished=True),
        LedgerVisit(5, "c.com", 12, 12, unfinished=True),
    ]


def test_a_visit_dropped_without_an_end_is_unfinished(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 5, BIG)
    book.started([("a.com", 10)])
    book.started([("a.com", 99)])
    ended(book, "a.com", 99, 100)
    book.close()
    assert [(v.start_ms, v.end_ms, v.unfinished) for v in read_visits(tmp_path)] == [
        (10, 10, True),
        (99, 100, False),
    ]


def test_the_same_domain_in_two_engines_is_two_visits(tmp_path: Path) -> None:
    for engine_id in (1, 2):
        book = Ledger(tmp_path, engine_id, BIG)
        book.started([("a.com", engine_id)])
        book.close()
    assert [(visit.engine_id, visit.start_ms) for visit in read_visits(tmp_path)] == [
        (1, 1),
        (2, 2),
    ]


def torn_at(root: Path, cut: int) -> Path:
    book = Ledger(root, 1, BIG)
    book.started([("a.com", 1000)])
    book.started([("b.com", 2000)])
    book.close()
    [(_, path)] = listed(root, "visits")
    os.truncate(path, cut)
    return path


def test_a_line_torn_anywhere_is_passed_over_and_mended_once(tmp_path: Path) -> None:
    first = len('["s","a.com",1000]\n')
    for cut in range(first, 2 * first):
        root = tmp_path / str(cut)
        path = torn_at(root, cut)
        assert [visit.domain for visit in read_visits(root)][:1] == ["a.com"]
        assert mend_ledgers(root, {2}) == []
        assert mend_ledgers(root, {1}) == ([] if cut == first else ["visits/000001-00001.jsonl"])
        assert mend_ledgers(root, {1}) == []
        assert path.read_bytes().endswith(b"\n")
        whole = cut == 2 * first - 1  # only the line end was missing
        assert [v.domain for v in read_visits(root)] == (["a.com", "b.com"] if whole else ["a.com"])


def test_zeros_after_a_power_cut_are_passed_over(tmp_path: Path) -> None:
    path = torn_at(tmp_path, len('["s","a.com",1000]\n'))
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert [visit.domain for visit in read_visits(tmp_path)] == ["a.com"]


def test_damage_before_the_last_line_is_reported(tmp_path: Path) -> None:
    path = torn_at(tmp_path, 30)
    path.write_bytes(path.read_bytes() + b'\n["s","c.com",1]\n')
    with pytest.raises(StoreError, match="damaged"):
        list(read_visits(tmp_path))


def test_an_end_or_a_delay_outside_a_visit_is_reported(tmp_path: Path) -> None:
    for name in ("d", "e"):
        book = Ledger(tmp_path / name, 1, BIG)
        book.started([("b.com", 1)])
        if name == "d":
            book.learned("a.com", 1)
        else:
            ended(book, "a.com", 1, 2)
        book.close()
        with pytest.raises(StoreError, match="outside a visit"):
            list(read_visits(tmp_path / name))


def test_no_ledger_at_all(tmp_path: Path) -> None:
    assert list(read_visits(tmp_path)) == []
    assert tail(tmp_path, {}, {1}) == {}
    assert audit_visits(read_visits(tmp_path), 70.0).ok


# What a dead engine did after its last commit


def test_the_tail_holds_only_what_was_not_committed(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, BIG)
    book.started([("old.com", 1), ("both.com", 2)])
    book.learned("both.com", 5)
    lengths = committed(book)
    assert tail(tmp_path, lengths, {1}) == {}
    ended(book, "both.com", 2, 900)
    book.started([("new.com", 1000)])
    book.learned("new.com", 600_000)
    book.learned("new.com", 300_000)
    book.started([("more.com", 2000)])
    book.close()
    assert tail(tmp_path, lengths, {1}) == {
        "both.com": TailInfo(900, None),
        "new.com": TailInfo(1000, 300_000),
        "more.com": TailInfo(2000, None),
    }
    assert tail(tmp_path, lengths, {2}) == {}


def test_the_tail_covers_files_that_no_commit_knows(tmp_path: Path) -> None:
    book = Ledger(tmp_path, 1, 50)
    book.started([("a.com", 1)])
    lengths = committed(book)
    for i in range(10):
        book.started([(f"{i}.com", 100 + i)])
    book.close()
    [*_, (_, last)] = listed(tmp_path, "visits")
    with open(last, "ab") as file:
        file.write(b'["s","torn')
    found = tail(tmp_path, lengths, {1})
    assert {domain: info.last_ms for domain, info in found.items()} == {
        f"{i}.com": 100 + i for i in range(10)
    }


# The proof


def visit(
    domain: str, start: float, end: float, engine_id: int = 1, learned: float = -1
) -> LedgerVisit:
    """Times in seconds."""
    learned_ms = None if learned < 0 else int(learned * 1000)
    start_ms, end_ms = int(start * 1000), int(end * 1000)
    return made_visit(domain, start_ms, end_ms, engine_id=engine_id, learned_ms=learned_ms)


def test_a_polite_crawl_passes() -> None:
    report = audit_visits(
        [visit("a", 0, 1), visit("b", 0.5, 2), visit("a", 71, 72), visit("b", 72, 73)], 70
    )
    assert report.ok
    assert (report.domains, report.visits, report.smallest_gap_ms) == (2, 4, 70_000)


def test_one_millisecond_too_soon_is_found() -> None:
    report = audit_visits([visit("a", 0, 1), visit("a", 70.999, 72, engine_id=2)], 70.0)
    assert (report.ok, report.too_soon, report.overlaps) == (False, 1, 0)
    [example] = report.examples
    assert (example.domain, example.end_ms, example.start_ms) == ("a", 1000, 70_999)
    assert (example.needed_ms, example.engine_ids) == (70_000, (1, 2))


def test_overlap_of_two_engines_is_found_in_any_order() -> None:
    visits = [visit("a", 0, 10, engine_id=1), visit("a", 5, 6, engine_id=2), visit("b", 5, 6)]
    for order in (visits, visits[::-1]):
        report = audit_visits(order, 0.0)
        assert (report.overlaps, report.too_soon) == (1, 0)


def test_a_short_visit_inside_a_long_one_does_not_hide_its_end() -> None:
    report = audit_visits([visit("a", 0, 100), visit("a", 5, 6), visit("a", 50, 51)], 1.0)
    assert report.overlaps == 2


def test_a_learnt_delay_holds_until_another_is_learnt() -> None:
    polite = [
        visit("a", 0, 1, learned=200),
        visit("a", 201, 202, engine_id=2),  # knows nothing new: 200 s still hold
        visit("a", 402, 403, engine_id=2, learned=0),
        visit("a", 473, 474),
    ]
    assert audit_visits(polite, 70.0).ok
    early = [*polite[:2], visit("a", 401, 402)]
    report = audit_visits(early, 70.0)
    assert (report.too_soon, report.examples[0].needed_ms) == (1, 200_000)


def test_an_unfinished_visit_counts_from_its_start() -> None:
    cut_off = LedgerVisit(1, "a", 0, 0)
    assert audit_visits([cut_off, visit("a", 70, 71)], 70.0).unfinished == 1
    assert audit_visits([cut_off, visit("a", 70, 71)], 70.0).ok
    assert audit_visits([cut_off, visit("a", 69, 71)], 70.0).too_soon == 1


def test_examples_are_few_and_counts_whole() -> None:
    report = audit_visits([visit("a", i, i + 0.1) for i in range(500)], 70.0)
    assert report.too_soon == 499
    assert 0 < len(report.examples) <= 20


@pytest.mark.parametrize("seed", range(10))
def test_the_proof_agrees_with_comparing_every_two_visits(seed: int) -> None:
    rng = random.Random(seed)
    starts = [rng.randint(0, 900) for _ in range(rng.randint(2, 12))]
    visits = [visit(rng.choice("ab"), start, start + rng.randint(0, 30)) for start in starts]
    polite = all(
        one.end_ms + 40_000 <= two.start_ms or two.end_ms + 40_000 <= one.start_ms
        for i, one in enumerate(visits)
        for two in visits[:i]
        if one.domain == two.domain
    )
    assert audit_visits(visits, 40.0).ok == polite, f"seed {seed}"


def test_from_the_files_to_the_proof(tmp_path: Path) -> None:
    """Two engines, one of which takes over too soon from the other."""
    first, second = Ledger(tmp_path, 1, 200), Ledger(tmp_path, 2, 200)
    first.started([("a.com", 0), ("b.com", 0)])
    ended(first, "a.com", 0, 500)
    first.sync()
    second.started([("a.com", 70_500), ("b.com", 69_999)])
    second.sync()
    report = audit_visits(read_visits(tmp_path), 70.0)
    assert (report.visits, report.unfinished, report.too_soon) == (4, 3, 1)
    assert report.examples[0].domain == "b.com"
    first.close()
    second.close()


Line = tuple[str, str, int, int]


def on_file(root: Path, engine_id: int, lines: list[Line]) -> None:
    """A ledger: ('c', name, to_ms, doubt) and ('v', domain, start, end) by that clock."""
    book = Ledger(root, engine_id, BIG)
    to_ms = 0
    for kind, name, first, second in lines:
        if kind == "c":
            to_ms = first
            book.clock(name, first, second)
        else:
            book.started([(name, first + to_ms)])
            ended(book, name, first + to_ms, second + to_ms)
    book.close()


def test_visits_of_one_machine_are_judged_by_its_own_clock(tmp_path: Path) -> None:
    """The store's clock is measured anew again and again, by up to a second wrong."""
    jumps = [500, 1400, 480, 505, 9000]
    lines: list[Line] = []
    for n, to_ms in enumerate(jumps):
        lines += [("c", "here", to_ms, 900), ("v", "a.com", n * 71_000, n * 71_000 + 1000)]
    on_file(tmp_path, 1, lines)
    on_file(tmp_path, 2, [("c", "here", 7, 5), ("v", "a.com", 5 * 71_000, 5 * 71_000 + 1000)])
    report = audit_visits(read_visits(tmp_path), 70.0)
    assert report.ok and (report.visits, report.smallest_gap_ms) == (6, 70_000)


@pytest.mark.parametrize("engine_id", [1, 2])
def test_a_violation_is_found_whatever_the_clock_did(tmp_path: Path, engine_id: int) -> None:
    first = [("c", "here", 500, 5), ("v", "a.com", 0, 1000)]
    later = [("c", "here", 1400, 900), ("v", "a.com", 70_980, 71_500)]  # 20 ms too soon
    on_file(tmp_path, 1, first + later if engine_id == 1 else first)
    if engine_id != 1:
        on_file(tmp_path, engine_id, later)
    report = audit_visits(read_visits(tmp_path), 70.0)
    assert (report.too_soon, report.smallest_gap_ms) == (1, 69_980)


@pytest.mark.parametrize(("gap", "polite"), [(70_000, True), (69_100, True), (69_080, False)])
def test_clocks_of_two_machines_are_trusted_as_far_as_they_say(
    tmp_path: Path, gap: int, polite: bool
) -> None:
    on_file(tmp_path / "one", 1, [("c", "here", 500, 10), ("v", "a.com", 0, 1000)])
    began = 1000 + gap
    elsewhere = [("c", "there", 500 - 10**9, 900), ("v", "a.com", began + 10**9, began + 10**9)]
    on_file(tmp_path / "two", 2, elsewhere)
    visits = [*read_visits(tmp_path / "one"), *read_visits(tmp_path / "two")]
    assert audit_visits(visits, 70.0).ok == polite
    assert not audit_visits([*visits, *read_visits(tmp_path / "one")], 70.0).ok, (
        "and an overlap is one"
    )


def test_a_clock_line_is_no_visit(tmp_path: Path) -> None:
    on_file(tmp_path, 1, [("c", "here", 500, 10)])
    assert list(read_visits(tmp_path)) == []
    assert tail(tmp_path, {}, [1]) == {}


def test_an_audit_judges_each_visit_by_the_delay_of_its_time() -> None:
    visits = [made_visit("a.test", start, start + 1000) for start in (0, 11_000, 22_000, 93_000)]
    assert not audit_visits(visits, 70.0).ok
    assert audit_visits(visits, 70.0, [(23_000, 10.0)]).ok
    assert not audit_visits(visits, 70.0, [(11_000, 10.0)]).ok


@pytest.mark.parametrize(
    "line",
    [
        *("8", "[]", "{}", "null", '["s"]', '["s",1,2]', '["s","a","b"]', '["e","a",1]', "[[]]"),
        *('["r","a.test",1]', '["c","boot",1]', '["c","boot",1,"2"]', '[["s"],"a.test",1]'),
        '["e","a.test",1,2,"1","192.0.2.1","fetched"]',
    ],
)
def test_a_damaged_line_that_is_json_is_damage_too(line: str, tmp_path: Path) -> None:
    path = tmp_path / segment_name("visits", segment_id(1, 1))
    path.parent.mkdir()
    good = '["s","a.test",1800000000000]\n'
    path.write_text(f"{good}{line}\n")
    assert [visit.domain for visit in read_visits(tmp_path)] == ["a.test"]  # as a torn last line
    assert tail(tmp_path, {}, {1})["a.test"].last_ms == 1_800_000_000_000
    path.write_text(f"{line}\n{good}")
    with pytest.raises(StoreError, match="damaged"):
        list(read_visits(tmp_path))


def test_the_audit_finds_visits_that_come_too_close() -> None:
    def at(start: int, end: int, address: str = "192.0.2.1", clock: Clock = UNTOLD) -> LedgerVisit:
        name = f"d{start}"
        return made_visit(name, start, end, address=address, start_clock=clock, end_clock=clock)

    polite = [at(0, 100), at(1100, 1200), at(1150, 1300, "192.0.2.2")]
    report = audit_addresses([polite], 1.0, lambda address: False)
    assert report.ok and (report.addresses, report.smallest_gap_ms) == (1, 1000)
    planted = [*polite, at(1162, 1400)]
    report = audit_addresses([planted], 1.0, lambda address: False)
    assert (report.too_close, report.smallest_gap_ms) == (1, -38)
    assert report.examples == [("192.0.2.1", -38)]
    assert audit_addresses([planted], 1.0, lambda address: True).ok, "a CDN"
    assert audit_addresses([polite, [at(1162, 1400)]], 1.0, lambda _: False).ok, "another node"
    assert audit_addresses([planted], 1.0, lambda address: False, since_ms=1160).ok, "before"
    moved = [at(0, 100, clock=Clock("x", 0))]
    moved += [at(2000, 2100, clock=Clock("x", 900))]
    assert audit_addresses([moved], 1.0, lambda address: False).too_close == 0
    assert audit_addresses([moved], 1.1, lambda address: False).too_close == 1


def test_a_line_with_more_than_it_should_have_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    """Damage, or a later version: whoever takes over must not fail over it."""
    book = Ledger(tmp_path, 1, BIG)
    book.started([("a.com", 1)])
    book.close()
    [path] = (tmp_path / "visits").iterdir()
    more = [
        b'["s","a.com",180,"x","ok"]',
        b'["d","a.com",5,{}]',
        b'["e","a.com",180,190,1,"","ok",null,[]]',
    ]
    path.write_bytes(path.read_bytes() + b"".join(line + b"\n" for line in more))
    assert tail(tmp_path, {}, [1]) == {"a.com": TailInfo(190, 5)}
    assert [(visit.start_ms, visit.end_ms) for visit in read_visits(tmp_path)] == [
        (1, 1),
        (180, 190),
    ]
