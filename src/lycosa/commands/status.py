"""`lycosa status`: how a crawl stands, what limits its speed, and which engines work on it."""

from __future__ import annotations

from typing import Any

from lycosa.called import called
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened_crawl, same_crawl
from lycosa.node.display import kinds, real_pages, repeats
from lycosa.reading.status import is_alive, state
from lycosa.settings.collect import Values
from lycosa.terminal import one_line
from lycosa.units import duration, rate, size, utc


def status(values: Values, _: list[str]) -> int:
    """How a crawl stands."""
    with opened_crawl(values) as crawl:
        found = crawl.status().details
    if values["json"]:
        print_json(found)
    else:
        print("\n".join(status_lines(found, found["now_ms"], same_crawl(values))))
    return 0


def status_lines(found: dict[str, Any], now_ms: int, where: tuple[object, ...] = ()) -> list[str]:
    """The status for people; pure."""
    found = {**found, "now_ms": now_ms}
    alive = [each for each in found["engines"] if is_alive(each, now_ms)]
    since = (now_ms - found["started_ms"]) / 1000 if found["started_ms"] else 0.0
    lines = [
        f"{_state_text(found, where)}, started {duration(since)} ago",
        f"pages    {found['pages']:,} ({found['ok']:,} ok, {real_pages(found['labels']):,} real),"
        f" {size(found['bytes'])} received",
        f"queued   {found['queued']:,} URLs{_on_their_way(found)}",
        f"domains  {found['domains']:,}, {found['leased']:,} held by engines,"
        f" {found['ready']:,} ready",
        f"outcomes {kinds(found['outcomes']) or '-'}",
        f"labels   {kinds(found['labels']) or '-'}",
        f"dropped  {kinds(found['drops']) or '-'}",
    ]
    if repeated := repeats(found.get("duplicates", 0), found.get("near_duplicates", 0)):
        lines.insert(2, f"repeats  {repeated}, counted while they were fetched")
    if found.get("retries"):
        lines.append(f"retries  {kinds(found['retries'])} (failures that are tried again)")
    if found.get("waits"):
        lines.append(f"waiting  {', '.join(map(_wait, found['waits']))}")
    if found.get("lost"):
        hint = called("verify", *where)
        lines.append(
            f"LOST     {found['lost']:,} pages lost their text or WARC records: see '{hint}'"
        )
    if found.get("damaged"):
        lines.append(
            f"DAMAGED  {found['damaged']:,} parts of queues could not be read and were set aside:"
            " their URLs are fetched only if a page links to them again"
        )
    lines += _history_lines(found)
    if found.get("limit"):
        lines.append(f"limit    {found['limit']}")
    if found.get("loop", {}).get("cpu", {}).get("turns"):
        lines.append(_loop_line(found["loop"]))
    return lines + [_engine_line(each, now_ms) for each in alive]


def _on_their_way(found: dict[str, Any]) -> str:
    """Links to domains that their finder did not hold wait for a while before they are queued."""
    links = found.get("on_their_way")
    return f", and {links:,} links on their way to their queues" if links else ""


def _history_lines(found: dict[str, Any]) -> list[str]:
    """What the history tells, if there is one."""
    if "ran_s" not in found:
        return []
    speed, lines = found["pages_per_s"], []
    if found.get("running"):
        lines.append(
            f"speed    {rate(speed['minute'])} pages/s in the last minute,"
            f" {rate(speed['quarter'])} in the last quarter of an hour"
        )
    ended = "" if found.get("running") else f", ended {utc(found['ended_ms'])}"
    lines.append(f"ran for  {duration(found['ran_s'])}{ended}")
    if found.get("running"):
        lines.append(f"ends     {found['end']}")
    if disk := {kind: amount for kind, amount in found["disk"].items() if amount}:
        told = ", ".join(f"{kind} {size(amount)}" for kind, amount in disk.items())
        lines.append(f"disk     {told}; {size(found['disk_free'])} free")
    if found["failing"]:
        told = ", ".join(f"{domain} {number:,}" for domain, number in found["failing"])
        lines.append(f"failing  {told} (visits that brought no page)")
    return lines


def _state_text(found: dict[str, Any], where: tuple[object, ...]) -> str:
    word = state(found)
    unpause = f"'{called('unpause', *where)}'"
    if word == "stopped":
        also = f"; it is paused, so also {unpause}" if found.get("pause") else ""
        return f"stopped (go on with '{called('crawl', '--resume', *where)}'{also})"
    if word == "paused" and found.get("pause"):
        why = f"{one_line(found['pause'].get('why', ''))}; " if found["pause"].get("why") else ""
        return f"paused ({why}go on with {unpause})"
    if word == "paused":
        return "paused (the disk is nearly full; it goes on when there is room)"
    return "running, loading seeds" if word == "loading" else word


def _wait(each: dict[str, Any]) -> str:
    reasons = [
        f"Crawl-delay {duration(each['delay'])}" if each["delay"] else "",
        "overloaded" if each["failures"] else "",
    ]
    named = ", ".join(filter(None, reasons)) or "after a failure"
    return f"{each['domain']} {duration(each['seconds'])} ({named})"


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


def _engine_line(engine: dict[str, Any], now_ms: int) -> str:
    lease = (engine.get("lease_until", now_ms) - now_ms) / 1000
    place = f" in {engine['directory']}" if engine.get("directory") else ""
    return (
        f"engine {engine['id']} on {engine['host']}{place}, process {engine['pid']}:"
        f" {engine['pages']:,} pages, {engine.get('in_flight', 0):,} in flight,"
        f" {engine.get('held', 0):,} domains held, lease for {duration(lease)}"
    )
