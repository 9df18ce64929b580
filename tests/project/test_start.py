"""What a start does not load: every process of every crawl would pay for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lycosa

CONTROL = Path(lycosa.__file__).parent / "engine" / "control.py"


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        (
            "import lycosa.engine.loop",
            {"encodings.cp1250", "encodings.koi8_r", "filecmp", "turbohtml", "chardetng_py"},
        ),
        (
            "import lycosa.node.supervisor",
            {"lycosa.node.verify", "lycosa.archive.reading", "filecmp"},
        ),
        (f"import runpy; runpy.run_path({str(CONTROL)!r})", {"subprocess", "lycosa"}),
    ],
)
def test_a_start_loads_only_what_it_needs(code: str, unneeded: set[str]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not unneeded & set(told.stdout.split())
