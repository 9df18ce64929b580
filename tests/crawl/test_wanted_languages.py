"""A crawl that keeps some languages only, and goes deeper where it finds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World
from support.http_server import HttpServer, reply, say
from support.program import EMAIL, Crawl, Words, lycosa, status

ENGLISH = "The old town lies on the bank of the river, and every year people visit its gardens. "
GERMAN = "Die alte Stadt liegt am Ufer des Flusses, und jedes Jahr besuchen viele ihre Gärten. "


def page(text: str, *links: str) -> bytes:
    anchors = "".join(f"<a href='{link}'>.</a>" for link in links)
    return reply(f"<meta charset=utf-8><p>{text * 5}</p>{anchors}".encode())


@pytest.fixture
def server() -> HttpServer:
    """English pages; behind the second one a chain of German ones begins, and an English one."""
    made = HttpServer()
    made.paths["/"] = say(page(ENGLISH, "/en1"))
    made.paths["/en1"] = say(page(ENGLISH, "/de1", "/en2"))
    made.paths["/en2"] = say(page(ENGLISH, "/en3"))
    made.paths["/en3"] = say(page(ENGLISH, "/de9"))
    made.paths["/de1"] = say(page(GERMAN, "/de2"))
    made.paths["/de2"] = say(page(GERMAN, "/de3"))
    made.paths["/de3"] = say(page(GERMAN, "/en4"))
    made.paths["/en4"] = say(page(ENGLISH, "/en5"))
    made.paths["/en5"] = say(page(ENGLISH, "/en6"))
    made.paths["/en6"] = say(page(ENGLISH))
    made.paths["/de9"] = say(page(GERMAN))
    return made


def crawl(root: Path, server: HttpServer, *flags: str) -> dict[str, tuple[str, int]]:
    """The outcome and the depth of each path."""
    root.mkdir(exist_ok=True)
    (root / "seeds.txt").write_text("http://127.0.0.1/")
    words: Words = ["crawl", root / "seeds.txt", "--email", EMAIL, "--data-dir", root / "data"]
    words += ["--delay", "0.01", "--engines", "1", "--port-map", f"80={server.port}"]
    done = lycosa(*words, "--allow-private-addresses", *flags, timeout=100)
    assert done.returncode == 0, done.stderr
    listed = lycosa("pages", "--json", "--data-dir", root / "data")
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    return {
        row["url"].removeprefix("http://127.0.0.1"): (row["outcome"], row["depth"]) for row in rows
    }


def test_it_goes_through_few_other_pages_and_deep_into_the_wanted(
    server: HttpServer, tmp_path: Path
) -> None:
    found = crawl(tmp_path, server, "--language", "de", "--max-depth", "2")
    other = "other-language"
    assert found == {
        "/": (other, 0),
        "/en1": (other, 1),
        "/en2": (other, 2),  # its links would be three links away from a German page or a seed
        "/de1": ("ok", 2),
        "/de2": ("ok", 1),  # counted from /de1
        "/de3": ("ok", 1),
        "/en4": (other, 1),
        "/en5": (other, 2),
    }
    told = status(tmp_path / "data")
    assert told["outcomes"] == {other: 5, "ok": 3}
    assert told["drops"]["depth"] == 2


def test_without_it_depth_counts_from_the_seed(server: HttpServer, tmp_path: Path) -> None:
    found = crawl(tmp_path, server, "--max-depth", "2")
    assert sorted(found) == ["/", "/de1", "/en1", "/en2"]
    assert {outcome for outcome, _ in found.values()} == {"ok"}


def test_a_code_that_means_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/")
    words: Words = ["crawl", tmp_path / "seeds.txt", "--email", EMAIL]
    done = lycosa(*words, "--data-dir", tmp_path / "data", "--language", "german")
    assert done.returncode == 2 and "--language must be the code of a language" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_simulated_web_in_several_languages(tmp_path: Path) -> None:
    """Each domain speaks the language that it declares; of half of them nothing is kept."""
    spec = WorldSpec(seed=2, domains=24, pages=3, plain=True, https=0.0, languages=True)
    world = World(spec)
    spoken = {site.name: site.lang for site in map(world.site, range(spec.domains))}
    with SimWeb(spec, tmp_path / "log") as web:
        wanted = ("de", "fr", "sv")
        flags = [word for code in wanted for word in ("--language", code)]
        made = Crawl(web, tmp_path, 0.05, *flags)
        assert made.run() == 0, made.log.read_text()
    rows = made.rows("SELECT url, outcome, language FROM pages WHERE status = 200")
    assert len(rows) == 24 * 3
    for url, outcome, language in rows:
        declared = spoken[url.split("/")[2]]
        assert language == declared, url
        assert outcome == ("ok" if declared in wanted else "other-language"), url
