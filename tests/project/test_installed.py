"""What a plain `pip install .` gives: the demo works, and what is missing is named exactly."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.typed import PYTHON

ROOT = Path(__file__).parents[2]


def without(tmp_path: Path, *packages: str) -> dict[str, str]:
    """An environment in which these packages are not installed."""
    for name in packages:
        folder = tmp_path / "hidden" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
    environ = {key: value for key, value in os.environ.items() if "LYCOSA" not in key}
    return {**environ, "PYTHONPATH": str(tmp_path / "hidden")}


def lycosa(
    environ: dict[str, str], *words: str, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-m", "lycosa", *words],
        capture_output=True, text=True, timeout=110, env=environ,
    )  # fmt: skip


def test_the_demo_works_without_an_extra(tmp_path: Path) -> None:
    environ = without(tmp_path, "cryptography", "psycopg")
    words = f"demo --domains 4 --pages 4 --delay 0.3 --data-dir {tmp_path / 'demo'}".split()
    done = lycosa(environ, *words)
    assert done.returncode == 0, done.stderr
    assert "none too soon" in done.stdout
    assert f"{PYTHON} -m pip install cryptography" in done.stderr
    assert "--https" not in done.stderr  # which the demo does not have


def test_every_option_that_a_message_names_is_one_of_the_command(tmp_path: Path) -> None:
    environ = without(tmp_path, "cryptography")
    done = lycosa(environ, "simweb", "serve", str(tmp_path / "log"))
    assert done.returncode == 2
    assert f"{PYTHON} -m pip install cryptography" in done.stderr
    helped = lycosa(environ, "simweb", "serve", "--help").stdout
    for flag in re.findall(r"--[a-z][a-z-]+", done.stderr):
        assert flag in helped


def test_a_missing_driver_is_named() -> None:
    code = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'psycopg' else find(name, *a)\n"
        "from lycosa.cli import main\n"
        "sys.exit(main(['status', '--store', 'postgresql://u@127.0.0.1:1/d']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{PYTHON} -m pip install 'psycopg[binary]'" in done.stderr


def test_the_readme_tells_of_pip_wheels_and_extras() -> None:
    import tomllib

    readme = (ROOT / "README.md").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name in set(extras["optional-dependencies"]) - {"docs", "test"}:
        assert f"pip install '.[{name}]'" in readme
    assert "pip install ." in readme and "pip wheel ." in readme


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone, not an archive")
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_wheel_of_a_release_needs_no_compiler(tmp_path: Path) -> None:
    """`scripts/wheel` with the tests of the compiled modules, and the demo by what it installed."""
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    names = (
        *("page/test_scan", "page/test_simhash", "urls/test_links", "fetch/test_receive"),
        "frontier/log/test_domain_log",
    )
    tests = [f"tests/{name}.py" for name in names]
    done = subprocess.run([tree / "scripts/wheel", *tests], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    said = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"dist/lycosa-\S+-cp311-abi3-manylinux\S*_2_17_\w+\.whl, of commit \w+: "
        r"5 compiled modules; by Python \S+, without a compiler, "
        r"\d\d+ tests passed and 0 could not run\.",
        said,
    ), said
    assert len(list((tree / "dist").glob("lycosa-*.tar.gz"))) == 1
    done = lycosa(
        {"PATH": str(tree / "build/wheel/path")},
        *f"demo --domains 4 --pages 4 --delay 0.3 --data-dir {tmp_path / 'demo'}".split(),
        python=tree / "build/wheel/venv/bin/python",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    junk = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so", ".venv", ".git", "build")
    shutil.copytree(ROOT, tree, ignore=junk)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "wheel", "-q", tree, "-w", tmp_path / "wheels"], check=True)
    wheel = next((tmp_path / "wheels").glob("lycosa-*.whl"))
    subprocess.run([venv / "bin/pip", "install", "-q", wheel], check=True)
    environ = {key: value for key, value in os.environ.items() if "PYTHON" not in key}
    done = subprocess.run(
        [venv / "bin/lycosa", "demo", "--domains", "4", "--pages", "4"],
        capture_output=True, text=True, cwd=tmp_path, env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{venv / 'bin/lycosa'} status" in done.stdout
