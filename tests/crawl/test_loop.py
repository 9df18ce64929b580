"""The loop of a real engine: its turns are short, and `status` says how long they were."""

from __future__ import annotations

from pathlib import Path

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, status


def test_a_busy_crawl_has_short_turns_and_tells_them(tmp_path: Path) -> None:
    """Everything is ready at once and many pages have many links: the store is busy throughout."""
    spec = WorldSpec(seed=8, domains=1500, pages=1, page_bytes=30_000, links=150, https=0.0,
                     plain=True)  # fmt: skip
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(
            web, tmp_path, 0.5, "--ip-delay", "0", "--engines", "2", "--max-pages", "1500"
        )
        assert crawl.run() == 0, crawl.log.read_text()[-2000:]
    told = status(crawl.data)
    loop = told["loop"]
    print(loop)
    assert loop["cpu"]["turns"] > 50
    assert loop["cpu"]["p999_ms"] < 50 and loop["cpu"]["max_ms"] < 250
    assert set(loop["wall"]) == {"turns", "p999_ms", "max_ms"}
    assert set(loop["excused"]) == {"turns", "max_ms"}
    text = lycosa("status", "--data-dir", crawl.data).stdout
    assert "loop     99.9 % of" in text
    assert all(each["store_lag_s"] < 20 for each in told["engines"])
