"""The history of a crawl that nobody ran, in the shape in which supervisors write it: some hours
with an honest story, so that a page that shows it has something to show."""

from __future__ import annotations

import math
import random
import threading
import time
from pathlib import Path
from typing import Any

from lycosa.engine.notes import LE
from lycosa.metrics import Stats
from lycosa.node.display import Snapshot
from lycosa.node.figures import Moment, line_of
from lycosa.node.history import EVERY
from lycosa.node.history_files import HISTORY, HistoryFiles
from lycosa.node.rollup import rolled

DELAY = 70.0
OUTCOMES = {"ok": 0.71, "redirect": 0.12, "robots": 0.05, "http-404": 0.06, "timeout": 0.02,
            "not-text": 0.02, "http-503": 0.008, "nxdomain": 0.008, "tls": 0.004}  # fmt: skip
LABELS = {"content": 0.61, "listing": 0.22, "soft-404": 0.05, "script-shell": 0.04, "empty": 0.03,
          "parked": 0.02, "login-wall": 0.015, "consent-wall": 0.01, "blocked": 0.005}  # fmt: skip
LANGUAGES = {"en": 0.52, "de": 0.16, "fr": 0.09, "ja": 0.06, "es": 0.06, "pt": 0.04, "": 0.03,
             "cs": 0.02, "hu": 0.02}  # fmt: skip
TYPES = {
    "text/html": 0.95,
    "application/xhtml+xml": 0.02,
    "text/plain": 0.02,
    "application/xml": 0.01,
}
DROPS = {
    "file-type": 3.1,
    "depth": 1.2,
    "queue-cap": 0.7,
    "repeated-segments": 0.05,
    "excluded": 0.2,
}
SIZES = {"1024": 0.03, "4096": 0.08, "16384": 0.19, "65536": 0.35, "262144": 0.27,
         "1048576": 0.07, "4194304": 0.01}  # fmt: skip
BOUNDS = list(LE)


def counts(total: int, shares: dict[str, float]) -> dict[str, int]:
    return {name: int(total * share) for name, share in shares.items() if int(total * share)}


def made_lines(end: float, hours: float = 3.0, step: float = 30.0) -> list[dict[str, Any]]:
    """Lines up to a moment: the crawl grows, waits for DNS for a while, and is polite at last."""
    rng, lines, pages, queued = random.Random(7), [], 0.0, 40_000.0
    start = end - hours * 3600
    for number in range(int(hours * 3600 / step) + 1):
        at, part = start + number * step, number * step / (hours * 3600)
        domains = int(700 + 39_000 * (1 - math.exp(-3.2 * part)))
        ceiling = domains / DELAY
        limit, speed = _speed(part, ceiling, rng)
        pages += speed * step
        queued += (310 if part < 0.55 else -120) * step * (0.9 + rng.random() / 5)
        lines.append(_line(at, start, int(pages), int(queued), domains, speed, ceiling, limit))
    return lines


def _speed(part: float, ceiling: float, rng: random.Random) -> tuple[str, float]:
    noise = 0.94 + rng.random() * 0.1
    if part < 0.02:
        return "seeds", ceiling * 0.2
    if part < 0.09:
        return "nothing", ceiling * (0.3 + 7 * part) * noise
    if 0.3 < part < 0.36:
        return "DNS", ceiling * 0.45 * noise
    if 0.52 < part < 0.62:
        return "CPU", ceiling * 0.8 * noise
    return "politeness", min(ceiling, ceiling * 0.985 * noise)


TEXTS = {
    "politeness": "{domains:,} domains / 70 s",
    "DNS": "412 of 640 fetches wait for a name server",
    "CPU": "95 % of 2 cores used",
    "nothing": "{domains:,} domains are ready, speeding up",
    "seeds": "they are still being loaded",
}


def _line(
    at: float,
    start: float,
    pages: int,
    queued: int,
    domains: int,
    speed: float,
    ceiling: float,
    limit: str,
) -> dict[str, Any]:
    outcomes = counts(pages, OUTCOMES)
    return {
        **line_of(Stats(), Moment(at, "", start, "running", Snapshot(), DELAY)),
        "at": round(at, 3), "node": "", "run": start, "state": "running", "pages": pages,
        "ok": outcomes.get("ok", 0), "real": int(pages * 0.59), "bytes": pages * 31_000,
        "requests": int(pages * 1.2), "visits": int(pages * 1.04), "queued": queued,
        "domains": domains, "in_flight": int(speed * 0.9), "held": int(domains * 0.2), "ready": 12,
        "dns_pending": 3, "pages_per_s": round(speed, 2), "bytes_per_s": speed * 31_000,
        "ceiling": round(ceiling, 2), "limit": limit,
        "limit_text": f"{limit}: {TEXTS[limit].format(domains=domains)}", "limits": {limit: 1.0},
        "outcomes": outcomes, "labels": counts(pages, LABELS),
        "languages": counts(outcomes.get("ok", 0), LANGUAGES), "types": counts(pages, TYPES),
        "drops": counts(pages, DROPS),
        "retries": counts(pages, {"timeout": 0.03, "connect": 0.012}),
        "duplicates": pages // 30, "near_duplicates": pages // 50, "store_lag_s": 0.04,
        "loop_max_ms": 21.0, "cpu": 0.61, "rss_mb": 412.0, "disk_free": 412 * 10**9 - pages * 9_000,
        "disk": {"text": pages * 3_900, "warc": 0, "visits": pages * 96, "edges": pages * 210,
                 "store": pages * 900},
        "politeness": {"visits": int(pages * 1.04), "least": 70.011, "needed": 70.0,
                       "violations": 0},
        "engines": [
            {"index": index, "id": 11 + index, "cpu": 0.61 - index / 20, "rss_mb": 206.0 + index,
             "in_flight": int(speed * 0.45), "held": int(domains * 0.1), "store_lag_s": 0.04,
             "slow_pages": 2 * index, "open_files": 310 + index}
            for index in range(2)
        ],
    }  # fmt: skip


def made_now(line: dict[str, Any], latest: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A line with the summaries that only the newest has."""
    at = line["at"]
    example = [
        {"url": f"https://d{number}.test/{number}", "at": at - number} for number in range(10)
    ]
    names = [f"d{number}.test" for number in range(12)]
    titles = (
        ("The orb weavers of the wet meadow", "en", "content"),
        ("Über das Leben der Wolfsspinne im Herbst", "de", "content"),
        ("Collection – Museum of Silk", "en", "listing"),
        ("Dix mille fils dans l’herbe mouillée", "fr", "content"),
    )
    preview = (
        "A web hung with dew shows what the dark hides: forty radii, one spiral, no knot twice."
    )
    return {
        **line,
        "latest": latest
        or [
            {"url": f"https://d{n}.test/{n}", "title": title, "at": at - n, "label": label,
             "language": language, "chars": 4200 + 311 * n, "preview": preview}
            for n, (title, language, label) in enumerate(titles)
        ],
        "examples": dict.fromkeys(line["outcomes"], example),
        "dropped": {name: [f"https://d1.test/{name}/{n}.png" for n in range(10)] for name in DROPS},
        "top": {
            "pages": [[name, 4000 - 211 * n] for n, name in enumerate(names)],
            "queued": [[name, 9990 - 411 * n] for n, name in enumerate(names)],
            "failing": [[name, 90 - 7 * n] for n, name in enumerate(names)],
            "slowest": [[name, 9.1 - n / 2] for n, name in enumerate(names)],
            "delay": [[name, 3600.0 - 240 * n] for n, name in enumerate(names)],
        },
        "sizes": counts(line["pages"], SIZES),
        "durations": {
            name: {"le": BOUNDS, "n": _times(line["pages"], place), "sum": line["pages"] * mean}
            for name, place, mean in (
                ("dns", 4, 0.021), ("connect", 5, 0.048), ("tls", 6, 0.071), ("first_byte", 7, 0.2),
                ("fetch", 8, 0.34), ("parse", 0, 0.0009), ("commit", 4, 0.02), ("lease", 3, 0.008),
            )
        },
    }  # fmt: skip


def _times(total: int, place: int) -> list[int]:
    weights = [math.exp(-((at - place) ** 2) / 1.6) for at in range(len(BOUNDS) + 1)]
    return [int(total * weight / sum(weights)) for weight in weights]


def write_history(root: Path, lines: list[dict[str, Any]], now: dict[str, Any]) -> None:
    """By the writer of supervisors: lines age into coarser ones, the newest is replaced."""
    files = HistoryFiles(root / HISTORY, rolled)
    files.start(lines[0]["at"])
    for line in lines:
        files.append(line)
    files.write_now(now)
    files.close()


class Told:
    """A node that goes on telling how it stands, so that nobody takes it for one that was killed;
    a context manager."""

    def __init__(self, root: Path, now: dict[str, Any]) -> None:
        self._files = HistoryFiles(root / HISTORY, rolled)
        self._now = now
        self._ended = threading.Event()
        self._changing = threading.Lock()
        self._thread = threading.Thread(target=self._go_on)

    def tell(self, now: dict[str, Any]) -> None:
        """Stand like this from now on."""
        with self._changing:
            self._now = now
            self._files.write_now({**now, "at": round(time.time(), 3)})

    def __enter__(self) -> Told:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._ended.wait(EVERY):
            self.tell(self._now)
