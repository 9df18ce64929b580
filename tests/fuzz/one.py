"""One target under libFuzzer: `one.py TARGET libfuzzer-options...`; started by session.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))
with atheris.instrument_imports(include=["lycosa"]):
    from fuzz.judge import judge
    from fuzz.targets import TARGETS

if __name__ == "__main__":
    chosen = TARGETS[sys.argv.pop(1)]
    sys.argv[0] = os.environ.get("FUZZ_AGAIN", sys.argv[0])  # how a merge starts itself once more
    atheris.Setup(sys.argv, lambda data: judge(chosen, data))
    atheris.Fuzz()
