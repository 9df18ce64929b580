"""The last words of scripts/test: what became of the tests, and what could not run here.

    _report.py [--slow] [--complete] REPORT CODE

REPORT has one JSON object per test (written by tests/support/every_test.py), CODE is what pytest
ended with. With --slow the table in docs/slow-tests.md is brought up to date: the rows of the files
that ran are made anew, the others stay. With --complete a test that could not run makes the whole
fail, as on the build server, where nothing may be missing."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "slow-tests.md"
HEAD = """# The slow tests, and when each was last run

`scripts/test --slow` runs all of them and writes this table, `scripts/test --slow FILE` those of
one file. The commit is the one that was tested; `-dirty` means with changes. A test that is new and
whose turn has not come yet is written in by hand as `not run`.

| test | result | seconds | date | commit |
| --- | --- | ---: | --- | --- |
"""
WORST = ("failed", "could not run", "passed")  # of several cases the first of these counts


@dataclass(frozen=True)
class Row:
    test: str
    result: str
    seconds: float
    date: str
    commit: str

    def __str__(self) -> str:
        return (
            f"| `{self.test}` | {self.result} | {self.seconds:.0f} | {self.date} | {self.commit} |"
        )


def read(report: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in report.read_text("utf-8").splitlines()]


def not_run(entries: list[dict[str, str]]) -> Counter[str]:
    """How many tests could not run, by reason."""
    return Counter(each["reason"] for each in entries if each["outcome"] == "skipped")


def unsteady(entries: list[dict[str, str]]) -> list[str]:
    """Tests that failed, and passed when they ran once more."""
    last = {each["test"]: each["outcome"] for each in entries}
    failed = dict.fromkeys(each["test"] for each in entries if each["outcome"] == "failed")
    return [test for test in failed if last[test] == "passed"]


def last_line(code: int, missing: Counter[str], complete: bool) -> tuple[int, str]:
    """The exit code and the last line of all."""
    if code:
        return 1, "FAILED: tests"
    if not missing:
        return 0, "All checks and tests passed."
    total = missing.total()
    reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(missing.items()))
    tests = "1 test" if total == 1 else f"{total} tests"
    if complete:
        return 1, f"FAILED: {tests} could not run on this machine: {reasons}."
    return 0, f"All checks and tests passed; {tests} could not run on this machine: {reasons}."


# --- the table of slow tests ---


def rows_of(entries: list[dict[str, str]], date: str, commit: str) -> list[Row]:
    """One row per test function, over all its cases."""
    found: dict[str, list[dict[str, str]]] = {}
    for entry in entries:
        found.setdefault(entry["test"].partition("[")[0], []).append(entry)
    return [
        Row(
            test,
            min((_result(case["outcome"]) for case in cases), key=WORST.index),
            sum(float(case["seconds"]) for case in cases),
            date,
            commit,
        )
        for test, cases in found.items()
    ]


def _result(outcome: str) -> str:
    return "could not run" if outcome == "skipped" else outcome


def parse_table(text: str) -> list[Row]:
    found = re.findall(r"^\| `(\S+)` \| ([\w ]+) \| (\d+) \| (\S+) \| (\S+) \|$", text, re.M)
    return [
        Row(test, result, float(sec), date, commit) for test, result, sec, date, commit in found
    ]


def merged(old: list[Row], new: list[Row]) -> str:
    """Old rows of files that ran now, or that are gone, are left out."""
    ran = {_file(row) for row in new}
    kept = [row for row in old if _file(row) not in ran and (ROOT / _file(row)).exists()]
    return HEAD + "".join(f"{row}\n" for row in sorted([*kept, *new], key=lambda row: row.test))


def _file(row: Row) -> str:
    return row.test.partition("::")[0]


def _commit() -> str:
    """The commit that is tested, with a mark if anything but this table was changed since; '' if
    nobody can tell."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", ".", f":!{TABLE.relative_to(ROOT)}")
    except FileNotFoundError:
        return ""
    return f"{name}-dirty" if name and changed else name


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout.strip()


def record(entries: list[dict[str, str]]) -> None:
    commit = _commit() or "unknown"
    new = rows_of(entries, f"{datetime.now(UTC):%Y-%m-%d}", commit)
    old = parse_table(TABLE.read_text("utf-8")) if TABLE.exists() else []
    TABLE.write_text(merged(old, new), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("report", type=Path)
    parser.add_argument("code", type=int)
    options = parser.parse_args()
    entries = read(options.report)
    if options.slow and entries:
        record(entries)
    for test in [] if options.code else unsteady(entries):
        print(f"UNSTEADY: {test} failed beside others, and passed alone.")
    code, line = last_line(options.code, not_run(entries), options.complete)
    print(line)
    return code


if __name__ == "__main__":
    sys.exit(main())
