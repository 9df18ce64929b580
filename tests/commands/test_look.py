"""Status, pages and audit as a person reads them."""

import json
from typing import Any

import pytest

from lycosa.archive.audit import AuditReport, audit
from lycosa.archive.ledger import Visit
from lycosa.commands.audit import report_lines
from lycosa.commands.look import limit_of, page_json, page_line, record_lines, status_lines
from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.settings.values import CrawlSettings
from support.made import made_page

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
    assert "1,500 (1,200 ok), 5.0 MB received" in text
    assert "90,000 URLs" in text
    assert "ok 1,200, timeout 300" in text
    assert "engine 3 on node1, process 42: 1,000 pages, 50 in flight, 700 domains held" in text
    assert "engine 2" not in text


def test_status_shows_what_is_tried_again() -> None:
    text = "\n".join(status_lines({**STATUS, "retries": {"tls": 20, "connect": 3}}, NOW))
    assert "retries  tls 20, connect 3 (failures that are tried again)" in text


def test_status_names_those_who_wait_longest() -> None:
    from lycosa.commands.look import long_waits

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


def test_a_page_as_a_line_a_record_and_json() -> None:
    row = made_page("https://example.org/a", "redirect", status=301, depth=1, fetched_ms=NOW)
    row.redirect, row.text_row = "https://example.org/b", b"x"
    assert page_line(row) == (
        "2027-01-15T08:00:00Z 301 redirect     https://example.org/a -> https://example.org/b"
    )
    assert "redirect https://example.org/b" in record_lines(row)
    assert not any(line.startswith("title") for line in record_lines(row))
    values = page_json(row)
    assert values["fetched_at"] == "2027-01-15T08:00:00Z"
    assert not {"text_row", "fp", "order"} & set(values)


def visit(start: int, end: int) -> Visit:
    return Visit(1, "example.org", NOW + start, NOW + end, requests=1, unfinished=False)


def test_a_polite_crawl_passes_the_audit() -> None:
    lines = report_lines(audit([visit(0, 500), visit(70_500, 71_000)], 70), 70)
    assert "2 visits to 1 domains, 0 of them cut off." in lines
    assert "was 70.000 s; at least 70 s were asked for." in lines[1]
    assert lines[-1] == "Every visit was polite."
    assert "No domain was visited twice." in report_lines(AuditReport(), 70)


def test_the_audit_tells_how_close_visits_to_an_address_came() -> None:
    from lycosa.archive.address_audit import AddressReport
    from lycosa.commands.audit import address_lines

    report = AddressReport()
    assert address_lines(report, 1.0) == []
    report.note("192.0.2.1", 1000, 1000)
    (told,) = address_lines(report, 1.0)
    assert "to one address was 1.000 s; at least 1 s were asked for (--ip-delay)" in told
    report.note("192.0.2.1", -38, 1000)
    head, example = address_lines(report, 1.0)
    assert "too close 1 times" in head and example == "  192.0.2.1: -0.038 s"
    assert address_lines(report, 0.0) == []


def test_a_rude_crawl_does_not() -> None:
    lines = report_lines(audit([visit(0, 500), visit(60_500, 61_000)], 70), 70)
    assert "NOT POLITE: 1 visits came too soon, 0 overlapped." in lines
    assert "the next began 60.000 s later, 70 s were needed (engines 1 and 1)" in lines[-1]
