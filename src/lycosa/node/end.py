"""When a crawl will end, told honestly: by what its queue does, not by what one would like. Pure.

Three things may end the work: a page limit, a queue that shrinks, or nothing. A queue that grows
does not end, and the sentence says so. A queue that shrinks ends no earlier than that of its
longest domain, which is asked for one page a delay, whatever the others do (`tail_s`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

WINDOW = 900.0  # seconds of the past that tell the future, and no more than
SHARE = 0.5  # of a run's time: a queue grows at first, whatever it does later
LEAST = 30.0  # seconds of figures without which nothing is said
YEAR = 365 * 86_400.0
STEADY = 0.02  # share of all visits by which a queue may change and still be called steady


@dataclass(frozen=True, slots=True)
class End:
    """When the work will be over. `at`: unix time in s, None if it will not, or nobody can say."""

    text: str
    at: float | None = None


def end_of(lines: Sequence[dict[str, Any]]) -> End:
    """The end by the newest lines of figures, the oldest of them first."""
    if not lines:
        return End("not known: nothing was written about this crawl yet")
    last = lines[-1]
    state = last.get("state", "")
    if state in ("finished", "stopped", "failed"):
        return _over(last, state)
    if state == "paused":
        return End("it is paused: the end is not known before it goes on")
    recent = _recent(lines)
    seconds = last["at"] - recent[0]["at"]
    if state == "loading" or seconds < LEAST:
        return End("not known yet: too little was seen of this crawl")
    return _earliest(last, recent[0], seconds)


def _recent(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the present run that are new enough to speak of the future. A pause in between
    is no speed: what was before it does not count."""
    last = lines[-1]
    found = [last]
    age = last["at"] - last["run"] if "run" in last else WINDOW / SHARE
    window = min(WINDOW, max(2 * LEAST, SHARE * age))
    for line in reversed(lines[:-1]):
        old = last["at"] - line["at"] > window
        if old or line.get("run") != last.get("run") or line.get("state") != "running":
            break
        found.append(line)
    return found[::-1]


def _over(last: dict[str, Any], state: str) -> End:
    moment = _date(last["at"])
    if state == "finished":
        return End(f"finished {moment}", last["at"])
    left = last.get("queued", 0)
    return End(f"{state} {moment}, with {left:,} URLs queued", last["at"])


def _earliest(last: dict[str, Any], first: dict[str, Any], seconds: float) -> End:
    speed = (last.get("pages", 0) - first.get("pages", 0)) / seconds
    work = _work(last, first, seconds)
    limit = last.get("page_limit") or 0
    if limit and speed > 0:
        left = max(0, limit - last.get("pages", 0)) / speed
        if work.at is None or last["at"] + left < work.at:
            return _at(last["at"] + left, last["at"], ", by its page limit")
    return work


def _work(last: dict[str, Any], first: dict[str, Any], seconds: float) -> End:
    """When the queue will be empty."""
    queued = last.get("queued", 0)
    growth = (queued - first.get("queued", 0)) / seconds
    visits = (last.get("visits", 0) - first.get("visits", 0)) / seconds
    tail = float(last.get("tail_s") or 0.0)
    if queued == 0:
        return _at(last["at"] + tail, last["at"])
    if visits <= 0 and growth >= 0:
        return End(
            f"not known: nothing was fetched in the last {round(seconds / 60) or 1} minutes, and"
            f" {queued:,} URLs are queued"
        )
    if growth > STEADY * visits:
        return End(
            f"the queue grows by {_number(growth)} a second: this crawl will not end by itself"
        )
    if -growth <= STEADY * visits:
        return End("the queue neither grows nor shrinks: no end can be seen")
    return _at(last["at"] + max(queued / -growth, tail), last["at"])


def _at(moment: float, now: float, why: str = "") -> End:
    if moment - now > YEAR:
        return End(f"not within a year at this speed{why}")
    return End(f"about {_date(moment)}{why}", moment)


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M") + " UTC"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
