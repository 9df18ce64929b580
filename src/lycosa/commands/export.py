"""`lycosa export`: writes pages as files that other tools read: tables, lines or web archives."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from lycosa.called import called
from lycosa.commands.filters import filters_of
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened_nodes
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import raw
from lycosa.units import rate

_SHOWN_EVERY = 0.2  # seconds


def export(values: Values, words: list[str]) -> int:
    """Export, and say what was exported."""
    from lycosa.export.formats import FORMATS
    from lycosa.export.job import Wish
    from lycosa.export.job import export as run

    if len(words) != 2:
        raise UserError(
            f"Say what to export and where to, such as '{called('export', 'parquet', 'pages')}';"
            f" there are {', '.join(FORMATS)}."
        )
    wish = Wish(
        format=words[0],
        out=Path(words[1]).expanduser(),
        filters=dict(filters_of(values)),
        tables=values["table"],
        columns=_listed(values["columns"]),
        name=values["name"],
        overwrite=values["overwrite"],
        file_bytes=values["file-size"] or 0,
        exact_only=values["exact-only"],
    )
    progress = ExportProgress()
    try:
        with opened_nodes(values) as crawl:
            done = run(crawl, wish, progress)
    except KeyboardInterrupt:
        progress.end()
        print("lycosa: interrupted; the same command goes on with it.", file=sys.stderr)
        raise
    finally:
        progress.end()
    if values["json"]:
        print_json({"out": str(wish.out), **done})
    else:
        print(_told(wish.out, done))
    return 0


def _listed(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _told(out: Path, done: dict[str, Any]) -> str:
    counts = ", ".join(f"{count:,} {_NOUNS[name]}" for name, count in done["counts"].items())
    marked = [f"{count:,} {_MARKED[kind]}" for kind, count in done.get("duplicates", {}).items()]
    return f"{out}: {', '.join([counts, *marked])}"


_NOUNS = {
    "text": "pages with text",
    "index": "pages in the index",
    "edges": "edges",
    "responses": "responses",
}
_MARKED = {"exact": "duplicates", "near": "near-duplicates"}


class ExportProgress:
    """A line on a terminal that says how far an export is."""

    def __init__(self) -> None:
        self._stream = raw(sys.stderr)
        self._draws = self._stream.isatty()
        self._began = time.monotonic()
        self._next = 0.0
        self._drawn = False

    def __call__(self, phase: str, pages: int, at: int, last: int) -> None:
        now = time.monotonic()
        if not self._draws or (now < self._next and at < last):
            return
        self._next = now + _SHOWN_EVERY
        speed = rate(pages / max(now - self._began, 0.001))
        share = 100 * at // last if last else 100
        count = f", {pages:,} pages, {speed} pages/s" if pages else ""
        self._stream.write(f"\r\x1b[K{phase}: {share} %{count}")
        self._stream.flush()
        self._drawn = True

    def end(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
