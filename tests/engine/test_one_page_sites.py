"""Sites that answer every URL with one page are known by it; others never are."""

from __future__ import annotations

import random

import pytest

from lycosa.engine.one_page_sites import PAGES, OnePageSites, one_page
from lycosa.outcomes import Drop
from lycosa.page.simhash import simhash
from support.harvest_bench import Bench

PROSE = [f"word{n}" for n in range(60)]
SORRY = "<p>Sorry, we could not find what you were looking for; the page may have moved. {}</p>"
MENU = "<p>Home Products News Contact Imprint Privacy Terms Search Login Register Help</p>"


def noted(sites: OnePageSites, values: list[int], domain: int = 9) -> OnePageSites:
    for value in values:
        sites.note(domain, value)
    return sites


def random_values(number: int) -> list[int]:
    chance = random.Random(1)
    return [chance.getrandbits(63) for _ in range(number)]


def test_a_site_of_one_page_is_known_after_some_pages() -> None:
    sites = noted(OnePageSites(), [77] * (PAGES - 1))
    assert not sites.known(9, PAGES - 1)
    assert noted(sites, [77]).known(9, PAGES)
    assert not sites.known(8, PAGES)


def test_small_differences_do_not_hide_it_and_real_pages_only_delay_it() -> None:
    sites = noted(OnePageSites(), random_values(4))
    noted(sites, [77 ^ 1 << number % 3 for number in range(30)])
    assert not sites.known(9, 34)
    assert noted(sites, [77] * 10).known(9, 44)


def test_a_site_with_other_pages_is_none() -> None:
    values = random_values(100)
    assert one_page(values) == 0
    assert one_page(values[:20] + [77] * 100) == 0
    mixed = [value if number % 5 == 0 else 77 for number, value in enumerate(values)]
    assert one_page(mixed) == 0
    assert one_page([77] * 50) == 50


def test_pages_without_words_say_nothing() -> None:
    assert one_page([0] * 100) == 0


def test_an_engine_that_comes_late_needs_half_of_all_pages() -> None:
    sites = noted(OnePageSites(), [77] * 30)
    assert not sites.known(9, 1000)
    assert noted(sites, [77] * 470).known(9, 1000)


def test_it_is_freed_when_it_says_something_else() -> None:
    sites = noted(OnePageSites(), [77] * 20)
    assert sites.known(9, 20)
    assert not noted(sites, random_values(3)).known(9, 23)


def test_memory_is_bounded_and_the_newer_domain_wins() -> None:
    sites = noted(OnePageSites(slots=4), [77] * 20, domain=1)
    noted(sites, [77], domain=5)
    assert not sites.known(1, 20)
    for domain in range(1, 1000):
        sites.note(domain, 77)
    assert len(sites._domains) == len(sites._pages) == 4


@pytest.mark.parametrize("keep", [False, True])
def test_what_is_queued_is_dropped_and_no_link_taken(keep: bool) -> None:
    bench = Bench(keep_repeats=keep)
    for number in range(PAGES):
        bench.held.queued = 50
        link = f'<a href="/more/{number}">more</a>'
        bench.page(SORRY.format(link).encode(), url=f"/p{number}")
    reasons = [purge.outcome for purge in bench.batch.purges]
    assert reasons == ([] if keep else [Drop.SAME_PAGE])
    assert all(purge.forget and purge.origin == "" for purge in bench.batch.purges)
    assert bench.stats.drops.get(Drop.SAME_PAGE, 0) == (0 if keep else 1)
    assert ("https://a.test/more/19" in bench.urls) is keep
    assert "https://a.test/more/18" in bench.urls


def test_pages_that_share_a_menu_only_are_left_in_peace() -> None:
    bench, chance = Bench(), random.Random(1)
    for number in range(60):
        own = " ".join(chance.choices(PROSE, k=12))
        bench.page(f"{MENU}<h1>Article {number}</h1><p>{own}</p>".encode(), url=f"/p{number}")
    assert bench.batch.purges == []


def test_a_text_of_the_same_words_in_another_order_is_another_page() -> None:
    chance, words = random.Random(1), PROSE * 5
    values = []
    for _ in range(40):
        chance.shuffle(words)
        values.append(simhash(" ".join(words)))
    assert one_page(values) == 0


def test_short_pages_that_differ_in_a_number_are_many_pages() -> None:
    many, one = Bench(), Bench()
    for number in range(60):
        many.held.queued = one.held.queued = 50
        page = f"<p>Page {number}</p><a>next</a> <a>next</a> <a>next</a>"
        many.page(page.encode(), url=f"/p{number}")
        one.page(b"<p>Nothing here</p>", url=f"/p{number}")
    assert not many.batch.purges and one.batch.purges
