"""What a log must say, worked out slowly from the rule, and a store that is nothing but a dict.

Two models. `Naive` reads all chunks and works every answer out anew: state, queue and its order.
`History` never folds: it remembers every event, and so tells what folding must not change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lycosa.frontier.log.format import DONE, PER_BLOCK, REOPENED, Chunk, read
from lycosa.frontier.states import found_order, waiting_order
from lycosa.records import QueuedUrl, Url


class Event(NamedTuple):
    kind: str  # copy, reopened, done, drop, wait, kill
    fp: int
    stamp: int
    url: str = ""
    depth: int = 0
    flags: int = 0
    place: tuple[int, int] = (0, 0)  # seq, index
    until: int = 0
    attempts: int = 0
    kills: int = 0


def events_of(blob: bytes, seq: int, domain_id: int) -> list[Event]:
    chunk = read(seq, blob, domain_id)
    assert isinstance(chunk, Chunk), chunk
    found: list[Event] = []
    index = 0
    for group in chunk.groups:
        for _ in range(group.size):
            texts = chunk.texts(index // PER_BLOCK)
            assert texts is not None
            kind = "reopened" if group.flags & REOPENED else "copy"
            url, flags = texts[index % PER_BLOCK].decode(), group.flags & ~REOPENED
            place = (seq, index)
            fp = chunk.fps[index]
            found.append(Event(kind, fp, group.stamp, url, group.depth, flags, place))
            index += 1
    found += [Event("done", fp, chunk.head.done_stamp) for fp in chunk.done]
    found += [Event("drop", fp, chunk.head.stamp) for fp in chunk.drops]
    for fp, stamp, barrier in chunk.barriers:
        found.append(Event("done" if barrier == DONE else "drop", fp, stamp))
    for fp, until, stamp, attempts in chunk.waits:
        found.append(Event("wait", fp, stamp, until=until, attempts=attempts))
    found += [Event("kill", fp, stamp, kills=number) for fp, stamp, number in chunk.kills]
    return found


class Verdict(NamedTuple):
    state: str
    copy: Event | None = None
    wait: Event | None = None
    kills: int = 0


RANK = {"done": 3, "drop": 2, "reopened": 1}


def judge(events: Iterable[Event]) -> Verdict:
    """The rule, as it is written: the latest barrier decides."""
    mine = list(events)
    copies = [event for event in mine if event.kind in ("copy", "reopened")]
    barriers = [event for event in mine if event.kind in RANK]
    latest = max(barriers, key=lambda event: (event.stamp, RANK[event.kind]), default=None)
    if latest is not None and latest.kind == "done":
        return Verdict("done")
    if latest is not None and latest.kind == "reopened":
        copy, since = latest, latest.stamp
        same = [each for each in copies if each.kind == "reopened" and each.stamp == copy.stamp]
        copy = min(same, key=lambda each: (each.depth, each.place))
    else:
        since = -1 if latest is None else latest.stamp + 1
        seen = [each for each in copies if each.stamp >= since]
        if not seen:
            return Verdict("")
        copy = min(seen, key=lambda each: (each.depth, each.stamp, each.place))
    waits = [each for each in mine if each.kind == "wait" and each.stamp >= since]
    wait = max(waits, key=lambda each: (each.stamp, each.until, each.attempts), default=None)
    kills = sum(each.kills for each in mine if each.kind == "kill" and each.stamp >= since)
    return Verdict("queued", copy, wait, min(kills, 3))


def by_fp(events: Iterable[Event]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(event.fp, []).append(event)
    return found


class Naive:
    """Everything that a log can be asked, from all its chunks."""

    def __init__(self, chunks: dict[int, bytes], domain_id: int, epoch_ms: int) -> None:
        self.events = by_fp(
            event for seq, blob in chunks.items() for event in events_of(blob, seq, domain_id)
        )
        self.verdicts = {fp: judge(events) for fp, events in self.events.items()}
        self.epoch_ms = epoch_ms

    def state(self, fp: int) -> str:
        return self.verdicts[fp].state if fp in self.verdicts else ""

    def lanes(self) -> tuple[list[QueuedUrl], list[QueuedUrl]]:
        """Those that do not wait, and those that do."""
        queued = [each for each in self.verdicts.values() if each.copy is not None]
        queued.sort(key=_found)
        plain = [self._row(each) for each in queued if each.wait is None]
        waiting = [each for each in queued if each.wait is not None]
        waiting.sort(key=lambda each: each.wait.until if each.wait else 0)
        return plain, [self._row(each) for each in waiting]

    def _row(self, verdict: Verdict) -> QueuedUrl:
        copy, wait = verdict.copy, verdict.wait
        assert copy is not None
        order = found_order(copy.depth, self.epoch_ms + copy.stamp)
        if wait is not None:
            order = waiting_order(self.epoch_ms + wait.until)
        attempts = 0 if wait is None else wait.attempts
        flags = copy.flags + 16 * verdict.kills
        return QueuedUrl(copy.fp, Url(copy.url), copy.depth, order, attempts, flags)

    def next(self, now_ms: int, limit: int, budget: int) -> list[QueuedUrl]:
        plain, waiting = self.lanes()
        due = [each for each in waiting if each.order <= waiting_order(now_ms)]
        taken: list[QueuedUrl] = []
        for each in (due + plain)[:limit]:
            budget -= len(each.url)
            if taken and budget < 0:
                break
            taken.append(each)
        return taken

    def ready(self) -> tuple[bool, int]:
        plain, waiting = self.lanes()
        if plain or not waiting:
            return bool(plain), 0
        return False, waiting[0].order - waiting_order(0)


def _found(verdict: Verdict) -> tuple[int, int, tuple[int, int]]:
    assert verdict.copy is not None
    return verdict.copy.depth, verdict.copy.stamp, verdict.copy.place


@dataclass
class History:
    """All events that the holder has read or written, however they were folded since."""

    events: dict[int, list[Event]] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events.setdefault(event.fp, []).append(event)

    def verdict(self, fp: int) -> Verdict:
        return judge(self.events.get(fp, ()))

    def forget_drops(self, naive: Naive) -> None:
        """A drop that hides nothing may go. It must hide nothing."""
        for fp, events in self.events.items():
            newest = max((each.stamp for each in events if each.kind == "drop"), default=None)
            kept = naive.events.get(fp, [])
            if newest is None or any(each.kind == "drop" for each in kept):
                continue
            verdict = judge(events)
            if verdict.state == "done":
                continue
            left = [each for each in kept if each.stamp <= newest]
            reopened = verdict.copy is not None and verdict.copy.kind == "reopened"
            assert reopened or not left, f"a drop went that still hides {left}"
            if not reopened:
                self.events[fp] = [each for each in events if each.stamp > newest]
