"""Every benchmark runs once, small, so that it can't rot.

None installs anything: `peers` runs lycosa and those peers that the system has, `real_files` makes
up its files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NO_COMPILER = "needs a C compiler when lycosa is installed"
NO_NAMESPACE = "needs a network namespace of its own: root on Linux"
BENCHES = sorted((Path(__file__).parents[2] / "bench").glob("*.py"))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("bench", BENCHES, ids=lambda path: path.stem)
def test_it_runs(bench: Path) -> None:
    if bench.stem == "compiled":
        pytest.importorskip("lycosa.page._scan", reason=NO_COMPILER)
    if bench.stem == "real_files":
        inside = ["unshare", "--net", "--mount", "true"]
        if not shutil.which("unshare") or subprocess.run(inside, capture_output=True).returncode:
            pytest.skip(NO_NAMESPACE)
    done = subprocess.run(
        [sys.executable, bench, "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert any(character.isdigit() for character in done.stdout)
