"""Runs the tests of tests/repairs.tsv twice: on the commit before the repairs, where each has to
fail, and on the commit after them, where each has to pass. The names are those of that commit:
modules and tests have moved since.

A line of the list is `CLAUSE<TAB>test id<TAB>words`. The commit before is checked out into a
temporary worktree with an environment of its own, in which that commit's package is the one that is
imported and its compiled modules are built; the later tests and benchmarks are copied over it. A
file that can't even be imported there counts as failing, and is marked so, because its reason may
not be the fault.

One case that fails is enough there, so the other cases of a listed test are then left out; a test
that has quick and slow cases is judged by the quick ones.

pytest loads this module too, as a plugin: it then keeps the listed tests only and writes what
became of them, one JSON object a line."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

BASE = "4d546298a8c872f2fec97b31ebdded97d1e0b523"
REPAIRED = "d2409b428693f0baaf75e4eff708919a48923755"
ITEMS = [*map(str, range(1, 25)), *(f"U{number}" for number in range(1, 7))]
COPIED = ("tests", "bench")
LONGEST_BEFORE = 60  # seconds; the slowest listed test takes 40: one that hangs has failed
SECTION = re.compile(r"^\[tool\.pytest\.ini_options\]\n(?:(?!\[).*\n?)*", re.M)


@dataclass(frozen=True)
class Line:
    clause: str
    test: str
    words: str


@dataclass
class Found:
    """What a run said about one listed test, over all its cases."""

    failed: int = 0
    passed: int = 0
    skipped: int = 0
    not_imported: bool = False

    @property
    def fails(self) -> bool:
        return self.failed > 0 or self.not_imported

    @property
    def passes(self) -> bool:
        return self.passed > 0 and not self.fails and not self.skipped


def read_list(path: Path) -> list[Line]:
    lines = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        parts = text.split("\t")
        if len(parts) != 3 or "::" not in parts[1]:
            sys.exit(f"{path}, line {number}: CLAUSE, a tab, test id, a tab, words are expected.")
        lines.append(Line(*(part.strip() for part in parts)))
    return sorted(dict.fromkeys(lines), key=lambda line: place(line.clause))


def place(clause: str) -> tuple[bool, int, str]:
    """Sorts 2 before 10, and the letters within."""
    match = re.fullmatch(r"(U?)(\d+)(\w*)", clause)
    if not match:
        sys.exit(f"{clause!r} is no clause: a number like 7, 7b or U3b is expected.")
    return bool(match[1]), int(match[2]), match[3]


def item_of(clause: str) -> str:
    return clause.rstrip("abcdefghijklmnopqrstuvwxyz")


def missing(lines: Iterable[Line], items: Iterable[str]) -> list[str]:
    """Items without a test, and letters that were left out between others."""
    clauses = {line.clause for line in lines}
    found = [item for item in items if not any(item_of(clause) == item for clause in clauses)]
    for clause in clauses:
        letter = clause.removeprefix(item_of(clause))
        if len(letter) == 1:
            before = (item_of(clause) + chr(code) for code in range(ord("a"), ord(letter)))
            found += [each for each in before if each not in clauses]
    return sorted(set(found), key=place)


# --- the commit before ---


@contextmanager
def tree_of(root: Path, commit: str, tests: Path | None = None) -> Iterator[Path]:
    """A commit with an environment of its own, with the tests of another tree if one is given."""
    with tempfile.TemporaryDirectory(prefix="lycosa-before-") as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            if tests is not None:
                copy_tests(tests, tree)
            make_environment(tree)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def copy_tests(root: Path, tree: Path) -> None:
    junk = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        shutil.rmtree(tree / name, ignore_errors=True)
        if (root / name).exists():
            shutil.copytree(root / name, tree / name, ignore=junk)
    today = SECTION.search((root / "pyproject.toml").read_text("utf-8"))
    project = tree / "pyproject.toml"
    text = SECTION.sub("", project.read_text("utf-8"))
    project.write_text(text + "\n" + (today[0] if today else ""), "utf-8")


def make_environment(tree: Path) -> None:
    """The packages are those that are installed here; only lycosa is that of the tree."""
    venv.create(tree / ".venv", symlinks=True)
    packages = sysconfig.get_paths()["purelib"]
    [own] = (tree / ".venv").glob("lib/python*/site-packages")
    (own / "lycosa-before.pth").write_text(f"{tree / 'src'}\n{packages}\n")
    if (tree / "setup.py").exists():
        compile_modules(tree)
    if (tree / "scripts/_venv").exists():  # its scripts take the environment for finished
        words = ["sh", "-c", '. scripts/_venv; wanted >"$VENV/lycosa-test"', "scripts/x"]
        subprocess.run(words, cwd=tree, check=True)


def compile_modules(tree: Path) -> None:
    """pip builds them with the setuptools that the tree asks for; they are moved beside their
    sources."""
    with tempfile.TemporaryDirectory(prefix="lycosa-build-") as folder:
        words = ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([sys.executable, *words, "--target", folder, str(tree)], check=True)
        for module in Path(folder, "lycosa").glob("*.so"):
            shutil.move(module, tree / "src/lycosa" / module.name)


# --- one run ---


def run(
    python: Path, tree: Path, lines: list[Line], processes: str, *more: str
) -> dict[str, Found]:
    with tempfile.TemporaryDirectory(prefix="lycosa-repairs-") as folder:
        wanted = Path(folder) / "wanted"
        wanted.write_text("\n".join(sorted({line.test for line in lines})), "utf-8")
        report = Path(folder) / "report"
        report.touch()
        own = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
        # Tests run this as well: pytest's own variables would make it take itself for a worker.
        environment = {
            key: value
            for key, value in os.environ.items()
            if key not in own and not key.startswith("PYTEST_")
        }
        environment["PYTHONPATH"] = str(Path(__file__).parent)
        environment["TESTS_REPAIRS"] = folder
        environment["TESTS_REPAIRS_ONE_FAILURE"] = "1" if more else ""
        files = sorted({line.test.split("::")[0] for line in lines})
        files = [file for file in files if (tree / file).exists()]
        words = ["-p", "_repairs", "-m", "", "--continue-on-collection-errors", *more]
        with (Path(folder) / "output").open("w") as output:
            subprocess.run(
                [python, "-m", "pytest", *words, "-n", processes, "--dist", "loadfile", *files],
                cwd=tree,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        if not report.read_text():
            print((Path(folder) / "output").read_text()[-4000:])
            sys.exit("pytest ran nothing; what it said stands above.")
        return read_report(report, lines)


def read_report(report: Path, lines: list[Line]) -> dict[str, Found]:
    found = {line.test: Found() for line in lines}
    for text in report.read_text("utf-8").splitlines():
        entry = json.loads(text)
        for test, result in found.items():
            if entry["when"] == "collect":
                result.not_imported |= test.split("::")[0] == entry["id"]
            elif belongs(entry["id"], test):
                count(result, entry)
    return found


def count(result: Found, entry: dict[str, str]) -> None:
    if entry["outcome"] == "failed":
        result.failed += 1
    elif entry["outcome"] == "skipped":
        result.skipped += 1
    elif entry["when"] == "call":
        result.passed += 1


def belongs(node: str, test: str) -> bool:
    """A listed name stands for all its cases."""
    return node == test or node.startswith((f"{test}[", f"{test}::"))


# --- the plugin ---


def _folder() -> Path:
    return Path(os.environ["TESTS_REPAIRS"])


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    listed = (item for item in items if _listed(item.nodeid))
    slow = {item: item.get_closest_marker("slow") is not None for item in listed}
    quick = {_listed(item.nodeid) for item, is_slow in slow.items() if not is_slow}
    items[:] = [
        item for item, is_slow in slow.items() if not is_slow or _listed(item.nodeid) not in quick
    ]


@cache
def _wanted() -> list[str]:
    return (_folder() / "wanted").read_text("utf-8").splitlines()


def _listed(node: str) -> str | None:
    """The name in the list that a case stands under."""
    return next((test for test in _wanted() if belongs(node, test)), None)


_failed: set[str | None] = set()  # listed tests of which this process saw a case fail


def pytest_runtest_setup(item: Any) -> None:
    if os.environ["TESTS_REPAIRS_ONE_FAILURE"] and _listed(item.nodeid) in _failed:
        pytest.skip("another case has shown enough")


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    if call.excinfo and not call.excinfo.errisinstance(pytest.skip.Exception):
        _failed.add(_listed(item.nodeid))


def _write(**entry: str) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # the process above writes what workers send it
        with (_folder() / "report").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _write(id=report.nodeid, when="collect", outcome="failed")


def pytest_runtest_logreport(report: Any) -> None:
    _write(id=report.nodeid, when=report.when, outcome=report.outcome)


# --- the table ---


def row(line: Line, before: Found, now: Found) -> str:
    fails = "yes" if before.fails else "NO"
    if before.not_imported:
        fails = "yes, it can't be imported there"
    passes = "yes" if now.passes else "NO"
    return (
        f"{line.clause:5} {line.test}\n      {line.words}\n"
        f"      fails before: {fails}; passes now: {passes}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/repairs", description=__doc__)
    parser.add_argument("clauses", nargs="*", help="clauses or items to look at; default: all")
    parser.add_argument("--base", default=BASE, help="the commit before (default: %(default)s)")
    parser.add_argument("--now", default=REPAIRED, help="the commit after; '': the present tree")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--list", type=Path, help="default: tests/repairs.tsv")
    parser.add_argument("--processes", default="2", help="for pytest (default: %(default)s)")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    root = options.root.resolve()
    lines = read_list(options.list or root / "tests/repairs.tsv")
    absent = [] if options.clauses else missing(lines, ITEMS)
    if options.clauses:
        asked = set(options.clauses)
        lines = [line for line in lines if {line.clause, item_of(line.clause)} & asked]
    if not lines:
        sys.exit("No such clause in the list.")
    with ExitStack() as stack:
        after, python = root, Path(sys.executable)
        if options.now:
            after = stack.enter_context(tree_of(root, options.now))
            python = after / ".venv/bin/python"
        tree = stack.enter_context(tree_of(root, options.base, after))
        short = ("--timeout", str(LONGEST_BEFORE))
        before = run(tree / ".venv/bin/python", tree, lines, options.processes, *short)
        now = run(python, after, lines, options.processes)
    for line in lines:
        print(row(line, before[line.test], now[line.test]))
    wrong = [line for line in lines if not (before[line.test].fails and now[line.test].passes)]
    for clause in absent:
        print(f"{clause:5} has no test")
    clauses = len({line.clause for line in lines})
    print(
        f"{clauses} clauses, {len(lines)} tests, {len(wrong)} wrong, {len(absent)} without a test"
    )
    return 1 if wrong or absent else 0


if __name__ == "__main__":
    sys.exit(main())
