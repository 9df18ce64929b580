"""The values themselves: user agent, differences, JSON and pickle."""

import pickle
from dataclasses import replace

import pytest

from lycosa.errors import UserError
from lycosa.settings.values import CrawlSettings


def test_user_agent() -> None:
    plain = CrawlSettings(email="you@example.org")
    assert plain.user_agent.startswith("lycosa/")
    assert plain.user_agent.endswith(" (mailto:you@example.org)")
    full = CrawlSettings(email="you@example.org", contact_url="https://example.org/bot")
    assert full.user_agent.endswith(" (+https://example.org/bot; mailto:you@example.org)")


def test_crawl_settings_survive_json_and_pickle() -> None:
    settings = CrawlSettings(email="you@example.org", exclude=("a", "b"), max_depth=0, delay=1.5)
    settings = replace(settings, language=("de", "nds"))
    assert CrawlSettings.from_json(settings.to_json()) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_settings_of_other_versions() -> None:
    assert CrawlSettings.from_json({"email": "you@example.org"}).delay == 70.0
    with pytest.raises(UserError, match=r"newer lycosa.*'colour'"):
        CrawlSettings.from_json({"email": "you@example.org", "colour": 1})


def test_differences_are_readable() -> None:
    here = CrawlSettings(email="you@example.org", delay=1.0, sitemaps=True, exclude=("a",))
    here = replace(here, language=("de", "pt"))
    there = CrawlSettings(email="you@example.org", max_depth=3)
    assert here.difference(here) == []
    assert here.difference(there) == [
        "--delay: 1 s here, 70 s in the crawl",
        "--exclude-file: 1 lines here, 0 lines in the crawl",
        "--language: de, pt here, none in the crawl",
        "--max-depth: none here, 3 in the crawl",
        "--sitemaps: on here, off in the crawl",
    ]
