"""`exclude` tells what it hits before it acts, asks, and can be taken back: on every store."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from commands.stores import Stored, make

URLS = [
    "https://a.test/", "https://a.test/private/1", "https://a.test/private/2",
    "https://www.a.test/", "https://b.test/", "https://b.test/calendar/7",
    "https://c.example/", "https://c.example/calendar/8", "https://shop.co.uk/",
    "http://192.0.2.1/", "https://me.github.io/", "https://you.github.io/",
]  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return make(tmp_path / "data", store, URLS)


def lines(crawl: Stored) -> list[str]:
    return crawl.run("exclude", "--list").splitlines()


@pytest.mark.parametrize("word", ["test", "com", "TEST", "co.uk", "github.io", "localhost", "com."])
def test_a_public_suffix_needs_its_dot(crawl: Stored, word: str, tmp_path: Path) -> None:
    said = crawl.run("exclude", word, "--yes", code=2)
    plain = word.lower().rstrip(".")
    assert f"it is a public suffix, write .{plain} to exclude every domain below it" in said
    file = tmp_path / "never.txt"
    file.write_text(f"b.test\n{word}\n")
    said = crawl.run("crawl", "--resume", "--exclude-file", str(file), "--yes", code=2)
    assert "Line 2" in said and f"write .{plain}" in said
    assert lines(crawl) == []


# They leave something of the domains that they hit, as far as anybody can tell.
PARTLY = (
    *("www.a.test", ".a.test", "a.test/private"),
    *("*/calendar/*", "*.test/*", "c.example/calendar/*"),
)


@pytest.mark.parametrize(
    ("pattern", "domains", "urls"),
    [
        (".test", 2, 6), ("a.test", 1, 4), ("b.test", 1, 2), ("www.a.test", 1, 1),
        (".a.test", 1, 1), ("a.test/private", 1, 2), ("*/calendar/*", 2, 2), (".io", 2, 2),
        (".github.io", 2, 2), ("me.github.io", 1, 1), ("192.0.2.1", 1, 1), ("*.test/*", 2, 6),
        ("https://c.example/", 1, 2), ("c.example/calendar/*", 1, 1), (".uk", 1, 1),
    ],
)  # fmt: skip
def test_it_says_what_it_hits(crawl: Stored, pattern: str, domains: int, urls: int) -> None:
    one, many = ("" if domains == 1 else "s"), ("" if urls == 1 else "s")
    parts = f"{domains} domain{one}", f"{urls} queued URL{many}"
    hits = " of ".join(reversed(parts)) if pattern in PARTLY else " and ".join(parts)
    said = crawl.run("exclude", pattern, "--dry-run")
    assert f" hits {hits}." in said and "Nothing was changed." in said
    refused = crawl.run("exclude", pattern, code=2)  # there is no terminal to ask at
    assert f"This would take out {hits}: add --yes" in refused
    assert lines(crawl) == []
    done = crawl.run("exclude", pattern, "--yes")
    assert f" hits {hits}." in done and "The crawl now has 1 exclusion." in done
    told = json.loads(crawl.run("exclude", ".nowhere.test", "--json").split("\nlycosa:")[0])
    assert told["exclusions"] == 2 and told["total"]["urls"] == 0


def test_several_at_once(crawl: Stored) -> None:
    words = [".test", "a.test", "a.test/private", "*/calendar/*", "c.example"]
    told = json.loads(crawl.run("exclude", *words, "--dry-run", "--json"))
    assert told["total"] == {"domains": 3, "urls": 8, "at_least": False, "whole": 3}
    assert {line: each["urls"] for line, each in told["hits"].items()} == {
        ".test": 6, "a.test": 4, "a.test/private*": 2, "*/calendar/*": 2, "c.example": 2,
    }  # fmt: skip
    assert told["added"] == []


def test_a_pattern_that_hits_nothing(crawl: Stored) -> None:
    said = crawl.run("exclude", "misspelt.test", "a.test/nothing")
    assert "misspelt.test hits nothing that this crawl knows: is it spelt right?" in said
    assert "a.test/nothing* hits nothing" in said
    assert lines(crawl) == ["a.test/nothing*", "misspelt.test"]
    assert "misspelt.test is excluded already." in crawl.run("exclude", "misspelt.test")


def typed(crawl: Stored, answer: str, *words: str) -> tuple[int, str]:
    """A command at a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lycosa", *words, *crawl.flags]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    os.write(ours, f"{answer}\n".encode())
    out = process.communicate(timeout=60)[0]
    os.close(ours)
    os.close(theirs)
    return process.returncode, out


def test_it_asks_at_a_terminal(crawl: Stored) -> None:
    for answer in ("", "n", "no", "x"):
        code, said = typed(crawl, answer, "exclude", ".test")
        assert code == 1 and "Exclude 2 domains and 6 queued URLs? [y/N]" in said
        assert lines(crawl) == []
    code, said = typed(crawl, "y", "exclude", ".test")
    assert code == 0 and lines(crawl) == [".test"]


def take_out(crawl: Stored, left_out: int = 1_000_000) -> None:
    """What engines do that meet an exclusion: a domain as a whole, and single URLs."""
    from dataclasses import replace

    from lycosa.frontier.protocol import Batch, Purge, Release
    from lycosa.urls.canonical import host_of
    from lycosa.urls.scope import Scope, ScopeRules

    frontier = crawl.open()
    frontier.store.rules = replace(frontier.store.rules, left_out=left_out)
    scope = Scope(ScopeRules(exclude=tuple(frontier.exclusions())))
    engine_id = frontier.register("host", 1)
    batch = Batch(number=1)
    for lease in frontier.lease(engine_id, 100):
        if scope.excluded_domain(lease.name):
            batch.purges.append(Purge(lease.domain_id, "", "excluded", forget=True))
        else:
            batch.dropped += [
                (lease.domain_id, url, "excluded")
                for url in lease.urls
                if scope.excluded_by(url.url, host_of(url.url))
            ]
        batch.released.append(Release(lease.domain_id, 0, queued=len(lease.urls)))
    frontier.commit(engine_id, batch)
    frontier.retire(engine_id)
    frontier.close()


def test_what_was_taken_out_comes_back(crawl: Stored) -> None:
    before, seen = crawl.queued(), crawl.seen()
    crawl.run("exclude", "a.test", "*/calendar/*", "--yes")
    take_out(crawl)
    left = {url for url in URLS if "a.test" not in url and "calendar" not in url}
    assert crawl.queued() == left
    queued = json.loads(crawl.run("status", "--json"))["queued"]
    assert queued == len(left)
    assert "About 4 URLs would be queued again" in crawl.run(
        "exclude", "a.test", "--remove", "--dry-run"
    )
    assert "4 URLs that were taken out are queued again." in crawl.run(
        "exclude", "a.test", "--remove"
    )
    assert crawl.queued() == left | {url for url in URLS if "a.test" in url}
    told = json.loads(crawl.run("exclude", "*/calendar/*", "--remove", "--json"))
    assert told == {"removed": ["*/calendar/*"], "queued_again": 2, "dry_run": False}
    assert crawl.queued() == before and crawl.seen() == seen
    assert json.loads(crawl.run("status", "--json"))["queued"] == len(before)
    assert crawl.rows("SELECT count(*) FROM left_out") == [(0,)]
    assert lines(crawl) == []


def test_what_another_line_hits_stays_out(crawl: Stored) -> None:
    crawl.run("exclude", ".test", "a.test", "--yes")
    take_out(crawl)
    assert "0 URLs that were taken out" in crawl.run("exclude", "a.test", "--remove")
    assert "6 URLs that were taken out" in crawl.run("exclude", ".test", "--remove")


def test_a_removal_that_was_cut_off_can_be_repeated(crawl: Stored) -> None:
    from contextlib import closing

    from lycosa.frontier.protocol import open_reader

    crawl.run("exclude", "b.test", "--yes")
    take_out(crawl)
    with closing(open_reader(crawl.root, crawl.store)) as reader:
        reader.remove_exclusions(["b.test"])  # and then came the kill
    assert "2 URLs that were taken out" in crawl.run("exclude", "b.test", "--remove")
    assert "is no exclusion" in crawl.run("exclude", "b.test", "--remove", code=2)


def test_what_is_kept_is_bounded(crawl: Stored) -> None:
    crawl.run("exclude", ".test", "--yes")
    take_out(crawl, left_out=3)
    assert crawl.rows("SELECT count(*) FROM left_out") == [(3,)]
    assert "3 URLs that were taken out" in crawl.run("exclude", ".test", "--remove")


def test_a_finished_crawl_is_finished_no_more(crawl: Stored) -> None:
    crawl.run("exclude", "b.test", "--yes")
    take_out(crawl)
    frontier = crawl.open()
    frontier.put_settings({"finished": 1, "seeds_loaded": 1})
    frontier.close()
    assert json.loads(crawl.run("status", "--json"))["finished"]
    crawl.run("exclude", "b.test", "--remove")
    assert not json.loads(crawl.run("status", "--json"))["finished"]


def test_only_what_is_there_can_be_removed(crawl: Stored) -> None:
    crawl.run("exclude", "example.org")
    said = crawl.run("exclude", "exmple.org", "--remove", code=2)
    assert "'exmple.org' is no exclusion of this crawl; did you mean example.org?" in said
    assert "Name what to exclude" in crawl.run("exclude", code=2)
    crawl.run("exclude", "a.test", "--list", code=2)


def test_why_names_the_line(crawl: Stored) -> None:
    crawl.run("exclude", ".test", "*/calendar/*", "--yes")
    never = crawl.run("why", "https://never.test/calendar/1")
    assert "refused: excluded, by the line .test and */calendar/*" in never
    queued = crawl.run("why", "https://c.example/calendar/8")
    assert "excluded     now, by the line */calendar/*" in queued
    assert "line" not in crawl.run("why", "https://c.example/")


def test_an_exclude_file_of_a_resume_follows_the_same_rules(crawl: Stored, tmp_path: Path) -> None:
    file = tmp_path / "never.txt"
    file.write_text(".test\nmisspelt.example\n")
    words = ["crawl", "--resume", "--exclude-file", str(file)]
    said = crawl.run(*words, code=2)
    assert "This would take out 2 domains and 6 queued URLs: add --yes" in said
    assert lines(crawl) == [] and len(crawl.queued()) == len(URLS)
    limits = ["--max-duration", "0.5", "--nameserver", "127.0.0.1:9", "--engines", "1"]
    said = crawl.run(*words, "--yes", *limits)
    assert ".test hits 2 domains and 6 queued URLs." in said
    assert "misspelt.example hits nothing" in said
    assert lines(crawl) == [".test", "misspelt.example"]
    again = crawl.run("crawl", "--resume", "--exclude-file", str(file), *limits)  # nothing is new
    assert "hits" not in again
    assert "The crawl now has 1 exclusion." in crawl.run("exclude", ".test", "--remove")
    crawl.run("crawl", "--resume", *limits)
    assert lines(crawl) == ["misspelt.example"]  # nor does it come back with the settings


def test_what_is_left_of_a_domain_is_not_said_to_go(crawl: Stored) -> None:
    said = crawl.run("exclude", "*/calendar/*", "--dry-run")
    assert "queued URLs of 2 domains" in said and "domains and" not in said, said


def test_counting_ends(crawl: Stored) -> None:
    from lycosa.frontier.protocol import open_reader
    from lycosa.steering.hits import SECONDS, Counter

    assert SECONDS == 10
    reader = open_reader(crawl.root, crawl.store)
    counter = Counter(reader, ["*/calendar/*", ".test", "c.example"], left=lambda: False)
    counter.run()
    reader.close()
    assert counter.by_line[".test"].text() == "2 domains and at least 0 queued URLs"
    assert counter.by_line["*/calendar/*"].at_least and counter.total.at_least
    assert counter.by_line["c.example"].domains == 1
