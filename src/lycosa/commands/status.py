"""`lycosa status`: how a crawl stands, what limits its speed, and which engines work on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lycosa.called import called
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import crawl_running, is_alive, opened, same_crawl
from lycosa.frontier.keys import NODE_KEY
from lycosa.node.display import kinds, repeats
from lycosa.settings.collect import Values
from lycosa.units import duration, size

CHECK_SECONDS = 0.5  # for a search for damage: a small database is read whole


def status(values: Values, _: list[str]) -> int:
    """How a crawl stands."""
    with opened(values) as reader:
        reader.check(CHECK_SECONDS)
        found = reader.status()
        stored = reader.settings()
    found["running"] = crawl_running(values, found)
    if not found["running"]:
        for engine in found["engines"]:
            engine["alive"] = False  # the directory is free, so its lease means nothing
    found["limit"] = limit_of(found, stored) if found["running"] else ""
    found["waits"] = long_waits(found["waits"], stored)
    found["loop"] = loop_of(found["engines"])
    found["state"] = state(found)
    if values["json"]:
        print_json(found)
    else:
        print("\n".join(status_lines(found, found["now_ms"], same_crawl(values))))
    return 0


def limit_of(found: dict[str, Any], stored: Mapping[str, Any]) -> str:
    """What limits the speed now, by what the engines reported last."""
    from lycosa.metrics import Stats
    from lycosa.settings.stored import node_key, stored_node, stored_settings
    from lycosa.what_limits import limiting

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


def long_waits(waits: list[dict[str, Any]], stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The domains that wait for longer than every domain does after a visit."""
    from lycosa.settings.stored import stored_settings

    settings = stored_settings(stored)
    return [each for each in waits if settings is None or each["seconds"] > settings.delay]


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
    if found.get("limit"):
        lines.append(f"limit    {found['limit']}")
    if found.get("loop", {}).get("cpu", {}).get("turns"):
        lines.append(_loop_line(found["loop"]))
    return lines + [_engine_line(each, now_ms) for each in alive]


def _state_text(found: dict[str, Any], where: tuple[object, ...]) -> str:
    word = state(found)
    if word == "stopped":
        return f"stopped (go on with '{called('crawl', '--resume', *where)}')"
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
