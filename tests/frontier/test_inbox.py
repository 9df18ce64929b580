"""Links on their way, as pure values: buckets, rows and rounds."""

from __future__ import annotations

from random import Random

import orjson
import pytest
from xxhash import xxh3_64_digest

from lycosa.frontier import inbox
from lycosa.frontier.inbox import (
    PLACES,
    BadRow,
    Mail,
    Rounds,
    apart,
    buckets,
    buckets_read,
    keys_for,
    place_of,
    rows_for,
    rows_of,
    unpacked,
)
from lycosa.frontier.log.batches import by_domain
from lycosa.frontier.protocol import Committed, Link
from lycosa.records import Flag
from support.made import link

COUNTS = [1 << n for n in range(11)]  # up to PLACES


def links(seed: int, count: int, domains: int = 200) -> list[Link]:
    """Random ones, some of them twice; as hosts have them: names below a domain, ports, queries."""
    chance = Random(seed)
    hosts = (
        "d{}.test",
        "www.d{}.test",
        "a.b.d{}.co.uk",
        "d{}.github.io",
        "10.0.0.{}",
        "d{}.test:81",
    )
    found = []
    for _ in range(count):
        host = chance.choice(hosts).format(chance.randrange(domains))
        path = chance.choice(("", "p/{}", "?utm_source={}", "%C3%BC/{}")).format(
            chance.randrange(9)
        )
        flags = chance.choice((0, 0, Flag.SITEMAP, Flag.SEED))
        found.append(link(f"https://{host}/{path}", chance.randrange(5), flags))
    return found


def test_a_crawl_has_as_many_buckets_as_its_size_pays_for() -> None:
    assert buckets(domains=1_999, links=10_000) == 1
    assert buckets(domains=2_000, links=10_000) == 2
    assert buckets(domains=170_000, links=2_500) == 128
    assert buckets(domains=10**9, links=2_500) == 256
    assert buckets(domains=10**9, links=10**6) == inbox.MOST_BUCKETS
    assert buckets(domains=10**9, links=15) == 1, "rows of few links cost more than they save"
    assert buckets(domains=0, links=0, forced=16) == 16


def test_links_to_what_is_held_and_errands_go_to_logs_at_once() -> None:
    held, far = link("https://a.test/1"), link("https://b.test/1")
    errand = link("https://c.test/robots.txt", flags=Flag.ERRAND)
    odd = link("https://d.test/\u00fc")
    beside = link("https://c.test/1")
    direct, posted = apart(by_domain([held, far, errand, odd, beside]), {held[0]})
    assert direct == by_domain([held, errand, odd]) and posted == [far, beside]


@pytest.mark.parametrize("count", COUNTS)
def test_all_links_are_in_the_rows_of_their_buckets(count: int) -> None:
    found = links(count, 500)
    rows = rows_of(found, count, (7, 9), 5_000)
    assert all(number <= inbox.ROW_MOST for _, number, _ in rows)
    assert [key for key, _, _ in rows] == sorted({key for key, _, _ in rows})
    assert len({key >> 53 for key, _, _ in rows}) <= count
    mail = Mail().read([(key, data) for key, _, data in rows], epoch_ms=1_000_000)
    assert {each[:2] for each in found} == set(mail.links)
    by_key = {each[:2]: each for each in reversed(found)}
    assert set(mail.links.values()) == set(by_key.values()), "of the same URL the first counts"
    assert set(mail.found_ms.values()) == {1_005_000}
    assert sum(number for _, number, _ in rows) == len(mail.links)
    for key, _, data in rows:
        for each in unpacked(data)[0]:
            assert any(first <= key <= last for first, last in keys_for(each[0]))
            assert place_of(each[0]) * count // PLACES == (key >> 53) * count // PLACES


def test_no_two_rows_have_the_same_key() -> None:
    found = links(1, 300)
    keys = [
        key
        for count in (4, 64)
        for engine in (1, 2, 1_000_000)
        for number in (1, 2, 100_000_000)
        for key, _, _ in rows_of(found, count, (engine, number + count), 0)
    ]
    assert len(set(keys)) == len(keys)
    assert min(keys) >= 0 and max(keys) < 1 << 63


def test_the_first_moment_counts_for_a_domain_that_was_found_twice() -> None:
    rows = [rows_of([link("https://a.test/")], 4, (1, n), at)[0] for n, at in ((1, 900), (2, 300))]
    mail = Mail().read([(key, data) for key, _, data in rows], epoch_ms=1_000)
    assert list(mail.found_ms.values()) == [1_300]


# -- foreign bytes ---------------------------------------------------------------------------------


def test_every_changed_byte_and_every_cut_is_found() -> None:
    ((_, _, data),) = rows_of(links(3, 12, domains=2)[:1], 1, (1, 1), 0)
    for at in range(len(data)):
        for bit in (1, 128):
            with pytest.raises(BadRow):
                unpacked(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
        with pytest.raises(BadRow):
            unpacked(data[:at])


@pytest.mark.parametrize(
    "body",
    [
        [5, [["b.test", [["https://a.test/", 0, 0]]]]],
        [5, [["test", [["https://a.test/", 0, 0]]], ["est", [["https://a.test/", 0, 0]]]]],
        [5, [["a.test", [["https://nota.test/", 0, 0]]]]],
        [5, [["a.test", [["https://a.test/", -1, 0]]]]],
        [5, [["a.test", [["https://a.test/", 0, 999]]]]],
        [5, [["a.test", [["https://a.test/", 0.5, 0]]]]],
        [5, [["a.test", [["", 0, 0]]]]],
        [5, [["a.test", [[7, 0, 0]]]]],
        [5, [[7, [["https://a.test/", 0, 0]]]]],
        [5, [["a.test", 7]]],
        ["5", []],
        [5, 7],
        [5],
        {},
        None,
    ],
)
def test_a_row_that_says_nonsense_is_refused(body: object) -> None:
    data = orjson.dumps(body)
    with pytest.raises(BadRow):
        unpacked(bytes([inbox.FORMAT]) + xxh3_64_digest(data) + data)


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_under_a_checksum_that_fits_are_refused_or_sound(seed: int) -> None:
    chance = Random(seed)
    rows = rows_of(links(seed, 40, domains=5), 4, (1, 1), 77)
    for _ in range(500):
        body = bytearray(chance.choice(rows)[2][9:])
        for _ in range(chance.randint(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        try:
            found, _ = unpacked(bytes([inbox.FORMAT]) + xxh3_64_digest(body) + bytes(body))
        except BadRow:
            continue
        for ident, fp, url, _, name, flags in found:
            assert link(url)[1] == fp
            assert url.split("/")[2].split(":")[0].rstrip(".").endswith(name)
            assert ident > 0 and flags < 256


def test_one_bad_row_costs_itself() -> None:
    rows = rows_of(links(9, 100), 16, (1, 1), 0)
    broken = rows[3][2][:-1]
    given = [(key, broken if n == 3 else data) for n, (key, _, data) in enumerate(rows)]
    mail = Mail().read(given, 0)
    assert [(key, data) for key, _, data in mail.damaged] == [(rows[3][0], broken)]
    assert len(mail.links) == sum(number for _, number, _ in rows) - rows[3][1]
    assert mail.keys == [key for key, _, _ in rows], "it is taken away with the others"


# -- rounds ----------------------------------------------------------------------------------------


def read(
    rounds: Rounds, engine_id: int, rows: dict[int, bytes], count: int, posted: int = 0
) -> Mail:
    """What an engine reads next; `inbox_read` in Python."""

    def inbox_read(values: dict[str, int]) -> list[tuple[int, bytes]]:
        first = min((key for key in rows if key >= values["key"]), default=min(rows, default=0))
        some = sorted(key for key in rows if first <= key <= first | values["mask"])
        return [(key, rows[key]) for key in some[: values["limit"]]]

    return rows_for(rounds, engine_id, count, posted, inbox_read, 0)


def take(
    rounds: Rounds, engine_id: int, rows: dict[int, bytes], count: int, posted: int = 0
) -> Mail:
    mail = read(rounds, engine_id, rows, count, posted)
    for key in mail.keys:
        del rows[key]
    return mail


def rows_from(seed: int, number: int, count: int) -> dict[int, bytes]:
    return {key: data for key, _, data in rows_of(links(seed, number), count, (seed, 1), 0)}


@pytest.mark.parametrize("engine_id", [1, 2, 1000, 1024])
@pytest.mark.parametrize("count", [1, 4, 16, 64, 256])
def test_a_round_comes_to_every_bucket(engine_id: int, count: int) -> None:
    """Whatever number of buckets the writers had."""
    rows: dict[int, bytes] = {}
    for seed, width in enumerate((1, 4, 16, 256), 1):
        rows |= rows_from(seed, 400, width)
    rounds = Rounds()
    for _ in range(2 * count):
        take(rounds, engine_id, rows, count)
        if not rows:
            return
    raise AssertionError(f"{len(rows)} rows were never read")


@pytest.mark.parametrize("count", [4, 16, 64])
def test_a_bucket_that_is_refilled_is_left_all_the_same(count: int) -> None:
    """The writers have more buckets than the reader."""
    rounds, seen = Rounds(), set()
    for n in range(2 * count):
        rows = rows_from(n + 1, 3000, 1024)
        seen |= {key * count >> 63 for key in take(rounds, 1, rows, count).keys}
    assert len(seen) == count


def test_a_full_bucket_is_emptied_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to one popular domain come in faster than one commit delivers."""
    monkeypatch.setattr(inbox, "MOST_LINKS", 40)
    rows: dict[int, bytes] = {}
    for n in range(20):
        some = [link(f"https://popular.test/{n}/{m}") for m in range(20)]
        rows |= {key: data for key, _, data in rows_of(some, 16, (1, n), 0)}
    full = len(rows)
    rows |= rows_from(3, 100, 16)
    rounds, popular = Rounds(), place_of(link("https://popular.test/")[0]) * 16 // PLACES
    visits = []
    while any(key * 16 >> 63 == popular for key in rows):
        mail = take(rounds, 1, rows, 16)
        assert mail.count < 40 + 20
        visits.append({key * 16 >> 63 for key in mail.keys} == {popular})
    assert full == 20 and sum(visits) >= 9
    first = visits.index(True)
    assert all(visits[first : first + 9]), "it stays until the bucket is empty"


def test_as_much_is_delivered_as_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit delivers one bucket, so that a bucket has time to fill."""
    monkeypatch.setattr(inbox, "MOST_LINKS", 100)
    rounds, rows, left = Rounds(), dict[int, bytes](), []
    for n in range(64):
        posted = links(n, 300, domains=3000)
        rows |= {key: data for key, _, data in rows_of(posted, 16, (1, n), 0)}
        mail = take(rounds, 1, rows, 16, len(posted))
        assert len({key * 16 >> 63 for key in mail.keys}) == 1
        left.append(len(rows))
    assert max(left[32:]) < 1.3 * max(left[16:32])


def test_what_one_transaction_reads_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    same = [link(f"https://a.test/{n}") for n in range(50)]
    rows = {
        rows_of(same, 4, (1, n), 0)[0][0]: rows_of(same, 4, (1, n), 0)[0][2] for n in range(300)
    }
    mail = read(Rounds(), 1, rows, 4)
    assert len(mail.links) == 50 and not mail.whole
    assert inbox.MOST_LINKS <= mail.count < inbox.MOST_LINKS + 50, "copies count, too"
    monkeypatch.setattr(inbox, "MOST_ROWS", 10)
    mail = read(Rounds(), 1, rows, 4)
    assert len(mail.keys) == 10 and not mail.whole


def test_many_links_to_one_bucket_are_several_rows() -> None:
    some = [link(f"https://a.test/{n}") for n in range(1200)] + links(2, 30)
    rows = rows_of(some, 1, (3, 4), 0)
    assert [count for _, count, _ in rows][:2] == [inbox.ROW_MOST] * 2
    assert all(count <= inbox.ROW_MOST for _, count, _ in rows)
    mail = Mail().read([(key, data) for key, _, data in rows], 0)
    assert set(mail.links) == {each[:2] for each in some}
    endless = [link(f"https://a.test/{n}") for n in range(inbox.ROW_MOST * 70)]
    assert len(rows_of(endless, 1, (3, 4), 0)) == 64


def test_engines_begin_at_different_places_and_jump_where_they_meet() -> None:
    rounds = Rounds()
    starts = {rounds.look(engine_id, 64, 1)["key"] for engine_id in range(1, 17)}
    assert len({key >> 57 for key in starts}) >= 14, "of 64 buckets"
    before = rounds.look(3, 64, 1)["key"]
    rounds.collided(3)
    assert rounds.look(3, 64, 1)["key"] >> 57 != before >> 57


def test_who_reads_all_there_is_does_not_stay_in_step_with_others() -> None:
    rounds = Rounds()
    for _ in range(2):
        for engine_id in range(1, 9):
            rounds.went(engine_id, Mail(keys=[rounds.look(engine_id, 1, 1)["key"]]), 1)
    assert len({rounds.look(engine_id, 64, 1)["key"] for engine_id in range(1, 9)}) == 8


def test_a_commit_of_few_links_looks_at_a_narrow_bucket() -> None:
    """Else it would meet all others."""
    assert buckets(170_000, links=3) == 1 and buckets_read(170_000) == 128
    assert buckets_read(1_000) == 1 and buckets_read(0, forced=16) == 16


def test_what_came_of_deliveries_is_told_once() -> None:
    rounds = Rounds()
    rounds.keep(Committed(0, 0, False, 0, added={1: 2}, drops={"depth": 1}))
    rounds.keep(Committed(0, 0, False, 0, added={1: 1}, drops={"depth": 1}))
    told, again = Committed(0, 0, False, 0, added={1: 1}), Committed(0, 0, False, 0)
    rounds.tell(told)
    rounds.tell(again)
    assert (told.added, told.drops) == ({1: 4}, {"depth": 2})
    assert (again.added, again.drops) == ({}, {})
