"""`lycosa top`: the live view of a crawl that runs elsewhere.

On a terminal it redraws in place, until q or Ctrl-C; else it prints a line for every new figure.
It only reads (`reading/live`). A crawl of several nodes is shown as a whole, with a line for each
node.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened_nodes
from lycosa.node.display import Screen, Snapshot, kinds, line, render
from lycosa.reading.live import Figures, Live
from lycosa.settings.collect import Values
from lycosa.terminal import one_line, visible
from lycosa.units import duration, rate
from lycosa.what_limits import Limit

if TYPE_CHECKING:
    from lycosa.reading.crawl import Crawl

LOOK_EVERY = 1.0  # seconds; the file is new every five
TOP_DOMAINS = 5
NODE_CHARS = 8  # of a node's name


def top(values: Values, _: list[str]) -> int:
    """Show how a crawl stands, again and again."""
    with opened_nodes(values) as crawl:
        screen = Screen(sys.stdout)
        drawing = screen.usable(not (values["json"] or values["once"]))
        try:
            if drawing:
                _draw(crawl, screen)
            else:
                _print(crawl, values["once"], values["json"])
        except KeyboardInterrupt:
            pass  # that is how it ends
        finally:
            if drawing:
                screen.leave()
    return 0


def _draw(crawl: Crawl, screen: Screen) -> None:
    live = Live(crawl)
    with _keys() as pressed:
        while True:
            found = live.look()
            screen.put(top_lines(found, time.time(), screen.width()))
            if found["state"] in OVER or pressed(LOOK_EVERY):
                return


def _print(crawl: Crawl, once: bool, json: bool) -> None:
    live, shown = Live(crawl), -1.0
    while True:
        found = live.look()
        if found["at"] != shown:
            shown = found["at"]
            if json:
                print_json(found, indent=False)
            else:
                print(one_line(top_line(found)))
            sys.stdout.flush()
        if once or found["state"] in OVER:
            return
        time.sleep(LOOK_EVERY)


OVER = ("finished", "stopped", "failed")


@contextmanager
def _keys() -> Iterator[Any]:
    """Whether q was pressed within so many seconds; the terminal is as before afterwards."""
    if not sys.stdin.isatty():
        yield lambda seconds: time.sleep(seconds)
        return
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield lambda seconds: _pressed(fd, seconds)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _pressed(fd: int, seconds: float) -> bool:
    ready, _, _ = select.select([fd], [], [], seconds)
    return bool(ready) and os.read(fd, 64) in (b"", b"q", b"Q")


def snapshot_of(now: Figures) -> Snapshot:
    """Figures as the live view of a run has them; pure."""
    engines = now.get("engines") or []
    return Snapshot(
        elapsed=max(0.0, now["at"] - now.get("run", now["at"])),
        pages=now.get("pages", 0),
        ok=now.get("ok", 0),
        bytes=now.get("bytes", 0),
        pages_per_s=now.get("pages_per_s") or 0.0,
        bytes_per_s=now.get("bytes_per_s") or 0.0,
        in_flight=now.get("in_flight", 0),
        queued=now.get("queued", 0),
        domains=now.get("domains", 0),
        ready=now.get("ready", 0),
        engines=len(engines),
        rss_mb=sum(each.get("rss_mb") or 0 for each in engines) or now.get("rss_mb", 0.0),
        duplicates=now.get("duplicates", 0),
        near_duplicates=now.get("near_duplicates", 0),
        outcomes=now.get("outcomes") or {},
        labels=now.get("labels") or {},
        retries=now.get("retries") or {},
        max_pages=now.get("page_limit") or 0,
        max_duration=now.get("time_limit") or 0.0,
        end=now.get("end") or "",
        limiting=now.get("limit_text") or now.get("limit") or "",
        paused=now.get("paused") or "",
    )


def top_lines(now: Figures, clock: float, width: int) -> list[str]:
    """The live view for people, no line longer than `width`; pure. `clock`: seconds since 1970."""
    age = clock - now["at"]
    old = f", as of {duration(age)} ago" if age > 15 else ""
    hint = "" if now["state"] in OVER else "  (q ends this view)"
    more = [("state", f"{now['state']}{old}{hint}")]
    view = [f" {each}" for each in render(snapshot_of(now), width - 1)]
    return [
        *(_fit(f"{name:>11}  {text}", width) for name, text in more),
        *view,
        *(_fit(f"{name:>11}  {text}", width) for name, text in (*_extra(now), *_nodes(now, clock))),
    ]


def _extra(now: Figures) -> Iterator[tuple[str, str]]:
    """What a crawl tells beside what its own live view shows."""
    if now.get("ceiling"):
        yield "ceiling", f"{rate(now['ceiling'])} pages/s by politeness"
    proof = now.get(Limit.POLITENESS) or {}
    if proof.get("visits"):
        yield (
            Limit.POLITENESS,
            f"{proof['visits']:,} visits proven, smallest pause {proof.get('least') or 0:g} s"
            f" of {proof.get('needed') or 0:g} s, violations {proof.get('violations', 0):,}",
        )
    if drops := now.get("drops"):
        yield "dropped", kinds(drops)
    for name, noun in (("pages", "most pages"), ("queued", "most queued")):
        if pairs := (now.get("top") or {}).get(name):
            yield noun, ", ".join(f"{domain} {value:,}" for domain, value in pairs[:TOP_DOMAINS])


def _nodes(now: Figures, clock: float) -> Iterator[tuple[str, str]]:
    """A line for each of several nodes."""
    for node in now.get("nodes") or ():
        age = clock - node["at"]
        old = f"  heard {duration(age)} ago" if age > 15 and node.get("state") not in OVER else ""
        engines = len(node.get("engines") or ())
        yield (
            "node",
            f"{node.get('node', '')[:NODE_CHARS]}  {node.get('state', '')}"
            f"  {rate(node.get('pages_per_s') or 0.0)} pages/s  {node.get('pages', 0):,} pages"
            f"  {node.get('in_flight', 0):,} fetches  {engines} engines{old}",
        )


def _fit(text: str, width: int) -> str:
    text = visible(text).replace("\n", "\\n")
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def top_line(now: Figures) -> str:
    """The same on one line; pure."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now["at"]))
    fields = line(snapshot_of(now))
    told = " ".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f"{moment} {now['state']} {told}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{count}" for name, count in value.items()) or "-"
    text = str(value)
    return f'"{text}"' if " " in text else text
