"""Makes the documents a site.

    _docs.py [DIR]

DIR is build/docs unless it is given. Every warning is an error. Everything is read anew each time:
of a document that it has read before, Sphinx would not repeat its warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STRICT = ("--fail-on-warning", "--fresh-env", "--quiet")


def build(site: Path) -> int:
    """The exit code of Sphinx."""
    doctrees = site.with_name(f"{site.name}-doctrees")  # beside the site, no part of it
    words = [*STRICT, "-b", "html", "-d", doctrees, "-c", ROOT / "docs", ROOT, site]
    return subprocess.run([sys.executable, "-m", "sphinx", *map(str, words)]).returncode


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "docs"
    code = build(target)
    print(f"{target}/index.html" if code == 0 else "FAILED: documents")
    sys.exit(code)
