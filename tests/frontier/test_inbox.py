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
    Delivery,
    Mail,
    Rounds,
    apart,
    buckets,
    keys_for,
    place_of,
    rows_of,
    unpacked,
)
from lycosa.frontier.protocol import Link
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
    direct, posted = apart([held, far, errand], {held[0]})
    assert direct == [held, errand] and posted == [far]


@pytest.mark.parametrize("count", COUNTS)
def test_all_links_are_in_the_rows_of_their_buckets(count: int) -> None:
    found = links(count, 500)
    rows = rows_of(found, count, (7, 9), 5_000)
    assert [key for key, _, _ in rows] == sorted({key for key, _, _ in rows})
    assert len(rows) <= count
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
        for engine in (1, 2, 4_000_000)
        for number in (1, 2, 2_000_000_000)
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


def read(rows: list[tuple[int, bytes]], values: dict[str, int], count: int) -> Delivery:
    """What the statement `inbox_read` does."""
    first = min((key for key, _ in rows if key >= values["key"]), default=None)
    first = min((key for key, _ in rows), default=0) if first is None else first
    last = first | values["mask"]
    some = sorted(each for each in rows if first <= each[0] <= last)[: values["limit"]]
    return Delivery(Mail().read(some, 0), count)


@pytest.mark.parametrize("engine_id", [1, 2, 1000])
@pytest.mark.parametrize("count", [1, 4, 16, 64, 256])
def test_a_round_comes_to_every_bucket(engine_id: int, count: int) -> None:
    """Whatever number of buckets the writers had."""
    rows = [
        (key, data)
        for n, width in enumerate((1, 4, 16, 256))
        for key, _, data in rows_of(links(n, 400), width, (1, n), 0)
    ]
    rounds, left = Rounds(), dict(rows)
    for _ in range(2 * count):
        made = read(list(left.items()), rounds.look(engine_id, count), count)
        for key in made.mail.keys:
            del left[key]
        rounds.delivered(engine_id, made)
        if not left:
            return
    raise AssertionError(f"{len(left)} rows were never read")


def test_a_full_bucket_is_emptied_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to one popular domain come in faster than one commit delivers."""
    monkeypatch.setattr(inbox, "MOST_LINKS", 40)
    popular = [link(f"https://popular.test/{n}") for n in range(400)]
    rows = {
        key: data
        for n in range(20)
        for key, _, data in rows_of(popular[20 * n : 20 * n + 20], 16, (1, n), 0)
    }
    rounds, delivered = Rounds(), []
    for _ in range(11):
        made = read(list(rows.items()), rounds.look(1, 16), 16)
        assert len(made.mail.links) <= 40 + 20
        delivered.append(len(made.mail.keys))
        for key in made.mail.keys:
            del rows[key]
        rounds.delivered(1, made)
    assert not rows and delivered[:9] == [2] * 9


def test_engines_begin_at_different_places_and_jump_where_they_meet() -> None:
    rounds = Rounds()
    starts = {rounds.look(engine_id, 64)["key"] for engine_id in range(1, 17)}
    assert len({key >> 57 for key in starts}) >= 14, "of 64 buckets"
    made = Delivery(Mail(keys=[rounds.look(3, 64)["key"]]), 64)
    before = rounds.look(3, 64)["key"]
    rounds.collided(3, made)
    assert made.mail.keys == [] and rounds.look(3, 64)["key"] >> 57 != before >> 57
