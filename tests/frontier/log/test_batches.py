"""How the links of a batch are divided by domain, in both ways."""

from __future__ import annotations

from random import Random

import pytest

from lycosa.frontier.log import compiled
from lycosa.frontier.log.batches import by_domain_in_python, found_links
from lycosa.frontier.values import Batch
from lycosa.records import Flag
from support.made import blocks, link

by_domain = compiled.by_domain or by_domain_in_python


def test_links_are_divided_by_domain_in_their_order() -> None:
    for seed in range(50):
        chance = Random(seed)
        links = [
            link(f"https://{chance.choice('abcdef')}{chance.randrange(3)}.test/{n}", 1)
            for n in range(chance.randrange(200))
        ]
        found = by_domain_in_python(links)
        assert list(by_domain(links).items()) == list(found.items())
        assert sorted(each for some in found.values() for each in some) == sorted(links)
        assert by_domain(iter(links)) == by_domain(tuple(links)) == found


def test_links_with_flags_come_first_then_blocks() -> None:
    for seed in range(100):
        chance = Random(seed)
        urls = [f"https://{chance.choice('abc')}.test/{n % 9}" for n in range(chance.randrange(40))]
        plain = [link(url, chance.randrange(3)) for url in urls]
        packed, links = blocks(plain, chance)
        maps = [
            link(f"https://{chance.choice('abcd')}.test/{n}", 0, Flag.SITEMAP) for n in range(3)
        ]
        for each in chance.sample(maps, chance.randrange(4)):
            links.insert(chance.randrange(len(links) + 1), each)
        batch = Batch(links=list(links), blocks=packed)
        found = found_links(batch)
        told = by_domain_in_python(batch.all_links())
        for ident, wanted in told.items():
            some = [each for one in found.blocks.get(ident, ()) for each in one.links()]
            assert some + found.links.get(ident, []) == wanted
        assert found.domains() == told.keys()
        assert batch.links == links  # a batch may be sent again


@pytest.mark.skipif(compiled.by_domain is None, reason="it is not compiled here")
def test_what_is_no_link_is_refused() -> None:
    for wrong in ([()], [(1, 2)], [None], [[1, 2, "u", 0, "d", 0]], 5):
        with pytest.raises(TypeError):
            by_domain(wrong)  # type: ignore[arg-type]
