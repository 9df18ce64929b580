"""A fresh copy of the tree sets itself up and works: what a new user and the build server do."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def copy_tree(target: Path) -> Path:
    """Everything but what is ignored: as a clone has it, and the changes of today."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", *ignored))
    return target


def environment() -> dict[str, str]:
    """Without the environment that runs this test."""
    own = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
    values = {key: value for key, value in os.environ.items() if key not in own}
    venv = str(ROOT / ".venv")
    kept = [part for part in values["PATH"].split(":") if not part.startswith(venv)]
    return {**values, "PATH": ":".join(kept)}


def start(script: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [script, *words],
        cwd="/",
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fresh_copy_sets_itself_up(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "a copy")
    both = [start(tree / "scripts/lycosa", "version") for _ in range(2)]
    for process in both:  # two first starts at once do not get into each other's way
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert out.startswith("lycosa ")
    begin = time.monotonic()
    again = start(tree / "scripts/lycosa", "version")
    out, err = again.communicate(timeout=60)
    assert (again.returncode, err) == (0, "")
    assert time.monotonic() - begin < 5  # nothing was installed again

    checks = start(tree / "scripts/test", "tests/settings/test_values.py")
    out, err = checks.communicate(timeout=800)
    assert checks.returncode == 0, out + err
    assert out.endswith("All checks and tests passed.\n")

    source = tree / "src/lycosa/urls/_links.c"
    source.write_text(source.read_text() + "/* changed */\n")
    os.utime(source, (0, 0))  # as from an archive
    built = {path.name: path.stat().st_mtime for path in tree.glob("src/lycosa/*/*.so")}
    process = start(tree / "scripts/lycosa", "version")
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    for path in tree.glob("src/lycosa/*/*.so"):
        assert path.stat().st_mtime > built.pop(path.name)  # compiled again
    assert not built

    moved = tmp_path / "moved"
    tree.rename(moved)  # a virtual environment can't be moved: it is made anew
    process = start(moved / "scripts/lycosa", "version")
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err


PACKAGE = ROOT / "src/lycosa"
SOURCES = [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.[ch]"))]


@pytest.mark.parametrize("name", [*SOURCES, "page/_scan.h", "deeper/new.c", "../setup.py"])
def test_whatever_is_compiled_is_compiled_again_when_it_changes(name: str, tmp_path: Path) -> None:
    for part in ("scripts", "src/lycosa"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("*.so"))
    for part in ("pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / part, tmp_path)
    (tmp_path / ".venv").mkdir()

    def shell(words: str) -> int:
        script = f". scripts/_venv\n{words}"
        return subprocess.run(["sh", "-c", script, "scripts/x"], cwd=tmp_path).returncode

    assert shell("fresh test") != 0
    assert shell('wanted >"$VENV/lycosa-test"') == 0
    assert shell("fresh test") == 0
    source = tmp_path / "src/lycosa" / name.replace("../", "../../")
    source.parent.mkdir(exist_ok=True)
    with source.open("a") as file:
        file.write("/* changed */\n")
    assert shell("fresh test") != 0


def scripts_alone(folder: Path) -> Path:
    """A tree that a script looks at before it sets anything up."""
    tree = folder / "tree"
    shutil.copytree(ROOT / "scripts", tree / "scripts")
    shutil.copy2(ROOT / "pyproject.toml", tree)
    return tree


def test_an_old_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    tree = scripts_alone(tmp_path)
    done = subprocess.run(
        [tree / "scripts/lycosa", "version"],
        env={**environment(), "PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("lycosa: Python 3.11 or newer is needed")
    assert done.stderr.count("\n") == 1


def test_a_python_without_venv_and_pip_is_refused_in_a_sentence(tmp_path: Path) -> None:
    tree = scripts_alone(tmp_path)
    bare = tmp_path / "python3"
    bare.write_text('#!/bin/sh\n[ "$1" = -m ] && exit 1\nexec python3 "$@"\n')
    bare.chmod(0o755)
    done = subprocess.run(
        [tree / "scripts/lycosa", "version"],
        env={**environment(), "PYTHON": str(bare)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1
