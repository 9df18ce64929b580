"""Batches of more rows than one statement takes, on every store."""

from __future__ import annotations

import pytest
from conftest import Bench
from helpers import batch, names, release

from lycosa.records import Origin
from support.made import link, page_of, queued


@pytest.mark.parametrize("count", [1, 7, 63, 64, 65, 150, 700])
def test_a_batch_is_applied_whole(bench: Bench, count: int) -> None:
    """Each domain: a page done, links found on it, what its robots.txt says, and it goes back."""
    frontier = bench.frontier
    engine_id = frontier.register("host", 1)
    homes = [f"https://d{n}.test/" for n in range(count)]
    assert frontier.add([link(home) for home in homes]) == count
    leases = frontier.lease(engine_id, 1000)
    assert len(leases) == count
    assert {each.urls[0].url for each in leases} == set(homes)

    stranger = queued("https://d0.test/never-queued", order=1)
    pages = [page_of(each.urls[0]) for each in leases]
    if count % 2:  # then each URL is looked at by itself
        pages.append(page_of(stranger))
    rules = [b"old"] + [b"rules \x00\xff" * (1 + n % 5) for n in range(count)]
    known = [leases[0], *leases]  # the first one twice: the last word counts
    origins = [
        (each.domain_id, Origin(f"https://{each.name}", n, 200, text, 2, 7, "why"))
        for n, (each, text) in enumerate(zip(known, rules, strict=True))
    ]
    links = [link(f"{home}{path}", 1) for home in homes for path in ("a", "b", "c", "", "a")]
    back = [release(each, bench.clock.ms + n) for n, each in enumerate(leases)]
    parts = {"pages": pages, "links": links, "origins": origins, "released": back}
    result = frontier.commit(engine_id, batch(1, **parts))
    assert result.total_pages == count
    assert sorted(result.added.values()) == [3] * count
    assert frontier.backlog()[0] == 3 * count

    bench.clock.pass_seconds(1)
    again = frontier.lease(engine_id, 1000)
    assert names(again) == names(leases)  # the longest waiting first
    for number, each in enumerate(again):
        home = f"https://{each.name}/"
        assert {url.url for url in each.urls} == {home + path for path in "abc"}
        assert each.ready_ms == bench.clock.ms - 1000 + number
        assert [(o.rules, o.fetched_ms) for o in each.origins] == [(rules[number + 1], number + 1)]
    runs = frontier.refill([each.domain_id for each in again])
    assert runs == {each.domain_id: each.urls for each in again}
