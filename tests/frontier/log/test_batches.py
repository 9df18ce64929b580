"""How the links of a batch are divided by domain, in both ways."""

from __future__ import annotations

from random import Random

import pytest

from lycosa.frontier.log import compiled
from lycosa.frontier.log.batches import by_domain_in_python
from support.made import link

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


@pytest.mark.skipif(compiled.by_domain is None, reason="it is not compiled here")
def test_what_is_no_link_is_refused() -> None:
    for wrong in ([()], [(1, 2)], [None], [[1, 2, "u", 0, "d", 0]], 5):
        with pytest.raises(TypeError):
            by_domain(wrong)  # type: ignore[arg-type]
