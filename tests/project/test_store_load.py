"""The load of bench/frontier.py has the shape that it claims: a kinder one would flatter stores."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from lycosa.frontier.protocol import Link
from lycosa.records import Lease, QueuedUrl
from lycosa.urls.canonical import canonical, host_of
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint
from stores.paths import number_of
from stores.world import FINISHED, HEARD, VISITED, Load, Pages, Site, kind_of


@pytest.fixture(scope="module")
def load() -> Load:
    return Load(200_000)


def visit(load: Load, d: int) -> tuple[Lease, QueuedUrl]:
    """A domain as the filled store hands it out."""
    site, visits = Site(d), 4 if kind_of(d) == VISITED else 0
    _, fp, url, *_ = site.link(0)
    return Lease(site.ident, site.name, 0, 0, 0, visits, 10, False), QueuedUrl(fp, url, 0, 1)


def ready(load: Load) -> list[int]:
    return [d for d in range(load.domains) if kind_of(d) != FINISHED]


@pytest.fixture(scope="module")
def links(load: Load) -> list[tuple[int, list[Link]]]:
    """The links of a page of each ready domain, with the domain, in every fifth those of two, as
    the engines of the benchmark visit them; nothing filtered."""
    pages, found = Pages(load, 0, 1), []
    for index, d in enumerate(ready(load)):
        lease, _ = visit(load, d)
        for _ in range(2 if index % 5 == 0 else 1):
            found.append((d, list(pages._links(lease))))
            lease.pages += 1
    return found


def test_half_of_the_domains_are_finished_and_sizes_have_a_long_tail(load: Load) -> None:
    kinds = [kind_of(d) for d in range(load.domains)]
    assert kinds.count(FINISHED) == load.domains / 2
    sizes = sorted((load.sizes[d] for d in load.of_kind(VISITED)), reverse=True)
    assert sum(sizes[: len(sizes) // 10]) > 0.35 * sum(sizes)  # the largest tenth
    assert statistics.median(sizes) < statistics.mean(sizes) / 1.8
    assert 180_000 < sum(sizes) + sum(load.sizes[d] for d in load.of_kind(HEARD)) < 220_000


def test_a_page_has_100_links_34_new_and_5_to_others(
    load: Load, links: list[tuple[int, list[Link]]]
) -> None:
    count = len(links)
    assert 92 < sum(len(found) for _, found in links) / count < 108
    filled.clear()
    seen: set[int] = set()
    new = [link for _, found in links for link in found if is_new(load, link, seen)]
    assert 31 < len(new) / count < 37
    foreign = [link for d, found in links for link in found if link[4] != Site(d).name]
    assert 4.9 * count < len(foreign) <= 5 * count  # a few happen to lead home
    unknown = [link for link in foreign if number_of(link[4]) >= load.domains]
    assert 0.1 < len(unknown) / count < 0.3
    idle = [link for link in foreign if kind_of(number_of(link[4])) == FINISHED]
    assert 0.3 < len(idle) / len(foreign) < 0.6
    assert len({link[1] for link in foreign}) < 0.85 * len(foreign)  # some repeat


def is_new(load: Load, link: Link, seen: set[int]) -> bool:
    """Whether neither the fill knew it nor a page before; notes it as seen."""
    d = number_of(link[4])
    if d < load.domains and d not in filled:
        filled.add(d)
        seen.update(Site(d).link(i)[1] for i in range(load.sizes[d]))
    new = link[1] not in seen
    seen.add(link[1])
    return new


filled: set[int] = set()


def test_links_are_as_the_engine_would_make_them(links: list[tuple[int, list[Link]]]) -> None:
    some = [link for _, found in links[::50] for link in found]
    assert 50 < statistics.mean(len(link[2]) for link in some) < 60
    for ident, fp, url, _, name, _ in some:
        assert canonical(url) == url
        assert domain_of(host_of(url)) == name
        assert ident == domain_id(name)
        assert fp == fingerprint(url)


def test_no_two_links_of_a_page_are_one(links: list[tuple[int, list[Link]]]) -> None:
    for d, found in links:
        own = [link[1] for link in found if link[4] == Site(d).name]
        assert len(set(own)) >= len(own) - 2  # a foreign one may lead home
