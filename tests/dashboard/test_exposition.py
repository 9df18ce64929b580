"""Metrics of a real line: accepted by promtool, bounded, and never with a domain."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from lycosa.what_limits import LIMITS
from support import promtool
from support.figures import DOMAIN, line, now, samples

exposition = pytest.importorskip("lycosa.dashboard.exposition", reason="needs prometheus_client")


def test_counters_gauges_and_histograms() -> None:
    text = exposition.exposition(now(line()), [line()])
    found = samples(text)
    one = (("node", ""),)
    assert found["lycosa_pages_total", one] == 5
    assert found["lycosa_outcomes_total", (("node", ""), ("outcome", "timeout"))] == 1
    assert found["lycosa_queued_urls", ()] == 70
    assert found["lycosa_ceiling_pages_per_second", ()] == 0.1
    assert found["lycosa_disk_used_bytes", (("kind", "store"), ("node", ""))] == 20
    assert found["lycosa_open_files", one] == 33
    assert found["lycosa_least_pause_seconds", one] == 70.5
    assert found["lycosa_fetch_duration_seconds_count", ()] == 1
    assert found["lycosa_fetch_duration_seconds_sum", ()] == 0.25
    assert found["lycosa_fetch_duration_seconds_bucket", (("le", "0.2"),)] == 0
    assert found["lycosa_fetch_duration_seconds_bucket", (("le", "0.5"),)] == 1
    assert found["lycosa_response_size_bytes_bucket", (("le", "16384"),)] == 1
    for phase in ("dns", "connect", "tls", "first_byte", "parse", "commit", "lease"):
        assert found[f"lycosa_{phase}_duration_seconds_count", ()] == 1, phase
    assert DOMAIN.encode() not in text


def test_exactly_one_cause_holds() -> None:
    found = samples(exposition.exposition(now(line()), [line()]))
    causes = {
        dict(labels)["cause"]: n for (name, labels), n in found.items() if name == "lycosa_limit"
    }
    assert set(causes) == set(LIMITS)
    assert [cause for cause, holds in causes.items() if holds] == ["politeness"]


def test_every_node_of_a_cluster_is_there() -> None:
    lines = [line("a", 5), line("b", 7)]
    found = samples(exposition.exposition(now(*lines), lines))
    assert found["lycosa_pages_total", (("node", "a"),)] == 5
    assert found["lycosa_pages_total", (("node", "b"),)] == 7
    assert found["lycosa_queued_urls", ()] == 70


def test_a_cause_of_a_newer_version_is_told() -> None:
    odd = line() | {"limit": "moonlight"}
    found = samples(exposition.exposition(now(odd), [odd]))
    assert found["lycosa_limit", (("cause", "moonlight"), ("node", ""))] == 1


def test_nothing_was_written_yet() -> None:
    assert set(samples(exposition.exposition(None, []))) == {
        ("lycosa_build_info", (("version", "0.1.0"),))
    }


@pytest.mark.parametrize("lines", [[], [line()], [line("a"), line("b", state="stopped")]], ids=len)
def test_promtool_accepts_the_metrics(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    tool = promtool.found()
    if not tool:
        pytest.skip(promtool.ABSENT)
    text = exposition.exposition(now(*lines) if lines else None, lines)
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_promtool_refuses_what_is_wrong() -> None:
    tool = promtool.found()
    if not tool:
        pytest.skip(promtool.ABSENT)
    text = b"# TYPE lycosa_pages counter\nlycosa_pages 5\n"
    assert subprocess.run([tool, "check", "metrics"], input=text, capture_output=True).returncode
