"""Every runtime dependency comes as a wheel, for each Python and machine that lycosa runs on: an
installation needs no compiler but for lycosa's own modules. Asks the registry that pip is set up
for, and installs nothing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUNTIME = [*PROJECT["dependencies"], *EXTRAS["postgres"], *EXTRAS["simweb"], *EXTRAS["data"]]
# The same that scripts/_venv looks for.
PYTHONS = sorted(set(re.findall(r"\bpython(3\.\d+)\b", (ROOT / "scripts/_venv").read_text())))
MACHINES = ("x86_64", "aarch64")
GLIBC = range(17, 37)  # 2.36 is that of Debian 12, the oldest that the README names


def pip(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", *words, "--disable-pip-version-check"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def wanted(python: str, machine: str) -> list[str]:
    """What an installation there needs: pip takes markers for those of the Python it runs on."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "sys_platform": "linux",
    }
    needed = []
    for each in map(Requirement, RUNTIME):
        if each.marker is None or each.marker.evaluate(place):
            each.marker = None
            needed.append(str(each))
    return needed


def has_wheels(python: str, machine: str, requirements: list[str], target: Path) -> bool:
    """Whether pip could install them there, with all that they need, from wheels alone."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC]
    done = pip(
        *("install", "--dry-run", "--ignore-installed", "--only-binary", ":all:"),
        *("--target", str(target), "--implementation", "cp", "--python-version", python),
        *(f"--platform={each}" for each in [*platforms, f"manylinux2014_{machine}"]),
        *requirements,
    )
    return done.returncode == 0


@pytest.fixture(scope="module")
def _registry() -> None:
    """Skips where nobody answers: that says nothing of wheels."""
    if pip("index", "versions", "pip").returncode:
        pytest.skip("needs a package registry")


def test_the_pythons_are_those_that_the_scripts_look_for() -> None:
    assert PYTHONS[0] == PROJECT["requires-python"].removeprefix(">=")
    minors = [int(python.removeprefix("3.")) for python in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1)) and minors[-1] >= 14


def test_chardetng_is_left_out_where_it_has_no_wheel() -> None:
    """Its port in turbohtml is everywhere."""
    with_it = {
        (python, machine)
        for python in PYTHONS
        for machine in MACHINES
        if any(each.startswith("chardetng") for each in wanted(python, machine))
    }
    assert {python for python, _ in with_it} == {"3.11", "3.12", "3.13"}
    assert all(
        any(each.startswith("turbohtml") for each in wanted(python, machine))
        for python in PYTHONS
        for machine in MACHINES
    )


@pytest.mark.slow  # 5 s for each, and what the registry takes
@pytest.mark.usefixtures("_registry")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_has_a_wheel(python: str, machine: str, tmp_path: Path) -> None:
    needed = wanted(python, machine)
    if has_wheels(python, machine, needed, tmp_path):
        return
    missing = [each for each in needed if not has_wheels(python, machine, [each], tmp_path)]
    pytest.fail(f"Python {python} on {machine}: no wheels of {', '.join(missing) or 'all at once'}")
