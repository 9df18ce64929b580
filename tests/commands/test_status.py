"""`lycosa status` as a person reads it."""

import json
from typing import Any

import pytest

from lycosa.commands.status import status_lines
from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.reading.status import limit_of, long_waits
from lycosa.settings.values import CrawlSettings

NOW = 1_800_000_000_000
ENGINE: dict[str, Any] = {
    "id": 3,
    "host": "node1",
    "pid": 42,
    "alive": True,
    "lease_until": NOW + 120_000,
    "pages": 1000,
    "in_flight": 50,
    "held": 700,
}
STATUS: dict[str, Any] = {
    "pages": 1500,
    "ok": 1200,
    "bytes": 5_000_000,
    "queued": 90_000,
    "domains": 800,
    "leased": 700,
    "ready": 3,
    "active": 40_000,
    "outcomes": {"ok": 1200, "timeout": 300},
    "labels": {"content": 700, "listing": 200, "blocked": 50},
    "drops": {},
    "started_ms": NOW - 3_600_000,
    "seeds_loaded": True,
    "finished": False,
    "stop_requested": False,
    "engines": [ENGINE, {**ENGINE, "id": 2, "alive": False}],
}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "running, started 1:00 h ago"),
        ({"seeds_loaded": False}, "running, loading seeds"),
        ({"stop_requested": True}, "stopping"),
        ({"engines": []}, "stopped (go on with 'lycosa crawl --resume')"),
        ({"engines": [{**ENGINE, "lease_until": NOW - 1}]}, "stopped"),
        ({"finished": True, "engines": []}, "finished"),
    ],
)
def test_status(changes: dict[str, Any], state: str) -> None:
    assert status_lines({**STATUS, **changes}, NOW)[0].startswith(state)


def test_a_hint_names_the_crawl() -> None:
    stopped = {**STATUS, "engines": []}
    line = status_lines(stopped, NOW, ("--data-dir", "my data"))[0]
    assert "'lycosa crawl --resume --data-dir 'my data''" in line


def test_domains_that_wait_count_for_the_limit() -> None:
    """Politeness allows as many visits as domains with something left, held and due or not."""
    settings = CrawlSettings(email="tests@lycosa.example")
    stored = {SETTINGS_KEY: json.dumps(settings.to_json())}
    found = {**STATUS, "now_ms": NOW}
    assert limit_of(found, stored) == "politeness: 40,000 domains / 70 s"


def test_status_shows_counts_and_living_engines() -> None:
    text = "\n".join(status_lines(STATUS, NOW))
    assert "1,500 (1,200 ok, 900 real), 5.0 MB received" in text
    assert "90,000 URLs" in text
    assert "ok 1,200, timeout 300" in text
    assert "labels   content 700, listing 200, blocked 50" in text
    assert "engine 3 on node1, process 42: 1,000 pages, 50 in flight, 700 domains held" in text
    assert "engine 2" not in text


def test_status_shows_what_is_tried_again() -> None:
    text = "\n".join(status_lines({**STATUS, "retries": {"tls": 20, "connect": 3}}, NOW))
    assert "retries  tls 20, connect 3 (failures that are tried again)" in text


def test_status_names_those_who_wait_longest() -> None:
    stored = {SETTINGS_KEY: json.dumps(CrawlSettings(email="tests@lycosa.example").to_json())}
    waits = [
        {"domain": "slow.test", "seconds": 80_000.0, "delay": 86_400.0, "failures": 0},
        {"domain": "busy.test", "seconds": 600.0, "delay": 0.0, "failures": 2},
        {"domain": "dead.test", "seconds": 280.0, "delay": 0.0, "failures": 0},
        {"domain": "usual.test", "seconds": 69.0, "delay": 0.0, "failures": 0},
    ]
    found = {**STATUS, "waits": long_waits(waits, stored)}
    assert (
        "waiting  slow.test 22:13 h (Crawl-delay 1 d 0 h), busy.test 10:00 min (overloaded),"
        " dead.test 4:40 min (after a failure)"
    ) in status_lines(found, NOW)
