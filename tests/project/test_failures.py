"""docs/failures.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_named_test_exists() -> None:
    text = (ROOT / "docs" / "failures.md").read_text("utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 11
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), f"{file}::{name}"
