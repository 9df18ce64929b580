"""What a person sees of a running crawl: a live view on a terminal, else a line now and then.

`render` and `summary` are pure: values in, lines of text out. `Screen` is the only part that
writes. Knows nothing of engines or stores; it gets a `Snapshot`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TextIO

from lycosa.called import called
from lycosa.outcomes import FINE
from lycosa.page.label_rules import REAL
from lycosa.terminal import raw, visible
from lycosa.units import duration, rate, size

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR_BELOW = "\x1b[J"
_MIB = 1024**2
_PAUSED = {
    "user": f"no visit is started; '{called('unpause')}' goes on",
    "disk": "no visit is started; it goes on when there is room on the disk",
}


@dataclass(slots=True)
class Snapshot:
    """How a crawl stands at one moment."""

    elapsed: float = 0.0  # s, of this run
    pages: int = 0  # of the whole crawl
    run_pages: int = 0  # of this run
    ok: int = 0
    bytes: int = 0
    pages_per_s: float = 0.0
    bytes_per_s: float = 0.0
    in_flight: int = 0
    queued: int = 0
    domains: int = 0  # with something left to fetch
    ready: int = 0  # domains that could be visited at once
    engines: int = 0
    rss_mb: float = 0.0
    duplicates: int = 0  # pages whose text an earlier one had
    near_duplicates: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)  # failures to be tried again, by cause
    lost: int = 0  # pages of earlier runs whose text is gone
    max_pages: int = 0  # 0: no limit
    max_duration: float = 0.0  # s; 0: no limit
    end: str = ""  # when the work will be over, in words (`node/end`)
    limiting: str = ""
    paused: str = ""  # by whom, see `Stats`
    stopping: bool = False


def render(now: Snapshot, width: int) -> list[str]:
    """The live view, no line longer than `width`."""
    rows = [
        ("pages", _pages(now)),
        ("speed", f"{rate(now.pages_per_s)} pages/s  {size(now.bytes_per_s)}/s"),
        ("in flight", f"{now.in_flight:,} fetches  {now.engines} engines  {now.rss_mb:,.0f} MB"),
        ("waiting", f"{now.queued:,} URLs in {now.domains:,} domains, {now.ready:,} ready"),
        ("errors", kinds(errors(now.outcomes)) or "none"),
        ("time", _time(now)),
        ("ends", now.end or "-"),
        ("limited by", now.limiting or "-"),
    ]
    if now.retries:
        rows.insert(5, ("retries", f"{kinds(now.retries)} (tried again later)"))
    if repeated := repeats(now.duplicates, now.near_duplicates):
        rows.insert(1, ("repeats", repeated))
    if now.paused and not now.stopping:
        rows.append(("paused", _PAUSED[now.paused]))
    if now.stopping:
        rows.append(("stopping", "finishing what is in flight; press Ctrl-C again to cut it off"))
    return [_fit(f"{name:>10}  {text}", width) for name, text in rows]


def line(now: Snapshot) -> dict[str, object]:
    """The same as fields of one log line."""
    fields: dict[str, object] = {
        "pages": now.pages,
        "ok": now.ok,
        "real": real_pages(now.labels),
        "per_s": round(now.pages_per_s, 1),
        "in_flight": now.in_flight,
        "queued": now.queued,
        "domains": now.domains,
        "ready": now.ready,
        "errors": sum(errors(now.outcomes).values()),
        "retries": now.retries,
        "duplicates": now.duplicates,
        "near_duplicates": now.near_duplicates,
        "mb": now.bytes // _MIB,
        "limit": now.limiting or "-",
    }
    return fields | ({"ends": now.end} if now.end else {})


def summary(
    now: Snapshot, data_dir: str, finished: bool, resume_hint: str = "", store: str = ""
) -> list[str]:
    """What to say at the end of a run: what was kept, and where. `store`: of a cluster."""
    mean = now.run_pages / now.elapsed if now.elapsed else 0.0
    head = "The crawl is finished" if finished else "The crawl has stopped and can be resumed"
    lines = [
        f"{head}: {now.pages:,} pages, {now.ok:,} of them ok,"
        f" {real_pages(now.labels):,} real (content or listing), {size(now.bytes)} received.",
        f"This run took {duration(now.elapsed)}, {rate(mean)} pages/s on average.",
    ]
    if repeated := repeats(now.duplicates, now.near_duplicates):
        lines.append(f"Among the ok pages were at least {repeated}.")
    if now.outcomes:
        lines.append(f"All URLs that are done: {kinds(now.outcomes)}.")
    if now.labels:
        lines.append(f"What the pages are: {kinds(now.labels)}.")
    if now.lost:
        named = ("--data-dir", data_dir, *(("--store", store) if store else ()))
        lines.append(
            f"{now.lost:,} pages of earlier runs lost what was kept:"
            f" '{called('verify', *named)}' names them."
        )
    if store:
        lines.append(f"The text that this node fetched is in {data_dir}/text.")
        lines.append(f"Where all of it is: {called('pages', '--store', store)}")
    else:
        place = f"{data_dir}/text, the list of pages in {data_dir}/crawl.sqlite"
        lines.append(f"The text is in {place}.")
    if not finished and resume_hint:
        lines.append(f"Go on with: {resume_hint}")
    return lines


def errors(outcomes: dict[str, int]) -> dict[str, int]:
    """Outcomes where something did not work."""
    return {name: n for name, n in outcomes.items() if name not in FINE and n}


def real_pages(labels: dict[str, int]) -> int:
    """How many pages are worth having, by the counts of all labels."""
    return sum(labels.get(name, 0) for name in REAL)


def kinds(counts: dict[str, int]) -> str:
    """'timeout 12, dns 3', the most frequent first."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {n:,}" for name, n in order)


def repeats(exact: int, near: int) -> str:
    """'12 duplicates, 3 near-duplicates'; '' if there are none."""
    return f"{exact:,} duplicates, {near:,} near-duplicates" if exact or near else ""


def _pages(now: Snapshot) -> str:
    limit = f" of {now.max_pages:,}" if now.max_pages else ""
    return (
        f"{now.pages:,}{limit}  {now.ok:,} ok  {real_pages(now.labels):,} real  {size(now.bytes)}"
    )


def _time(now: Snapshot) -> str:
    most = f" of {duration(now.max_duration)} for this run" if now.max_duration else ""
    return duration(now.elapsed) + most


def _fit(text: str, width: int) -> str:
    text = visible(text)
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


class Screen:
    """Redraws lines in place on a terminal and leaves it as it was."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = raw(stream or sys.stderr)
        self._drawn = 0  # lines on the screen that belong to us

    def usable(self, wanted: bool) -> bool:
        """Whether the view is `wanted` (--no-view) and there is a terminal that can redraw it."""
        return wanted and self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def draw(self, now: Snapshot) -> None:
        self.put(render(now, self.width()))

    def width(self) -> int:
        """Columns of a line: one stays free, a full last column makes some terminals wrap."""
        return self._columns() - 1

    def put(self, lines: list[str]) -> None:
        """Draw these lines, made visible and not longer than `width`, over the last ones."""
        self._write(_HIDE + self._back() + "\n".join(lines) + "\n")
        self._drawn = len(lines)

    def leave(self) -> None:
        """Let the last view stand and show the cursor again."""
        self._write(_SHOW)
        self._drawn = 0

    def clear(self) -> None:
        """Take the view away, before a log line or at the end; shows the cursor again."""
        self._write(self._back() + _SHOW)
        self._drawn = 0

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _back(self) -> str:
        return (f"\x1b[{self._drawn}F" if self._drawn else "\r") + _CLEAR_BELOW

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass  # the terminal is gone; the crawl goes on
