"""`lycosa verify`: reads everything that is kept, and names every page that lost something.

It may read while a crawl runs. What to do about a loss is the user's choice. Pages are queued
again or marked only while no other process works in the directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.commands.change import open_writer
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened, same_crawl
from lycosa.errors import UserError
from lycosa.frontier.keys import MOVED_KEY
from lycosa.settings.collect import Values
from lycosa.terminal import in_json
from lycosa.units import rate, size

if TYPE_CHECKING:
    from lycosa.archive.reading import Verdict
    from lycosa.frontier.reader import Reader
    from lycosa.node.verify import Loss, Report, Verifier

_WAYS = ("requeue", "mark-lost", "moved", "returned")
_FOREVER = float("inf")


def verify(values: Values, words: list[str]) -> int:
    """Exit code 1 if anything was lost, also if something was done about it."""
    chosen = [way for way in _WAYS if values[way]]
    if len(chosen) > 1:
        raise UserError(f"Choose one of --{chosen[0]} and --{chosen[1]}.")
    declaring = chosen in (["moved"], ["returned"])
    if bool(words) != declaring:
        raise UserError(
            "Name the segments that you moved or brought back, such as text/000001-00001.jsonl.zst."
            if declaring
            else "Segments are named with --moved or --returned only."
        )
    if declaring:
        return _declare(values, words, values["moved"])
    with _locked(values["data-dir"], bool(chosen)) as live, opened(values) as reader:
        reader.check(_FOREVER)
        return _verify(values, reader, live, chosen[0] if chosen else "")


def _verify(values: Values, reader: Reader, live: bool, way: str) -> int:
    from lycosa.node.losses import note_losses
    from lycosa.node.verify import verified

    root = values["data-dir"]
    engine_ids, unseen = whose(reader, root, values["store"])
    with verified(reader, root, engine_ids, live) as verifier:
        report = verifier.report
        report.unseen = unseen
        done = 0
        if way and not report.ok:
            done = _act(values, reader, verifier, way)
        elif report.ok and not live and reader.status()["lost"]:
            # A segment that was missing is back.
            with closing(open_writer(values, reader)) as frontier:
                note_losses(frontier, root, 0)
        if values["json"]:
            _print_json(report, verifier.losses(), way, done)
        else:
            _print(report, verifier.losses(), way, done, same_crawl(values))
        return 0 if report.ok else 1


@contextmanager
def _locked(root: Path, change: bool) -> Iterator[bool]:
    """Whether a crawl works in the directory; to `change` something, the lock is taken."""
    from lycosa.node import datadir

    if not change:
        yield datadir.in_use(root)
        return
    if not root.is_dir():
        raise UserError(f"There is no crawl in {root}: name its directory with --data-dir.")
    lock = datadir.lock(root)
    try:
        yield False
    finally:
        os.close(lock)


def whose(reader: Reader, root: Path, store: str) -> tuple[set[int] | None, list[str]]:
    """The engines that wrote to a directory (None: all), and where others' output is."""
    from lycosa.frontier.protocol import is_server
    from lycosa.node.datadir import node_of

    if not is_server(store):
        return None, []
    node = node_of(root)
    engines = reader.status()["engines"]
    own = {each["id"] for each in engines if node and each.get("node") == node}
    if not own:
        raise UserError(
            f"{root} holds nothing of that crawl: name a node's directory with --data-dir."
        )
    others = [each for each in engines if each["id"] not in own and each["pages"]]
    return own, sorted({f"{each['host']}:{each.get('directory', '')}" for each in others})


def _act(values: Values, reader: Reader, verifier: Verifier, way: str) -> int:
    """Do what the user chose; returns how many pages it was done with."""
    from lycosa.node import mending
    from lycosa.node.losses import note_losses

    act = mending.requeue if way == "requeue" else mending.mark_lost
    with closing(open_writer(values, reader)) as frontier:
        done = act(frontier, values["data-dir"], verifier)
        note_losses(frontier, values["data-dir"], 0)
    return done


# -- segments that the user keeps elsewhere --------------------------------------------------------


def _declare(values: Values, words: list[str], moved: bool) -> int:
    import orjson

    from lycosa.archive.segments import segment_name
    from lycosa.node.verify import moved_segments

    with opened(values) as reader:
        stored = reader.settings()
        known = {segment_name(kind, n) for kind, n in reader.committed_segments()}  # type: ignore[arg-type]
        after = _declared(words, known, moved_segments(stored), moved)
        with closing(open_writer(values, reader)) as frontier:
            frontier.put_settings({MOVED_KEY: orjson.dumps(after).decode()})
    if values["json"]:
        print_json({"moved": after})
        return 0
    lie = "segment of this crawl lies" if len(after) == 1 else "segments of this crawl lie"
    print(f"{len(after):,} {lie} elsewhere.")
    return 0


def _declared(words: list[str], known: set[str], before: set[str], moved: bool) -> list[str]:
    """All segments that the user keeps elsewhere, after what was just said; pure.

    Raises UserError for a segment that the crawl does not have."""
    names = {"/".join(Path(word).parts[-2:]) for word in words}
    if strange := sorted(names - known):
        raise UserError(
            f"The crawl has no segment {strange[0]}: name it as it lies under the data directory,"
            " such as text/000001-00001.jsonl.zst."
        )
    return sorted(before | names if moved else before - names)


# -- what a person reads --------------------------------------------------------------------------


def _print(
    report: Report, losses: Iterator[Loss], way: str, done: int, where: tuple[object, ...]
) -> None:
    for loss in losses:
        place = f" in {loss.segment}" if loss.segment else ""
        print(f"{loss.kind} of {loss.url}{place}: {loss.why}")
    print("\n".join(report_lines(report, way, done, where)))


def report_lines(
    report: Report, way: str = "", done: int = 0, where: tuple[object, ...] = ()
) -> list[str]:
    """The end of the report; pure. `where`: the flags that name the crawl."""
    lines = [segment_line(verdict) for verdict in report.bad]
    lines.append(
        f"Read {size(report.bytes)} of {report.segments:,} segments against {report.pages:,} pages"
        f" in {report.seconds:.1f} s, {rate(report.rate)} MB/s."
    )
    if report.moved:
        lines.append(f"Not looked at, because you keep them elsewhere: {', '.join(report.moved)}.")
    if report.unseen:
        lines.append(f"Not seen from here: {', '.join(report.unseen)}.")
    if report.ok:
        return [*lines, "All that was kept is there."]
    return lines + _verdict_lines(report, way, done, where)


def _verdict_lines(report: Report, way: str, done: int, where: tuple[object, ...]) -> list[str]:
    text, warc = report.lost.get("text", 0), report.lost.get("warc", 0)
    lines = [
        f"NOT WHOLE: {len(report.bad):,} segments, {report.concerned:,} pages: {text:,} lost their"
        f" text, {warc:,} their WARC records."
    ]
    if way == "requeue":
        hint = called("crawl", "--resume", *where)
        lines.append(f"{done:,} pages are queued again: '{hint}' fetches them.")
        if warc:
            lines.append("Pages that still have their text stay: --mark-lost notes what they lost.")
    elif way == "mark-lost":
        lines.append(
            f"{done:,} pages are marked as text-lost; {warc:,} no longer name WARC records."
        )
    else:
        lines.append(
            "Choose: --requeue queues them again, --mark-lost notes that they are gone, --moved"
            " SEGMENT says that you keep a segment elsewhere."
        )
    return lines


def segment_line(verdict: Verdict) -> str:
    """What is wrong with one segment; pure."""
    from lycosa.archive.reading import CUT

    wrong = []
    if verdict.state == CUT:
        wrong.append(f"cut, {verdict.size:,} of {verdict.committed:,} bytes are left")
    elif verdict.state:
        wrong.append(verdict.state)
    if verdict.damaged and not verdict.state:
        count = len(verdict.damaged)
        wrong.append(f"damaged in {count:,} place{'' if count == 1 else 's'}")
    if verdict.unowned:
        wrong.append(f"{verdict.unowned:,} rows of no page")
    if verdict.detail:
        wrong.append(verdict.detail)
    what = "; ".join(wrong) or "not what its pages say"
    return f"{verdict.name}: {what}; {verdict.pages:,} pages"


def _print_json(report: Report, losses: Iterator[Loss], way: str, done: int) -> None:
    """One object, written piece by piece: the list of pages may be longer than memory."""
    import orjson

    head = in_json(orjson.dumps(_summary(report, way, done)).decode())
    sys.stdout.write(head[:-1] + ',"losses":[')
    for number, loss in enumerate(losses):
        found = {"url": loss.url, "kind": loss.kind, "segment": loss.segment, "why": loss.why}
        sys.stdout.write((",\n" if number else "\n") + in_json(orjson.dumps(found).decode()))
    sys.stdout.write("]}\n")


def _summary(report: Report, way: str, done: int) -> dict[str, Any]:
    segments = [
        {
            "segment": verdict.name,
            "state": verdict.state or "damaged",
            "committed": verdict.committed,
            "size": verdict.size,
            "damaged": [list(region) for region in verdict.damaged],
            "unowned_rows": verdict.unowned,
            "pages": verdict.pages,
            "detail": verdict.detail,
        }
        for verdict in report.bad
    ]
    return {
        "ok": report.ok,
        "segments": report.segments,
        "pages": report.pages,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
        "mb_per_s": round(report.rate, 1),
        "lost_pages": report.concerned,
        "lost_text": report.lost.get("text", 0),
        "lost_warc": report.lost.get("warc", 0),
        "bad_segments": segments,
        "moved": report.moved,
        "unseen": report.unseen,
        "action": way,
        "done": done,
    }
