"""A site that answers everything with one page costs some pages; its neighbours lose none."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, status

SITE = "hostile-one-page.test"
MOST = 60  # pages per domain: far more than it takes to know the site


def crawled(root: Path, *flags: str) -> Crawl:
    spec = WorldSpec(seed=3, domains=3, pages=30, links=10, https=0.0, hostile=True)
    with SimWeb(spec.only("robots-allow"), root / "log") as web:
        crawl = Crawl(web, root, 0.1, "--max-pages-per-domain", str(MOST), *flags)
        seeds = [name for name in crawl.seeds.read_text().split() if "hostile" not in name]
        crawl.seeds.write_text("\n".join([*seeds, f"http://{SITE}/"]) + "\n")
        assert crawl.run(timeout=120) == 0, crawl.log.read_text()[-3000:]
    return crawl


def pages(crawl: Crawl) -> dict[str, int]:
    found = crawl.rows(
        "SELECT name, count(*) FROM pages JOIN domains ON domains.id = domain_id"
        " WHERE outcome = 'ok' GROUP BY name"
    )
    return {str(name): int(str(count)) for name, count in found}


@pytest.mark.timeout(200)
def test_its_budget_is_cut_and_why_tells(tmp_path: Path) -> None:
    crawl = crawled(tmp_path)
    found = pages(crawl)
    assert 20 <= found.pop(SITE) <= 22
    assert found and min(found.values()) >= 15, found
    told = status(crawl.data)
    assert told["drops"]["same-page"] > 20
    assert told["duplicates"] >= 19
    said = lycosa("why", f"http://{SITE}/never-asked-for", "--data-dir", crawl.data).stdout
    assert "same-page" in said and "answers every URL with one page" in said
    shown = lycosa("status", "--data-dir", crawl.data).stdout
    assert "repeats" in shown and "near-duplicates" in shown
    assert "near-duplicates" in crawl.log.read_text()
    assert crawl.queued() == set()


@pytest.mark.timeout(200)
def test_with_keep_repeats_it_is_crawled_like_others(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, "--keep-repeats")
    assert pages(crawl)[SITE] >= MOST - 1
    assert "same-page" not in status(crawl.data)["drops"]
