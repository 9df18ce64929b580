"""`pause`, `unpause`, `set` and `seeds`, and the wheel behind them, on crawls that rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands.stores import Stored, make
from lycosa.errors import UserError
from lycosa.frontier.keys import DELAYS_KEY
from lycosa.steering.settable import SETTABLE
from lycosa.steering.wheel import open_wheel

URLS = ["https://a.test/", "https://a.test/private/1", "https://b.test/"]


@pytest.fixture(params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return make(tmp_path / "data", store, URLS)


def setting(crawl: Stored, key: str) -> str:
    frontier = crawl.open()
    try:
        return frontier.setting(key) or ""
    finally:
        frontier.close()


def test_pause_and_unpause(crawl: Stored) -> None:
    assert "stays paused when it is resumed" in crawl.run("pause", "--why", "holidays")
    assert json.loads(setting(crawl, "paused")).keys() == {"since_ms", "why", "by"}
    assert "paused already" in crawl.run("pause", "--why", "other")
    told = json.loads(crawl.run("status", "--json"))
    assert told["state"] == "stopped" and told["pause"]["why"] == "holidays"
    assert "it is paused, so also" in crawl.run("status")
    assert "no longer paused" in crawl.run("unpause")
    assert setting(crawl, "paused") == ""
    assert "is not paused" in crawl.run("unpause")
    assert json.loads(crawl.run("unpause", "--json"))["new"] is False


def test_a_finished_crawl_is_not_paused(crawl: Stored) -> None:
    frontier = crawl.open()
    frontier.put_settings({"finished": 1})
    frontier.close()
    assert "The crawl is finished: there is nothing to pause." in crawl.run("pause", code=2)


def test_what_can_be_set_is_listed(crawl: Stored) -> None:
    said = crawl.run("set")
    assert "delay=70" in said and "max-pages=none" in said and "language=none" in said
    found = json.loads(crawl.run("set", "--json"))["settings"]
    assert [each["name"] for each in found] == list(SETTABLE)
    assert all(each["meaning"] for each in found)


@pytest.mark.parametrize(
    ("word", "now"),
    [
        ("delay=2m", "120"), ("ip-delay=0", "0"), ("max-pages=1,000", "1000"),
        ("max-depth=0", "0"), ("max-depth=none", "none"), ("max-pages-per-domain=5", "5"),
        ("max-queued-per-domain=7", "7"), ("language=de,pt-BR", "de,pt"), ("language=none", "none"),
        ("max_depth=3", "3"), ("sitemaps=on", "true"),
    ],
)  # fmt: skip
def test_settings_are_read_like_flags_and_stay(crawl: Stored, word: str, now: str) -> None:
    name = word.partition("=")[0].replace("_", "-")
    told = json.loads(crawl.run("set", word, "--json"))["changed"][name]
    assert told["now"] == now
    values = {
        each["name"]: each["value"] for each in json.loads(crawl.run("set", "--json"))["settings"]
    }
    assert values[name] == now
    assert "already" in crawl.run("set", word)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("delay=fast", "delay must be a time of at least 0 seconds, such as 90, 30m, 12h or 2d"),
        ("delay", "Write NAME=VALUE, such as delay=30, not 'delay'."),
        ("delay=99d", "delay must be at most 30d"),
        ("dellay=3", "There is no setting 'dellay'; did you mean delay?"),
        ("email=x@example.org", "email can't change while a crawl runs: stop the crawl, and give"),
        ("max-queued-per-domain=none", "must be a whole number of at least 1"),
    ],
)  # fmt: skip
def test_mistakes(crawl: Stored, word: str, said: str) -> None:
    before = crawl.run("set")
    assert said in crawl.run("set", "max-depth=9", word, code=2)
    assert crawl.run("set") == before, "the first of two must not be set if the second is wrong"


def test_the_settings_of_a_node_are_those_of_the_directory(crawl: Stored) -> None:
    if crawl.store:
        assert "is no node's directory: name one" in crawl.run("set", "max-workers=5", code=2)
        with open_wheel(crawl.root, crawl.store) as wheel:
            with pytest.raises(UserError, match=r"No node has joined this crawl yet"):
                wheel.set("max-workers", "5")
            assert {each.name: each.value for each in wheel.settable()}["max-workers"] == "1000"
        return
    assert "max-workers is 5, it was 1000" in crawl.run("set", "max-workers=5")
    assert "min-free-disk is 0, it was 2147483648" in crawl.run("set", "min-free-disk=0")
    assert json.loads(setting(crawl, "node")) == {"max_workers": 5, "min_free_disk": 0}


def test_the_audit_knows_the_old_delays(crawl: Stored) -> None:
    crawl.run("set", "delay=100")
    crawl.run("set", "delay=30")
    delays = json.loads(setting(crawl, DELAYS_KEY))
    assert [delay for _, delay in delays] == [70.0, 100.0]
    assert delays[0][0] <= delays[1][0], "nobody works on the crawl: all have heard of it"
    stored = json.loads(setting(crawl, "settings"))
    assert (stored["delay"], stored["ip_delay"]) == (30.0, 30 / 70)


def test_seeds_are_added(crawl: Stored, tmp_path: Path) -> None:
    file = tmp_path / "more.txt"
    file.write_text("# more\nc.test\na.test\n1,d.test\nnot a domain\nhttps://b.test/\n")
    said = crawl.run("seeds", "add", str(file), "https://e.test/start")
    assert "'not a domain' is left out: a domain has no spaces." in said
    assert "3 seeds were taken, 2 were known before, 1 line was refused." in said
    assert "https://e.test/start" in crawl.queued() and "https://d.test/" in crawl.queued()
    again = json.loads(crawl.run("seeds", "add", str(file), "--json"))
    assert (again["taken"], again["known"], again["refused"]) == (0, 4, 1)


def test_seeds_end_the_end(crawl: Stored) -> None:
    frontier = crawl.open()
    frontier.put_settings({"finished": 1})
    frontier.close()
    crawl.run("seeds", "add", "f.test")
    assert setting(crawl, "finished") == "0"


def test_no_seed_among_the_words(crawl: Stored, tmp_path: Path) -> None:
    assert "'nodot' is no seed: a domain needs a dot" in crawl.run("seeds", "add", "nodot", code=2)
    assert "seeds' add' and what to add" in crawl.run("seeds", code=2).replace(
        "seeds add", "seeds' add"
    )
    empty = tmp_path / "empty"
    empty.write_text("# nothing\n")
    assert "has no line that is a domain or URL" in crawl.run("seeds", "add", str(empty), code=2)


def test_a_seed_file_that_is_not_there_is_no_domain(crawl: Stored) -> None:
    assert "The seed file more.txt does not exist" in crawl.run("seeds", "add", "more.txt", code=2)
    said = crawl.run("seeds", "add", "f.test/more.txt")
    assert "1 seed was taken, 0 were known before, 0 lines were refused." in said


def test_the_wheel_excludes_and_takes_back(crawl: Stored) -> None:
    with open_wheel(crawl.root, crawl.store or "sqlite") as wheel:
        counter = wheel.hits(["a.test/private", "b.test"])
        assert (counter.total.domains, counter.total.urls) == (2, 2)
        assert wheel.exclude(["a.test/private"]) == 1
        assert wheel.exclusions() == ["a.test/private*"]
        with pytest.raises(UserError, match=r"no exclusion of this crawl"):
            wheel.take_back(["b.test"])
        assert wheel.take_back(["a.test/private"]) == 0
        assert wheel.exclusions() == []
        assert not wheel.stop() and wheel.paused() is None
