"""Names that a user typed wrong, and numbers that JSON can carry: `pages` on every store."""

import json
import re
from pathlib import Path

import pytest

from commands.stores import Stored, make, visit

DOCS = Path(__file__).parents[2] / "docs" / "usage.md"
URLS = [
    "https://www.example.org/", "https://example.org/b", "https://quiet.example/",
    "https://xn--bcher-kva.example/", "https://examples.net/",
]  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    made = make(tmp_path / "data", store, URLS)
    visit(made, {URLS[0]: "ok", URLS[1]: "connect-timeout", URLS[3]: "http-404"})
    return made


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("tiemout", "timeout"),
        ("OK", ""),
        ("conect-timeout", "connect-timeout"),
        ("404", "http-404"),
    ],
)
def test_a_misspelt_outcome(crawl: Stored, typed: str, near: str) -> None:
    said = crawl.run("pages", "--outcome", typed, code=2)
    assert f"There is no outcome '{typed}'" in said
    assert near in said and "did you mean" in said


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("exmple.org", "example.org"), ("exampel.org", "example.org"), ("quiet.exampl", "quiet."),
        ("www.exammple.org", "example.org"), ("nothing-like-it.invalid", ""),
    ],
)  # fmt: skip
def test_a_domain_that_the_crawl_never_met(crawl: Stored, typed: str, near: str) -> None:
    said = crawl.run("pages", "--domain", typed, "--json", code=2)
    assert "The crawl knows no domain" in said
    assert near in said and ("did you mean" in said) == bool(near)


def test_known_names_with_nothing_to_show_are_fine(crawl: Stored) -> None:
    assert crawl.run("pages", "--domain", "quiet.example") == ""
    assert crawl.run("pages", "--outcome", "timeout") == ""
    assert crawl.run("pages", "--outcome", "http-500") == ""
    for name in ("Example.ORG", "www.example.org", "https://example.org/x"):
        assert len(crawl.run("pages", "--domain", name).splitlines()) == 2
    assert "http-404" in crawl.run("pages", "--domain", "bücher.example")


def test_every_documented_outcome_is_known() -> None:
    from lycosa.outcomes import OUTCOMES

    table = DOCS.read_text("utf-8").split("## Outcomes")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = set(re.findall(r"`([a-z][a-z-]+)`", " ".join(rows)))
    assert names == set(OUTCOMES)


def test_every_outcome_and_every_reason_of_a_drop_has_a_meaning() -> None:
    from lycosa.outcomes import DROPS, OUTCOMES, Drop, Outcome
    from lycosa.records import Failure

    def words(owner: type) -> set[str]:
        found = {word for name, word in vars(owner).items() if name[0] != "_"}
        return {word for word in found if isinstance(word, str)}

    assert words(Outcome) <= set(OUTCOMES) <= words(Outcome) | words(Failure)
    assert words(Drop) == set(DROPS)


def test_numbers_in_json_survive_readers_with_floats(crawl: Stored) -> None:
    words = [
        ["pages"], ["show", URLS[0]], ["why", URLS[0]], ["why", URLS[2]], ["status"],
    ]  # fmt: skip
    for each in words:
        for line in re.split(r"\n(?=\{)", crawl.run(*each, "--json").strip()):
            check_numbers(json.loads(line))
    told = json.loads(crawl.run("show", URLS[0], "--json"))
    assert told["content_hash"] == "fffffffffffffffe"
    assert json.loads(crawl.run("why", URLS[0], "--json"))["page"]["content_hash"][0] == "f"
    assert json.loads(crawl.run("why", URLS[1], "--json"))["page"]["content_hash"] == ""


def check_numbers(value: object) -> None:
    if isinstance(value, dict):
        for each in value.values():
            check_numbers(each)
    elif isinstance(value, list):
        for each in value:
            check_numbers(each)
    elif isinstance(value, int | float):
        assert abs(value) < 2**53
