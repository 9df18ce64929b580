"""Commands that look at a crawl or leave it a message: status, pages, show, stop.

They read what is committed, while the crawl runs or afterwards, and never hold it up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.clock import wall_now
from lycosa.commands.names import check_outcome, known_domain
from lycosa.errors import UserError
from lycosa.frontier.keys import NODE_KEY
from lycosa.node.datadir import in_use
from lycosa.node.display import kinds
from lycosa.settings.collect import Values
from lycosa.terminal import in_json, one_line, redact
from lycosa.units import duration, size

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place, Reader
    from lycosa.records import PageRow

CHECK_SECONDS = 0.5  # that looking for damage may take: a small file is seen whole
# Fields of a page row that are places inside our files or written elsewhere.
_INTERNAL = ("domain_id", "fp", "order", "text_row", "warc")


@contextmanager
def opened(values: Values) -> Iterator[Reader]:
    """The crawl that --data-dir and --store name."""
    from lycosa.frontier.protocol import open_reader

    reader = open_reader(values["data-dir"], values["store"])
    try:
        yield reader
    finally:
        reader.close()


def print_json(value: Any, indent: bool = True) -> None:
    """One JSON value on standard output."""
    import orjson

    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    print(in_json(orjson.dumps(value, option=option, default=str).decode()))


def status(values: Values, _: list[str]) -> int:
    """How a crawl stands."""
    with opened(values) as reader:
        reader.check(CHECK_SECONDS)
        found = reader.status()
        stored = reader.settings()
    found["running"] = crawl_running(values, found)
    if not found["running"]:
        for engine in found["engines"]:
            engine["alive"] = False  # whatever its lease says: the directory is free
    found["limit"] = limit_of(found, stored) if found["running"] else ""
    found["waits"] = long_waits(found["waits"], stored)
    found["loop"] = loop_of(found["engines"])
    found["state"] = state(found)
    if values["json"]:
        print_json(found)
    else:
        print("\n".join(status_lines(found, found["now_ms"], same_crawl(values))))
    return 0


def crawl_running(values: Values, found: dict[str, Any]) -> bool:
    """Whether somebody works on a crawl: told by the lock of its directory, on a server by the
    leases."""
    from lycosa.frontier.protocol import is_server

    if is_server(values["store"]):
        return any(is_alive(each, found["now_ms"]) for each in found["engines"])
    return in_use(values["data-dir"])


def limit_of(found: dict[str, Any], stored: Mapping[str, Any]) -> str:
    """What limits the speed now, by the engines' last words."""
    from lycosa.limits import limiting
    from lycosa.metrics import Stats
    from lycosa.settings.stored import node_key, stored_node, stored_settings

    settings = stored_settings(stored)
    if settings is None:
        return ""
    alive = [each for each in found["engines"] if is_alive(each, found["now_ms"])]
    stats = Stats.merge([Stats.from_dict(each) for each in alive])
    stats.queued, stats.domains = found["queued"], found["active"]
    stats.loading_seeds = not found["seeds_loaded"]
    nodes = {each.get("node", "") for each in alive} or {""}
    told = [stored_node({NODE_KEY: stored.get(node_key(name), "")}) for name in nodes]
    return limiting(stats, settings.delay, sum(each.get("max_workers", 1000) for each in told))


def loop_of(engines: list[dict[str, Any]]) -> dict[str, Any]:
    """How long the turns of the engines' loops took, by CPU and by wall time, in milliseconds."""
    from lycosa.engine.turns import summary
    from lycosa.metrics import Stats

    stats = Stats.merge([Stats.from_dict(each) for each in engines])
    cpu = summary(stats.turns_cpu, stats.turn_cpu_max_ms)
    wall = summary(stats.turns_wall, stats.turn_wall_max_ms)
    return {
        "cpu": asdict(cpu),
        "wall": asdict(wall),
        "excused": {"turns": stats.turns_excused, "max_ms": round(stats.turn_excused_max_ms, 1)},
    }


def _loop_line(loop: dict[str, Any]) -> str:
    cpu, wall, excused = loop["cpu"], loop["wall"], loop["excused"]
    text = (
        f"loop     99.9 % of {cpu['turns']:,} turns within {cpu['p999_ms']:g} ms of CPU"
        f" (longest {cpu['max_ms']:g}), within {wall['p999_ms']:g} ms in all"
        f" (longest {wall['max_ms']:g})"
    )
    if excused["turns"]:
        text += f"; {excused['turns']:,} longer ones while the whole machine was late"
    return text


def same_crawl(values: Values) -> tuple[object, ...]:
    """The flags that name this crawl in another command, as far as they are needed."""
    given = [name for name in ("data-dir", "store") if name in values.given]
    return tuple(word for name in given for word in (f"--{name}", redact(str(values[name]))))


def status_lines(found: dict[str, Any], now_ms: int, where: tuple[object, ...] = ()) -> list[str]:
    """The status for people; pure."""
    found = {**found, "now_ms": now_ms}
    alive = [each for each in found["engines"] if is_alive(each, now_ms)]
    since = (now_ms - found["started_ms"]) / 1000 if found["started_ms"] else 0.0
    lines = [
        f"{_state_text(found, where)}, started {duration(since)} ago",
        f"pages    {found['pages']:,} ({found['ok']:,} ok), {size(found['bytes'])} received",
        f"queued   {found['queued']:,} URLs",
        f"domains  {found['domains']:,}, {found['leased']:,} held by engines,"
        f" {found['ready']:,} ready",
        f"outcomes {kinds(found['outcomes']) or '-'}",
        f"dropped  {kinds(found['drops']) or '-'}",
    ]
    if found.get("retries"):
        lines.append(f"retries  {kinds(found['retries'])} (failures that are tried again)")
    if found.get("waits"):
        lines.append(f"waiting  {', '.join(map(_wait, found['waits']))}")
    if found.get("lost"):
        hint = called("verify", *where)
        lines.append(f"LOST     {found['lost']:,} pages lost what was kept: see '{hint}'")
    if found.get("limit"):
        lines.append(f"limit    {found['limit']}")
    if found.get("loop", {}).get("cpu", {}).get("turns"):
        lines.append(_loop_line(found["loop"]))
    return lines + [_engine_line(each, now_ms) for each in alive]


def long_waits(waits: list[dict[str, Any]], stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The domains that wait for longer than every domain does after a visit."""
    from lycosa.settings.stored import stored_settings

    settings = stored_settings(stored)
    return [each for each in waits if settings is None or each["seconds"] > settings.delay]


def _wait(each: dict[str, Any]) -> str:
    reasons = [
        f"Crawl-delay {duration(each['delay'])}" if each["delay"] else "",
        "overloaded" if each["failures"] else "",
    ]
    named = ", ".join(filter(None, reasons)) or "after a failure"
    return f"{each['domain']} {duration(each['seconds'])} ({named})"


def is_alive(engine: dict[str, Any], now_ms: int) -> bool:
    """Whether an engine works: not declared dead, and its lease still runs."""
    return bool(engine["alive"]) and engine.get("lease_until", now_ms + 1) > now_ms


def state(found: dict[str, Any]) -> str:
    """One word: finished, stopped, stopping, loading (and crawling what is loaded) or running."""
    if found["finished"]:
        return "finished"
    alive = any(is_alive(each, found["now_ms"]) for each in found["engines"])
    if not alive and not found.get("running"):
        return "stopped"
    if found["stop_requested"]:
        return "stopping"
    return "running" if found["seeds_loaded"] else "loading"


def _state_text(found: dict[str, Any], where: tuple[object, ...]) -> str:
    word = state(found)
    if word == "stopped":
        return f"stopped (go on with '{called('crawl', '--resume', *where)}')"
    return "running, loading seeds" if word == "loading" else word


def _engine_line(engine: dict[str, Any], now_ms: int) -> str:
    lease = (engine.get("lease_until", now_ms) - now_ms) / 1000
    place = f" in {engine['directory']}" if engine.get("directory") else ""
    return (
        f"engine {engine['id']} on {engine['host']}{place}, process {engine['pid']}:"
        f" {engine['pages']:,} pages, {engine.get('in_flight', 0):,} in flight,"
        f" {engine.get('held', 0):,} domains held, lease for {duration(lease)}"
    )


def pages(values: Values, _: list[str]) -> int:
    """List pages; with --json one object a line."""
    since = values["since"]
    with opened(values) as reader:
        check_outcome(reader, values["outcome"])
        rows = reader.pages(
            domain=known_domain(reader, values["domain"]),
            status=values["status"],
            outcome=values["outcome"],
            since_ms=wall_now() - round(since * 1000) if since else 0,
            url_prefix=values["prefix"],
            limit=values["limit"],
            newest=not values["oldest"],
        )
        places = Places(reader)
        count = 0
        for row in rows:
            count += 1
            if values["json"]:
                print_json({**page_json(row), **places.json(row)}, indent=False)
            else:
                print(page_line(row) + places.text(row))
    if count == values["limit"] and sys.stderr.isatty():
        print(f"The list ends at {count}; --limit N shows more.", file=sys.stderr)
    return 0


class Places:
    """Where the output of pages lies, where that is not one directory for all."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[int, Place | None] = {}

    def of(self, row: PageRow) -> Place | None:
        from lycosa.archive.segments import segment_owner

        owner = segment_owner(row.text_segment or row.warc_segment)
        if owner and owner not in self._known:
            # The reader may be in the middle of a list of pages.
            self._known[owner] = self._reader.place(owner)
        return self._known.get(owner)

    def json(self, row: PageRow) -> dict[str, str]:
        place = self.of(row)
        return {"host": place.host, "directory": place.directory} if place else {}

    def text(self, row: PageRow) -> str:
        place = self.of(row)
        return f" ({place.host}:{place.directory})" if place else ""


def utc(ms: int) -> str:
    """A moment for people and for JSON alike."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_line(row: PageRow) -> str:
    """One page on one line."""
    target = f" -> {row.redirect}" if row.redirect else ""
    code = row.status or "-"
    return one_line(f"{utc(row.fetched_ms)} {code:>3} {row.outcome:<12} {row.url}{target}")


def page_json(row: PageRow) -> dict[str, Any]:
    """A page row without what only lycosa needs."""
    values = {key: value for key, value in asdict(row).items() if key not in _INTERNAL}
    # In hexadecimal, as in the text: many readers of JSON round numbers beyond 2^53.
    content = f"{row.content_hash & 2**64 - 1:016x}" if row.content_hash else ""
    return {**values, "content_hash": content, "fetched_at": utc(row.fetched_ms)}


def show(values: Values, words: list[str]) -> int:
    """Print the record and the text of one page."""
    with opened(values) as reader:
        found = reader.find(words[0])
        row: PageRow | None = found["page"]
        if row is None:
            hint = called("why", words[0], *same_crawl(values))
            raise UserError(f"{found['url']} was not fetched; '{hint}' says why.")
        places = Places(reader)
        text = _text_of(reader, values, row, places.of(row))
        where = places.json(row)
    if values["json"]:
        print_json({**page_json(row), **where, "text": (text or {}).get("text", ""), "row": text})
        return 0
    print("\n".join(record_lines(row)))
    if where:
        print(f"kept     on {where['host']} in {where['directory']}")
    if text is not None:
        print(f"\n{text['text']}")
    return 0


def _text_of(
    reader: Reader, values: Values, row: PageRow, place: Place | None
) -> dict[str, Any] | None:
    """The text of a page, if it lies here."""
    from lycosa.node.datadir import node_of

    if not row.text_segment or (place and place.node != node_of(values["data-dir"])):
        return None
    from lycosa.archive.text import read_row

    committed = reader.committed_segments().get(("text", row.text_segment), 0)
    return read_row(
        values["data-dir"], row.text_segment, row.text_frame, row.text_offset, committed
    )


def record_lines(row: PageRow) -> list[str]:
    """The record of a page for people; pure."""
    named = {
        "url": row.url,
        "fetched": utc(row.fetched_ms),
        "status": row.status or "none",
        "outcome": row.outcome,
        "redirect": row.redirect,
        "type": row.content_type,
        "title": row.title,
        "received": size(row.wire_bytes),
        "text": f"{row.text_chars:,} characters" if row.text_segment else "none kept",
        "depth": row.depth,
    }
    return [f"{name:<9}{one_line(str(value))}" for name, value in named.items() if value != ""]


def stop(values: Values, _: list[str]) -> int:
    """Ask a crawl to stop."""
    with opened(values) as reader:
        running = crawl_running(values, reader.status())
        if running:
            reader.request_stop()
    if values["json"]:
        print_json({"stopping": running})
    elif running:
        print("The crawl finishes what is in flight and stops.")
    else:
        print("The crawl is not running.", file=sys.stderr)
    return 0
