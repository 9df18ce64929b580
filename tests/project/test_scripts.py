"""scripts/test on the machines that people have: what it needs, what it counts, what it records."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVERY_TEST = ROOT / "tests/support/every_test.py"

TESTS = """
import pytest

def test_one():
    pass

@pytest.mark.skip(reason="needs a browser")
@pytest.mark.parametrize("n", range(2))
def test_two(n):
    pass

def test_three():
    pytest.skip("needs the moon")

@pytest.mark.slow
@pytest.mark.parametrize("n", range(3))
def test_large(n):
    pass

@pytest.mark.slow
@pytest.mark.parametrize("n", range(2))
def test_larger(n):
    assert n == 0
"""
PYTHON = f"""#!/bin/sh
case "$2" in ruff | mypy | support.chromium) exit 0 ;; esac
exec {sys.executable} "$@"
"""

ONE = ("-n", "1")  # process; four are asked for by those tests that are about them
# Of pytest, those that scripts/test names flags of: loading all takes a second in each process.
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin,pytest_timeout"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The real scripts over a handful of tests; style and types are good, a browser is there."""
    for part in ("scripts", ".ci"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for part in ("pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / part, tmp_path)
    shutil.copy2(EVERY_TEST, tmp_path / "conftest.py")
    for part in (".venv/bin", "docs", "tests", "src/lycosa"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "src/lycosa/_scan.c").touch()
    (tmp_path / "tests/test_a.py").write_text(TESTS)
    (tmp_path / "tests/test_b.py").write_text("def test_well():\n    pass\n")
    python = tmp_path / ".venv/bin/python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (tmp_path / ".venv/bin/clang-format").symlink_to("/bin/true")
    stamp = '. scripts/_venv\nwanted >"$VENV/lycosa-test"'
    subprocess.run(["sh", "-c", stamp, "scripts/x"], cwd=tmp_path, check=True)
    return tmp_path


def run(
    *words: str | Path, cwd: Path = ROOT, preexec_fn: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    own = ("PYTEST_", "LYCOSA_")  # of the run that this test is part of
    environment = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    environment |= PLUGINS
    return subprocess.run(
        [*words],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=cwd,
        env=environment,
        preexec_fn=preexec_fn,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[-1]


def test_what_could_not_run_is_counted_in_the_last_line(tree: Path) -> None:
    done = run(tree / "scripts/test")
    assert (done.returncode, last_line(done)) == (
        0,
        "All checks and tests passed; 3 tests could not run on this machine:"
        " needs a browser (2); needs the moon (1).",
    )
    done = run(tree / "scripts/test", *ONE, "tests/test_b.py")
    assert (done.returncode, last_line(done)) == (0, "All checks and tests passed.")
    (tree / "tests/test_b.py").write_text("def test_ill():\n    raise AssertionError\n")
    done = run(tree / "scripts/test", *ONE)
    assert (done.returncode, last_line(done)) == (1, "FAILED: tests")


def test_what_fails_runs_once_more_alone_and_is_named(tree: Path) -> None:
    (tree / "tests/test_b.py").write_text(
        "from pathlib import Path\n"
        "import pytest\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test_b(n):\n"
        "    before = Path(__file__).with_suffix(f'.{n}')\n"
        "    seen, _ = before.exists(), before.touch()\n"
        "    assert seen or n == 0\n"
    )
    done = run(tree / "scripts/test", "tests/test_b.py")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-3:] == [
        *(
            f"UNSTEADY: tests/test_b.py::test_b[{n}] failed beside others, and passed alone."
            for n in (1, 2)
        ),
        "All checks and tests passed.",
    ]


def test_the_build_server_fails_on_what_could_not_run(tree: Path) -> None:
    done = run(tree / ".ci/run", *ONE, "tests/test_a.py")
    assert (done.returncode, last_line(done)) == (
        1,
        "FAILED: 3 tests could not run on this machine: needs a browser (2); needs the moon (1).",
    )
    assert run(tree / ".ci/run", *ONE, "tests/test_b.py").returncode == 0


def test_fix_formats_and_mends_what_it_can(tree: Path) -> None:
    (tree / ".venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    untidy, wrong = tree / "src/lycosa/a.py", tree / "src/lycosa/b.py"
    untidy.write_text("import sys\nimport os\nprint( os.name,sys.path )\n")
    wrong.write_text("print( nowhere )\n")
    done = run(tree / "scripts/fix", "a.py", cwd=untidy.parent)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert untidy.read_text() == "import os\nimport sys\n\nprint(os.name, sys.path)\n"
    assert wrong.read_text() == "print( nowhere )\n", "only what was named"
    done = run(tree / "scripts/fix")
    assert done.returncode == 1 and "nowhere" in done.stdout, "it says what is left"
    assert wrong.read_text() == "print(nowhere)\n"


def test_the_slow_tests_are_recorded_with_date_and_commit(tree: Path) -> None:
    if shutil.which("git"):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=tree, check=True)
    record = tree / "docs/slow-tests.md"
    assert run(tree / "scripts/test", "--slow").returncode == 1
    rows = re.findall(r"^\| `(\S+)` \| (\w+) \| 0 \| (\S+) \| (\S+) \|$", record.read_text(), re.M)
    assert [row[:2] for row in rows] == [
        ("tests/test_a.py::test_large", "passed"),
        ("tests/test_a.py::test_larger", "failed"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row[2]) for row in rows)
    assert all(re.fullmatch(r"[0-9a-f]{12}|unknown", row[3]) for row in rows)

    text = "import pytest\n\n@pytest.mark.slow\ndef test_more():\n    pass\n"
    (tree / "tests/test_b.py").write_text(text)
    assert run(tree / "scripts/test", "--slow", "tests/test_b.py").returncode == 0
    lines = record.read_text().splitlines()  # the others keep their rows
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == [
        "tests/test_a.py::test_large",
        "tests/test_a.py::test_larger",
        "tests/test_b.py::test_more",
    ]


def pytest_in(
    folder: Path, *words: str, preexec_fn: Callable[[], None]
) -> subprocess.CompletedProcess[str]:
    config = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *config, "-n", "0", *words]
    return run(*command, cwd=folder, preexec_fn=preexec_fn)


def test_an_ordinary_users_open_files_are_enough(tmp_path: Path) -> None:
    """1,024 is what Debian gives; half of them here, because other tests hold some too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = pytest_in(
        tmp_path,
        str(ROOT / "tests/fetch/test_fetcher.py::test_a_thousand_slow_ones"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard)),
    )
    assert done.returncode == 0, done.stdout[-2000:]


PROBE = """
import os
from pathlib import Path

def test_it():
    assert os.listdir() == []
    assert not [name for name in os.environ if name in ("LYCOSA_DELAY", "LYCOSA_DATA_DIR")]
    Path("left-behind").mkdir()
    Path("left-behind/file").touch()

def test_again():
    assert os.listdir() == []
"""


def test_a_crawl_in_the_clone_is_no_part_of_a_test(tmp_path: Path) -> None:
    """Neither is a setting in the environment, nor what another test left."""
    crawl = tmp_path / "lycosa-data/crawl.sqlite"
    crawl.parent.mkdir()
    crawl.write_bytes(b"a crawl of yours")
    (tmp_path / "test_probe.py").write_text(PROBE)
    shutil.copy2(EVERY_TEST, tmp_path / "conftest.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_probe.py"],
        cwd=tmp_path,
        env={**os.environ, "LYCOSA_DELAY": "3", "LYCOSA_DATA_DIR": "lycosa-data"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert crawl.read_bytes() == b"a crawl of yours"


def test_the_fresh_machine_script_runs_the_readme_as_a_user() -> None:
    """Its run takes half an hour and root; here: that it says so, and what it would run."""
    script = ROOT / "scripts/fresh-machine"
    text = script.read_text()
    subprocess.run(["sh", "-n", script], check=True)
    for needed in ("debootstrap", "--reuid 1000", "ulimit -Sn 1024", "README.md"):
        assert needed in text
    code = "set -- nothing; " + text[text.index("commands() {") : text.index("\nfailed=0")]
    done = run("sh", "-c", f"ROOT={ROOT}; {code}\ncommands")
    assert done.stdout.splitlines() == ["scripts/lycosa demo", "scripts/test"]
    if os.geteuid() != 0:
        done = run(script)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "root is needed" in done.stderr
