"""scripts/repairs sees a test that fails before and passes now, and everything that is not so."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "_repairs.py"

PROJECT = '[tool.pytest.ini_options]\naddopts = "-q"\npythonpath = ["src"]\n'
TESTS = """
import pytest

def test_repaired():
    from lycosa import answer
    assert answer() == 42

def test_always_well():
    pass

def test_still_broken():
    raise AssertionError

@pytest.mark.parametrize("n", [1, 42])
def test_cases(n):
    from lycosa import answer
    assert answer() >= n

@pytest.mark.skip
def test_not_run():
    pass
"""

if not shutil.which("git"):
    pytest.skip("needs git", allow_module_level=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src/lycosa").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text(PROJECT)
    package = root / "src/lycosa/__init__.py"
    package.write_text("def answer():\n    return 1\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "before")
    package.write_text("def answer():\n    return 42\n")
    (root / "src/lycosa/added.py").touch()
    (root / "tests/test_a.py").write_text(TESTS)
    (root / "tests/test_b.py").write_text("import lycosa.added\n\ndef test_new():\n    pass\n")
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", root, *words], check=True)


def repairs(root: Path, lines: list[str], *words: str) -> tuple[int, list[str]]:
    (root / "tests/repairs.tsv").write_text("\n".join(lines) + "\n")
    alone = ("--processes", "0")
    done = subprocess.run(
        [sys.executable, SCRIPT, "--root", root, "--base", "HEAD", "--now", "", *alone, *words],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def test_each_is_told_apart(project: Path) -> None:
    lines = [
        "2b\ttests/test_a.py::test_cases\tone case fails there",
        "2a\ttests/test_a.py::test_repaired\ta repair",
        "10\ttests/test_b.py::test_new\ta module that was not there",
        "3\ttests/test_a.py::test_always_well\tno repair",
        "4\ttests/test_a.py::test_still_broken\tnot repaired",
        "5\ttests/test_a.py::test_not_run\tskipped",
        "6\ttests/test_a.py::test_absent\tno such test",
    ]
    code, out = repairs(project, lines, "2", "3", "4", "5", "6", "10")
    assert code == 1
    verdicts = dict(zip((line.split()[0] for line in out[0:-1:3]), out[2:-1:3], strict=True))
    assert {clause: text.strip() for clause, text in verdicts.items()} == {
        "2a": "fails before: yes; passes now: yes",
        "2b": "fails before: yes; passes now: yes",
        "3": "fails before: NO; passes now: yes",
        "4": "fails before: yes; passes now: NO",
        "5": "fails before: NO; passes now: NO",
        "6": "fails before: NO; passes now: NO",
        "10": "fails before: yes, it can't be imported there; passes now: yes",
    }
    assert out[-1] == "7 clauses, 7 tests, 4 wrong, 0 without a test"
    worktrees = subprocess.run(
        ["git", "-C", project, "worktree", "list"], capture_output=True, text=True
    )
    assert worktrees.stdout.count("\n") == 1  # nothing stays behind


def test_good_ones_pass_and_absent_clauses_are_named(project: Path) -> None:
    line = "2b\ttests/test_a.py::test_repaired\ta repair"
    code, out = repairs(project, [line], "2")
    assert (code, out[-1]) == (0, "1 clauses, 1 tests, 0 wrong, 0 without a test")
    code, out = repairs(project, [line])
    assert code == 1
    absent = [text.split()[0] for text in out if text.endswith("has no test")]
    assert absent == ["1", "2a", *map(str, range(3, 25)), *(f"U{n}" for n in range(1, 7))]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("_repairs", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_the_list_is_in_order_and_names_tests_that_exist() -> None:
    module, path = script(), ROOT / "tests/repairs.tsv"
    lines = module.read_list(path)
    assert module.missing(lines, module.ITEMS) == []
    written = [text for text in path.read_text("utf-8").splitlines() if not text.startswith("#")]
    pairs = [tuple(text.split("\t")[:2]) for text in written]
    assert len(set(pairs)) == len(pairs) == len(lines), "each once"
    places = [module.place(clause) for clause, _ in pairs]
    assert all(first <= second for first, second in pairwise(places)), "sorted"
    for line in lines:
        file, name = line.test.split("::")
        words = rf"^def {re.escape(name.partition('[')[0])}\("
        assert re.search(words, at_that_commit(module.REPAIRED, file), re.M), line.test


@cache
def at_that_commit(commit: str, file: str) -> str:
    git = ["git", "-C", str(ROOT), "show", f"{commit}:{file}"]
    done = subprocess.run(git, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("needs the history of git")
    return done.stdout
