"""`lycosa check`: whether this machine is ready for a crawl, and how fast it could be.

`findings` and `ceilings` are pure: readings in, sentences out. Only `take_readings` asks the
machine. The command sends nothing to any site: it asks the name server for one name and, if the
store is on a server, asks that.
"""

from __future__ import annotations

import os
import resource
import shutil
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from lycosa.clock import engine_now, wall_now
from lycosa.commands.crawl import check_seeds
from lycosa.commands.printing import print_json
from lycosa.frontier.protocol import ServerFacts, check_server, is_server
from lycosa.settings.collect import Values
from lycosa.settings.values import cores
from lycosa.units import rate, size, utc
from lycosa.what_limits import Limit

_GIB = 1024**3
_PAGE_CPU_S = 0.003  # budget of an https page, everything included
_PURE_PAGE_CPU_S = 0.004  # the same where pages are read in Python
_VISIT_S = 2.0  # a typical visit on the public web: name, handshake, robots.txt or page
_HTTPS_BYTES = 100_000  # memory of one https transfer in flight
_PAGE_BYTES = 30_000  # received for a typical page
_ENGINE_BYTES = 250_000_000
_CONNECTIONS_BESIDE = 3  # of a node to its store: supervisor, seeds, a command
_FILES_BESIDE = 100  # open files of an engine beside its connections
_EARLIEST_MS = 1_735_689_600_000  # the beginning of 2025: an earlier clock was never set
_DNS_WAIT_S = 6.0
_COMPILED = "compiled"
_PURE = (
    "in Python, at twenty times the CPU: install a C compiler and Python's headers"
    " (Debian: gcc python3-dev), then lycosa anew"
)


@dataclass(slots=True)
class Readings:
    """What was found out about this machine and this crawl."""

    files: int  # open files that a process may have, after raising the soft limit
    ports: int  # local ports for outgoing connections
    cores: int
    memory: int  # bytes available
    disk: int  # bytes free where the crawl is kept
    now_ms: int
    dns_name: str
    dns_ms: float = 0.0
    dns_error: str = ""
    domains: int = 0  # of the seeds; 0: none given
    max_workers: int = 1000
    max_bandwidth: int = 0  # bytes a second; 0: no limit
    engines: int = 1
    delay: float = 70.0
    store: ServerFacts | None = None  # of a store on a server
    compiled: bool = True  # whether pages are read by the compiled module


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    ok: bool
    text: str


def check(values: Values, words: list[str]) -> int:
    """Exit code 1 if something stands in the way; a store that can't be used is a mistake (2)."""
    readings = take_readings(values, check_seeds(words, needed=False))
    found, speed = findings(readings), speed_lines(readings)
    ready = all(each.ok for each in found)
    if values["json"]:
        print_json({"ok": ready, "findings": found, "speed": speed, "readings": asdict(readings)})
    else:
        for each in found:
            print(f"{'ok ' if each.ok else 'BAD'}  {each.name:<10} {each.text}")
        print("\n".join(speed))
    return 0 if ready else 1


def findings(now: Readings) -> list[Finding]:
    """Everything that could stand in the way of a crawl, with what to do about it; pure."""
    files_needed = now.max_workers // now.engines + _FILES_BESIDE
    memory_needed = now.max_workers * _HTTPS_BYTES + now.engines * _ENGINE_BYTES
    return [
        _finding(
            Limit.OPEN_FILES,
            now.files >= files_needed,
            f"{now.files:,} open files per process, {files_needed:,} needed",
            "raise the limit (ulimit -n) or lower --max-workers",
        ),
        _finding(
            "ports",
            now.ports >= now.max_workers,
            f"{now.ports:,} local ports",
            "widen net.ipv4.ip_local_port_range or lower --max-workers",
        ),
        _finding(
            Limit.DNS, not now.dns_error, _dns_text(now), "name a working one with --nameserver"
        ),
        _finding(
            Limit.MEMORY,
            now.memory >= memory_needed,
            f"{size(now.memory)} available, about {size(memory_needed)} needed",
            "lower --max-workers or --engines",
        ),
        _finding(Limit.DISK, now.disk >= _GIB, f"{size(now.disk)} free", "free some space"),
        _finding("clock", now.now_ms >= _EARLIEST_MS, utc(now.now_ms), "set the clock"),
        Finding("cores", True, f"{now.cores} usable, {now.engines} engines"),
        Finding("reader", True, _COMPILED if now.compiled else _PURE),
        *([_store_finding(now.store, now.engines)] if now.store else []),
    ]


def _store_finding(store: ServerFacts, engines: int) -> Finding:
    needed = engines + _CONNECTIONS_BESIDE
    content = "holds a crawl" if store.crawl else "holds no crawl yet"
    return _finding(
        Limit.STORE,
        store.connections >= needed,
        f"PostgreSQL {store.version} {store.where} answers in {store.round_trip_ms:.1f} ms,"
        f" {content}; {store.connections:,} connections free, {needed} needed by this node",
        "raise max_connections there",
    )


def _finding(name: str, ok: bool, text: str, advice: str) -> Finding:
    return Finding(name, ok, text if ok else f"{text}: {advice}")


def _dns_text(now: Readings) -> str:
    if now.dns_error:
        return f"the name server gave no answer for {now.dns_name} ({now.dns_error})"
    return f"the name server answered for {now.dns_name} in {now.dns_ms:.0f} ms"


def ceilings(now: Readings) -> dict[str, float]:
    """The most pages a second that each limit allows; pure."""
    limits = {
        Limit.CPU: now.engines / (_PAGE_CPU_S if now.compiled else _PURE_PAGE_CPU_S),
        Limit.CONCURRENCY: now.max_workers / _VISIT_S,
    }
    if now.max_bandwidth:
        limits[Limit.BANDWIDTH] = now.max_bandwidth / _PAGE_BYTES
    if now.domains and now.delay:
        limits[Limit.POLITENESS] = now.domains / now.delay
    return limits


def speed_lines(now: Readings) -> list[str]:
    """How fast the crawl can be, and what limits it first, for people; pure."""
    limits = ceilings(now)
    lines = []
    if Limit.POLITENESS in limits:
        most = limits[Limit.POLITENESS]
        lines.append(
            f"{Limit.POLITENESS}: {now.domains:,} domains / {now.delay:g} s = {rate(most)} visits/s"
            f" = {_per_day(most)} pages a day at most, until links lead to more domains"
        )
    lines.append(
        f"{Limit.CPU}: {now.engines} engines at {_PAGE_CPU_S * 1000:g} ms a page = about"
        f" {rate(limits[Limit.CPU])} pages/s"
    )
    lines.append(
        f"{Limit.CONCURRENCY}: {now.max_workers:,} fetches of about {_VISIT_S:g} s = about"
        f" {rate(limits[Limit.CONCURRENCY])} pages/s"
    )
    if now.max_bandwidth:
        lines.append(
            f"{Limit.BANDWIDTH}: {size(now.max_bandwidth)}/s (--max-bandwidth) at about"
            f" {size(_PAGE_BYTES)} a page = about {rate(limits[Limit.BANDWIDTH])} pages/s"
        )
    first = min(limits, key=lambda name: limits[name])
    return [*lines, f"limited first by {first}, at {_per_day(limits[first])} pages a day"]


def _per_day(per_second: float) -> str:
    pages = per_second * 86_400
    return f"{pages / 1e6:,.2f} million" if pages >= 1e5 else f"{pages:,.0f}"


def take_readings(values: Values, seeds: list[str]) -> Readings:
    """Ask the machine."""
    from lycosa.page.html import compiled

    name, domains = _seeded(seeds, values["name"])
    engines = min(values["engines"] or cores(), values["max-workers"])
    readings = Readings(
        files=_open_files(),
        ports=_ports(),
        cores=cores(),
        memory=_memory(),
        disk=shutil.disk_usage(_existing(values["data-dir"])).free,
        now_ms=wall_now(),
        dns_name=name,
        domains=domains,
        max_workers=values["max-workers"],
        max_bandwidth=values["max-bandwidth"] or 0,
        engines=engines,
        delay=values["delay"],
        compiled=compiled(),
    )
    if is_server(values["store"]):
        readings.store = check_server(values["store"])
    readings.dns_ms, readings.dns_error = look_up(name, values["nameserver"])
    return readings


def _seeded(seeds: list[str], name: str) -> tuple[str, int]:
    """A host to look up, and how many domains the seeds have."""
    from lycosa.node.seed_file import Seed, no_seeds, open_seeds, read
    from lycosa.urls.domains import domain_id

    domains: set[int] = set()  # numbers: a file may have millions
    for source in seeds:
        good = False
        with open_seeds(source) as lines:
            for entry in read(lines):
                if isinstance(entry, Seed):
                    good = True
                    name = name if domains else entry.domain
                    domains.add(domain_id(entry.domain))
        if not good:
            raise no_seeds(source)
    return name, len(domains)


def _open_files() -> int:
    # The hard limit: a crawl raises the soft one to it when it starts.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1_000_000 if hard == resource.RLIM_INFINITY else hard


def _ports() -> int:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return 16_384  # the range of systems that do not tell
    return int(high) - int(low) + 1


def _memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _existing(path: Path) -> Path:
    """The directory itself, or the nearest one above it that exists."""
    path = path.absolute()
    return next(each for each in (path, *path.parents) if each.exists())


def look_up(name: str, nameservers: tuple[tuple[str, int], ...]) -> tuple[float, str]:
    """Milliseconds that one look-up took, and what was wrong ('' if it was answered)."""
    import pycares

    servers = [
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in nameservers
    ]
    channel = pycares.Channel(servers=servers or None, timeout=2.0, tries=2)
    answered, result = threading.Event(), [""]

    def done(_: object, error: int | None) -> None:
        # A name that does not exist is an answer too.
        silent = error not in (None, 0, pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA)
        result[0] = str(pycares.errno.strerror(error)) if silent and error is not None else ""
        answered.set()

    begin = engine_now()
    channel.query(name, pycares.QUERY_TYPE_A, callback=done)
    in_time = answered.wait(_DNS_WAIT_S)
    channel.close()
    return (engine_now() - begin) * 1000, result[0] if in_time else "no answer in time"
