"""The Grafana dashboard and the alert rules name only metrics and labels that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import promtool
from support.figures import line, now, samples

pytest.importorskip("prometheus_client", reason="needs prometheus_client")

from lycosa.dashboard.exposition import exposition
from lycosa.what_limits import LIMITS

CONTRIB = Path(__file__).parents[2] / "contrib"
GRAFANA = CONTRIB / "grafana" / "lycosa.json"
ALERTS = CONTRIB / "prometheus" / "alerts.yml"

_METRIC = re.compile(r"\b(lycosa_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_SHOWN = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")


def known() -> dict[str, set[str]]:
    """Every metric with its labels."""
    found: dict[str, set[str]] = {}
    for name, labels in samples(exposition(now(line()), [line()])):
        found.setdefault(name, set()).update(key for key, _ in labels)
    return found


def check(expression: str, shown: str = "") -> list[str]:
    """What is wrong with a PromQL expression and with the labels that are shown of it."""
    metrics, wrong = known(), []
    used = _METRIC.findall(expression)
    for name, matchers in used:
        if name not in metrics:
            wrong.append(f"{name} does not exist: {expression}")
            continue
        for label, value in _MATCHER.findall(matchers):
            if label not in metrics[name]:
                wrong.append(f"{name} has no label {label}: {expression}")
            elif label == "cause" and name == "lycosa_limit" and value not in LIMITS:
                wrong.append(f"{value} is no cause: {expression}")
    every = set().union(*(metrics.get(name, set()) for name, _ in used))
    named = [label.strip() for group in _GROUPED.findall(expression) for label in group.split(",")]
    wrong += [
        f"nothing has a label {label}: {expression} {shown}"
        for label in (*filter(None, named), *_SHOWN.findall(shown))
        if label not in every
    ]
    return wrong if used else [f"names no metric: {expression}"]


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def expressions() -> list[tuple[str, str]]:
    """Of the dashboard: each with its legend."""
    dashboard = json.loads(GRAFANA.read_bytes())
    return [
        (target["expr"], target["legendFormat"])
        for panel in panels(dashboard)
        for target in panel.get("targets", ())
    ]


def rules() -> list[tuple[str, str]]:
    """Of the alerts: each with what it says. The file is plain enough to be read without YAML."""
    found = []
    for rule in ALERTS.read_text().split("- alert:")[1:]:
        begin = rule.index("expr:") + 5
        end = min(at for word in ("for:", "labels:") if (at := rule.find(word, begin)) > 0)
        text = rule[begin:end].replace(">-", "")
        found.append((" ".join(text.split()), rule[end:].replace("{{ $value", "")))
    return found


def test_every_metric_and_label_of_the_dashboard_exists() -> None:
    found = expressions()
    assert len(found) > 30
    assert [wrong for expression, shown in found for wrong in check(expression, shown)] == []


def test_every_metric_and_label_of_the_alerts_exists() -> None:
    found = rules()
    assert len(found) == ALERTS.read_text().count("- alert:") >= 8
    assert [wrong for expression, shown in found for wrong in check(expression, shown)] == []


@pytest.mark.parametrize(
    "expression",
    [
        "lycosa_pagez_total",
        'lycosa_pages_total{domain="a.test"}',
        "sum by (domain) (lycosa_pages_total)",
        'lycosa_limit{cause="weather"}',
        "up",
    ],
)
def test_what_does_not_exist_is_found(expression: str) -> None:
    assert check(expression)


def test_promtool_accepts_the_alerts() -> None:
    tool = promtool.found()
    if not tool:
        pytest.skip(promtool.ABSENT)
    done = subprocess.run([tool, "check", "rules", ALERTS], capture_output=True, text=True)
    assert done.returncode == 0 and "8 rules found" in done.stdout, done.stdout + done.stderr


def test_promtool_accepts_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    tool = promtool.found()
    if not tool:
        pytest.skip(promtool.ABSENT)
    made = [
        {"record": f"panel:{number}", "expr": expression}
        for number, (expression, _) in enumerate(expressions())
    ]
    path = tmp_path / "rules.yml"  # JSON is YAML
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": made}]}))
    done = subprocess.run([tool, "check", "rules", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_dashboard_fits_the_types_of_grafana(tmp_path: Path) -> None:
    """Type-checked against npm's @grafana/schema; a planted mistake is found."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed (on Debian: apt install npm), and this needs it")
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    packages = ["@grafana/schema", "typescript"]
    install = ["npm", "install", "--no-audit", "--no-fund", *packages]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    dashboard = json.loads(GRAFANA.read_bytes())
    assert compiled(tmp_path, dashboard) == ""
    dashboard["panels"][1]["gridPos"]["w"] = "wide"
    assert "error TS2322" in compiled(tmp_path, dashboard)


def compiled(folder: Path, dashboard: dict[str, Any]) -> str:
    """What the TypeScript compiler says of a dashboard."""
    head = "import type { Dashboard } from '@grafana/schema';\nexport const found: Dashboard = "
    (folder / "dashboard.ts").write_text(head + json.dumps(dashboard, indent=1))
    flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022"]
    modules = ["--module", "nodenext", "--moduleResolution", "nodenext"]
    tsc = str(folder / "node_modules" / ".bin" / "tsc")
    command = [tsc, *flags, *modules, "dashboard.ts"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
